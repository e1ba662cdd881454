#' Variational inference with proofs
#'
#' [provi()] fits a model; [certificate()] says what is proved about the answer. `vignette("provi")` has examples.
#'
#' @keywords internal
#' @name provi-package
#' @aliases provi-package
NULL

#' @importFrom graphics plot
#' @importFrom stats coef confint family fitted formula logLik model.frame model.matrix nobs predict residuals sigma terms vcov weights
NULL
