# Reads the arguments of an R peer and implements its protocol; see README.md.

arguments <- commandArgs(trailingOnly = TRUE)
n_rows <- as.integer(arguments[2])
n_columns <- as.integer(arguments[3])
n_components <- as.integer(arguments[4])
covariance <- arguments[8]

read_rows <- function() {
  file <- file(arguments[1], "rb")
  on.exit(close(file))
  opening <- as.integer(readBin(file, "raw", 10))
  readBin(file, "raw", opening[9] + 256L * opening[10])
  matrix(readBin(file, "double", n_rows * n_columns), n_rows, n_columns, byrow = TRUE)
}

# Means have one column per component, covariances one slice, a full matrix for every covariance type.
read_start <- function() {
  n_values <- n_components * (1 + n_columns + n_columns^2)  # the maximum over all covariance types
  values <- readBin(arguments[5], "double", n_values)
  n_means <- n_components * n_columns
  given <- values[-(1:(n_components + n_means))]
  size <- c(n_columns, n_columns, n_components)
  list(
    weights = values[1:n_components],
    means = matrix(values[n_components + 1:n_means], n_columns, n_components),
    covariances = switch(covariance,
      full = array(given, size),
      tied = array(given, size),  # the same matrix for every component
      diagonal = array(apply(matrix(given, n_columns), 2, diag), size),
      spherical = array(sapply(given, diag, n_columns), size)
    )
  )
}

say <- function(...) {
  cat("@ ", ..., "\n", sep = "")
  flush(stdout())
}

# fit(n_rounds) returns a function that returns the raw model, or NULL.
serve <- function(version, fit) {
  say("ready ", version)
  input <- file("stdin", "r")
  while (length(line <- readLines(input, 1)) > 0) {
    words <- strsplit(line, " ")[[1]]
    tryCatch({
      begin <- Sys.time()
      model <- fit(as.integer(words[2]))
      seconds <- as.numeric(difftime(Sys.time(), begin, units = "secs"))
      if (!is.null(model)) writeBin(model(), words[3])
      say("ok ", format(seconds, digits = 9))
    }, error = function(problem) say("error ", gsub("\n", " ", conditionMessage(problem))))
  }
}
