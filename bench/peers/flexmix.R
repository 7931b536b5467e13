# Fits with flexmix's stochastic EM, from a random partition and with its own draws: timing only.

options(warn = -1)
suppressMessages(library(flexmix))
folder <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
source(file.path(folder, "worker.R"))

rows <- read_rows()
set.seed(1)
partition <- sample(n_components, n_rows, replace = TRUE)

family <- FLXMCmvnorm(diagonal = covariance == "diagonal")

fit <- function(n_rounds) {
  set.seed(2)
  control <- list(iter.max = n_rounds, tolerance = 0, minprior = 0, classify = "SEM")
  result <- flexmix(rows ~ 1, k = n_components, cluster = partition, model = family, control = control)
  if (result@iter < n_rounds) stop(sprintf("stopped after %d of %d rounds", result@iter, n_rounds))
  NULL
}

serve(as.character(packageVersion("flexmix")), fit)
