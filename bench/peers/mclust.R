# Fits with mclust's meVVV, meEEE, meVVI or meVII, from the posteriors of the given start. It has no ridge.

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

name <- switch(covariance, full = "VVV", tied = "EEE", diagonal = "VVI", spherical = "VII")
me <- match.fun(paste0("me", name))
covariances_of <- switch(covariance,
  full = function(variance) variance$sigma,
  tied = function(variance) variance$Sigma,
  diagonal = function(variance) apply(variance$sigma, 3, diag),
  spherical = function(variance) variance$sigmasq
)

# They begin with an M step, so n rounds from the posteriors of the start are n rounds from the start.
fit <- function(n_rounds) {
  control <- emControl(eps = 0, tol = c(0, 0), itmax = c(n_rounds, n_rounds))
  result <- me(rows, posteriors, control = control)
  if (is.na(result$loglik)) stop(sprintf("me%s gave no likelihood", name))
  n_done <- attr(result, "info")[["iterations"]]
  if (abs(n_done) != n_rounds) stop(sprintf("stopped after %d of %d rounds", n_done, n_rounds))
  fitted <- result$parameters
  function() c(fitted$pro, fitted$mean, covariances_of(fitted$variance))
}

serve(as.character(packageVersion("mclust")), fit)
