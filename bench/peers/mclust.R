# Fits by mclust's meVVV, from the posteriors of the given start. It has no ridge.

options(warn = -1)
suppressMessages(library(mclust))
folder <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
source(file.path(folder, "worker.R"))

rows <- read_rows()
start <- read_start()
factors <- array(apply(start$covariances, 3, chol), dim(start$covariances))
variance <- list(modelName = "VVV", d = n_columns, G = n_components, sigma = start$covariances, cholsigma = factors)
parameters <- list(pro = start$weights, mean = start$means, variance = variance)
posteriors <- estepVVV(rows, parameters)$z

# meVVV begins with an M step, so that n rounds from the start's posteriors are n rounds from the start.
fit <- function(n_rounds) {
  control <- emControl(eps = 0, tol = c(0, 0), itmax = c(n_rounds, n_rounds))
  result <- meVVV(rows, posteriors, control = control)
  if (is.na(result$loglik)) stop("meVVV gave no likelihood")
  n_done <- attr(result, "info")[["iterations"]]
  if (abs(n_done) != n_rounds) stop(sprintf("stopped after %d of %d rounds", n_done, n_rounds))
  fitted <- result$parameters
  function() c(fitted$pro, fitted$mean, fitted$variance$sigma)
}

serve(as.character(packageVersion("mclust")), fit)
