# Methods for generics of packages that may be installed. Those of packages that the tests can install are registered by NAMESPACE when
# their package is loaded.

#' Methods for other packages
#'
#' Fits work with posterior (`as_draws` and its kin), loo (`loo`, from the draws of the answer), generics and broom (`tidy`, `glance`), emmeans,
#' bayesplot (`pp_check`) and marginaleffects. Each method is registered when its package is loaded; none of them is needed.
#'
#' @param x,object,model A fit.
#' @param ndraws,draws,seed As in [draws].
#' @param conf.int,conf.level Whether to add intervals, and their probability.
#' @param effects `"fixed"`, or `"all"` for effects of groups as well.
#' @param trms,xlev,grid,data,newdata,type,vcov,coefs,... Arguments of the generics.
#' @return What each generic gives.
#' @name provi-ecosystem
NULL

#' @rdname provi-ecosystem
#' @exportS3Method posterior::as_draws
as_draws.provi <- function(x, ndraws = NULL, seed = NULL, ...) posterior::as_draws_matrix(drawn(x, ndraws, seed))

#' @rdname provi-ecosystem
#' @exportS3Method posterior::as_draws_matrix
as_draws_matrix.provi <- function(x, ndraws = NULL, seed = NULL, ...) as_draws.provi(x, ndraws, seed)

#' @rdname provi-ecosystem
#' @exportS3Method posterior::as_draws_df
as_draws_df.provi <- function(x, ndraws = NULL, seed = NULL, ...) posterior::as_draws_df(as_draws.provi(x, ndraws, seed))

#' @rdname provi-ecosystem
#' @exportS3Method posterior::as_draws_array
as_draws_array.provi <- function(x, ndraws = NULL, seed = NULL, ...) posterior::as_draws_array(as_draws.provi(x, ndraws, seed))

#' @rdname provi-ecosystem
#' @exportS3Method loo::loo
loo.provi <- function(x, draws = NULL, seed = NULL, ...) {
  if (!requireNamespace("loo", quietly = TRUE)) refuse("loo needs the package loo: install.packages(\"loo\")")
  # Independent draws: each counts.
  found <- log_lik.provi(x, draws, seed)
  loo::loo(found, r_eff = rep(1, ncol(found)), ...)
}

#' @rdname provi-ecosystem
#' @exportS3Method rstantools::prior_summary
prior_summary.provi <- function(object, ...) unlist(object$record$prior)

#' @rdname provi-ecosystem
#' @exportS3Method generics::tidy
tidy.provi <- function(x, conf.int = FALSE, conf.level = 0.95, effects = c("fixed", "all"), ...) {
  effects <- match.arg(effects)
  table <- rows_of(x, conf.level, effects == "all")
  out <- data.frame(
    term = row.names(table), estimate = table$mean, std.error = table$sd, estimate.error = table$mean_error,
    std.error.error = table$sd_error, p.positive = table$positive
  )
  if (conf.int) out[c("conf.low", "conf.high")] <- table[c("low", "high")]
  tibbled(out)
}

#' @rdname provi-ecosystem
#' @exportS3Method generics::glance
glance.provi <- function(x, ...) {
  proved <- certificate(x)
  likelihood <- stats::logLik(x)
  tibbled(data.frame(
    family = x$family$family, link = x$family$link, nobs = x$n, elbo = x$record$elbo, gap = proved$gap, kl = proved$kl, tv = proved$tv,
    logLik = as.double(likelihood), df = attr(likelihood, "df"), sigma = noise_of(x) %||% NA_real_
  ))
}

tibbled <- function(table) {
  if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(table) else table
}

#' @rdname provi-ecosystem
#' @exportS3Method bayesplot::pp_check
pp_check.provi <- function(object, type = if (is_ordered(object)) "bars" else "dens_overlay", ndraws = 50, seed = NULL, ...) {
  draw <- get0(paste0("ppc_", type), envir = asNamespace("bayesplot"), mode = "function")
  if (is.null(draw)) refuse(sprintf("bayesplot has no ppc_%s; bayesplot::available_ppc() lists what it has", type))
  if (is_time(object) && any(events_of(object) == 0)) {
    refuse("some times are censored, and bayesplot would take them for events; plot(fit, \"check\") does not")
  }
  if (!is.null(object$prior.weights)) refuse("the rows have weights, which bayesplot does not know; plot(fit, \"check\") does")
  draw(object$y, at_rows(object, NULL, TRUE, ndraws, seed), ...)
}

#' @rdname provi-ecosystem
#' @exportS3Method emmeans::recover_data
recover_data.provi <- function(object, data = NULL, ...) {
  call <- object$call
  terms <- stats::delete.response(object$terms)
  if (is.null(data)) data <- tryCatch(eval(call$data, environment(object$formula)), error = function(condition) NULL)
  emmeans::recover_data(call, terms, object$na.action, data = data, frame = object$model, ...)
}

#' @rdname provi-ecosystem
#' @exportS3Method emmeans::emm_basis
emm_basis.provi <- function(object, trms, xlev, grid, ...) {
  frame <- stats::model.frame(trms, grid, na.action = stats::na.pass, xlev = xlev)
  x <- stats::model.matrix(trms, frame, contrasts.arg = object$contrasts)
  p <- seq_len(object$record$population)
  misc <- if (is_time(object)) {
    list(tran = "log", inv.lbl = "hazard")
  } else if (is_ordered(object)) {
    # The predictor, as of other models of ordered levels.
    list()
  } else if (object$native == "negbinomial") {
    list(tran = "log", inv.lbl = "rate")
  } else {
    emmeans::.std.link.labels(object$family, list())
  }
  out <- list(
    X = x, bhat = core(object)$mean()[p], nbasis = matrix(NA), V = unname(stats::vcov(object)),
    dffun = function(k, dfargs) Inf, dfargs = list(), misc = misc
  )
  # emmeans summarises draws with coda; without it, the normal approximation.
  if (requireNamespace("coda", quietly = TRUE)) out$post.beta <- unname(drawn(object)[, p, drop = FALSE])
  out
}

# marginaleffects is not in Debian: these are tested by calling them.

#' @rdname provi-ecosystem
#' @exportS3Method marginaleffects::get_coef
get_coef.provi <- function(model, ...) model$coefficients

#' @rdname provi-ecosystem
#' @exportS3Method marginaleffects::set_coef
set_coef.provi <- function(model, coefs, ...) {
  model$coefficients[names(coefs) %||% seq_along(coefs)] <- coefs
  model
}

#' @rdname provi-ecosystem
#' @exportS3Method marginaleffects::get_vcov
get_vcov.provi <- function(model, vcov = NULL, ...) if (is.matrix(vcov)) vcov else stats::vcov(model)

#' @rdname provi-ecosystem
#' @exportS3Method marginaleffects::get_predict
get_predict.provi <- function(model, newdata = NULL, type = "response", ...) {
  eta <- at_rows(model, newdata, FALSE)
  draws <- if (identical(type, "link")) eta else mean_at(model, eta, scales_drawn(model, nrow(eta)))
  rows <- data.frame(rowid = seq_len(ncol(eta)))
  if (length(dim(draws)) == 3L) {
    # All rows of the first level, then those of the next one.
    rows <- expand.grid(rowid = rows$rowid, group = model$categories, stringsAsFactors = FALSE)
    draws <- matrix(draws, nrow(eta))
  }
  out <- data.frame(rows, estimate = colMeans(draws))
  structure(out, posterior_draws = t(unname(draws)))
}
