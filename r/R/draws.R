#' Draws
#'
#' Independent draws of the answer: of the fitted Gaussian, or of the mixture of Gaussians if scales are integrated over. They are a
#' pure function of `seed`; draws of coefficients, predictors and responses with the same seed belong together.
#'
#' @param x,object A fit.
#' @param ndraws,draws,nsim Number of draws.
#' @param seed A whole number; that of the fit by default. `simulate` draws it from R's own generator if it is not given.
#' @param newdata,re.form,allow.new.levels As in [predict.provi()].
#' @param row.names,optional,... Not used.
#' @return `as.matrix` and `as.data.frame` give a row for each draw and a column for each coefficient and scale. `simulate` gives a data
#'   frame with a column for each simulated response. `posterior_linpred`, `posterior_epred` and `posterior_predict`, methods of
#'   rstantools' generics, give a row for each draw and a column for each row of the data; `log_lik` the same, of the fit's own data. Times to
#'   an event are simulated as if nobody were censored. Of an ordered response `posterior_epred` has a third dimension, the probabilities of
#'   the levels; `posterior_predict` gives the numbers of levels, and `simulate` the levels.
#' @name draws
NULL

drawn <- function(fit, ndraws = NULL, seed = NULL) {
  ndraws <- ndraws %||% prod(fit$record$usual_draws)
  out <- core(fit)$sample(as.double(ndraws), as.double(seed %||% fit$record$seed))
  scales <- utils::tail(core(fit)$draw_names(), ncol(out) - length(fit$names))
  colnames(out) <- make.unique(c(fit$names, scales))
  out
}

#' @rdname draws
#' @export
as.matrix.provi <- function(x, ndraws = NULL, seed = NULL, ...) drawn(x, ndraws, seed)

#' @rdname draws
#' @export
as.data.frame.provi <- function(x, row.names = NULL, optional = FALSE, ndraws = NULL, seed = NULL, ...) {
  as.data.frame(drawn(x, ndraws, seed), optional = TRUE)
}

#' @rdname draws
#' @importFrom stats simulate
#' @export
simulate.provi <- function(object, nsim = 1, seed = NULL, newdata = NULL, ...) {
  seed <- seed %||% sample.int(.Machine$integer.max, 1L)
  out <- as.data.frame(t(at_rows(object, newdata, TRUE, nsim, seed)))
  if (is_ordered(object)) out[] <- lapply(out, function(numbers) level_names(object, numbers))
  names(out) <- paste0("sim_", seq_len(nsim))
  structure(out, seed = seed)
}

# Draws of the linear predictors or of responses, one row each.
at_rows <- function(fit, newdata, responses, draws = NULL, seed = NULL, re.form = NULL, allow.new.levels = FALSE) {
  draws <- draws %||% prod(fit$record$usual_draws)
  at <- new_rows(fit, newdata, re.form, allow.new.levels)
  found <- core(fit)$draws_at(at$columns, at$groups, responses, as.double(draws), as.double(seed %||% fit$record$seed))
  out <- matrix(NA_real_, nrow(found), length(at$complete), dimnames = list(NULL, at$names))
  out[, at$complete] <- found
  out
}

#' @rdname draws
#' @exportS3Method rstantools::posterior_linpred
posterior_linpred.provi <- function(object, newdata = NULL, draws = NULL, re.form = NULL, seed = NULL, allow.new.levels = FALSE, ...) {
  at_rows(object, newdata, FALSE, draws, seed, re.form, allow.new.levels)
}

#' @rdname draws
#' @exportS3Method rstantools::posterior_epred
posterior_epred.provi <- function(object, newdata = NULL, draws = NULL, re.form = NULL, seed = NULL, allow.new.levels = FALSE, ...) {
  eta <- at_rows(object, newdata, FALSE, draws, seed, re.form, allow.new.levels)
  mean_at(object, eta, scales_drawn(object, nrow(eta), seed))
}

#' @rdname draws
#' @exportS3Method rstantools::posterior_predict
posterior_predict.provi <- function(object, newdata = NULL, draws = NULL, re.form = NULL, seed = NULL, allow.new.levels = FALSE, ...) {
  at_rows(object, newdata, TRUE, draws, seed, re.form, allow.new.levels)
}

#' @rdname draws
#' @exportS3Method rstantools::log_lik
log_lik.provi <- function(object, draws = NULL, seed = NULL, ...) {
  eta <- at_rows(object, NULL, FALSE, draws, seed)
  density_of(object, eta, scales_drawn(object, nrow(eta), seed))
}

# The noise of each draw, or its gaps, a row for each draw; where all draws have the same, that of the fit.
scales_drawn <- function(fit, draws, seed = NULL) {
  known <- scales_of(fit)
  names <- if (is_ordered(fit)) colnames(known) else if (!is.null(known)) "sigma"
  integrated <- rownames(scale_rows(fit))
  if (!any(names %in% integrated)) return(known)
  own <- drawn(fit, draws, seed)
  if (is_ordered(fit)) own[, names, drop = FALSE] else own[, names]
}
