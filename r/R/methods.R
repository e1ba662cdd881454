#' Methods for fits
#'
#' The methods that fits of `glm` and lme4 have. `coef` of a model without groups is the vector of coefficients; with groups it is, as in
#' lme4, a list of data frames with the coefficients of each group, and `fixef` is the vector.
#'
#' Coefficients are the posterior's means where the audit measured them, as in the table of `summary`, and the Gaussian's elsewhere; `vcov`
#' is the covariance of the answer. `logLik` is the log likelihood at the posterior means, with all coefficients counted; `residuals` are those of the posterior mean
#' response.
#'
#' Of times to an event, `fitted` are mean times, and `residuals` the martingale ones by default: the event, 0 or 1, less the cumulative
#' hazard at the posterior means, of which `"deviance"` makes residuals that are nearly symmetric. A censored time has no residual of type
#' `"response"` or `"pearson"`.
#'
#' Of an ordered response, `fitted` is a matrix with the probabilities of the levels, as that of MASS's `polr`, and `residuals` are of the
#' numbers of the levels, from 1 on.
#'
#' @param object,x A fit.
#' @param level Probability of the intervals.
#' @param parm Which coefficients: names or numbers.
#' @param groups Whether to show the effects of groups.
#' @param type Kind of residuals.
#' @param digits Digits to show.
#' @param ... Not used.
#' @name provi-methods
NULL

#' @rdname provi-methods
#' @export
print.provi <- function(x, digits = 3L, ...) {
  print_model(x)
  cat("\n")
  print_table(rows_of(x, x$level), x, x$level, digits)
  print_scales(scale_rows(x), digits)
  words <- certificate(x)$words
  cat("\n", wrapped(words$headline), "\n", sep = "")
  if (!is.null(words$condition) && !isTRUE(x$record$integrated)) cat(wrapped(words$condition), "\n", sep = "")
  invisible(x)
}

#' Summary of a fit
#'
#' A table with the mean and the standard deviation of each coefficient, each followed by `\u00b1`, the proved distance within which the
#' posterior's own lies; the interval, and the probability of being positive. Below it, the scales that are integrated over and the
#' certificate.
#'
#' @param object A fit.
#' @param level Probability of the intervals.
#' @param groups Whether to include the effects of groups.
#' @param x A summary.
#' @param digits Digits to show.
#' @param row.names,optional,... Not used.
#' @return An object of class `summary.provi`: a list with `coefficients`, a data frame, `scales`, `certificate` and more.
#'   `as.data.frame` gives the table.
#' @export
summary.provi <- function(object, level = object$level, groups = FALSE, ...) {
  structure(
    list(
      fit = object, coefficients = rows_of(object, level, groups), scales = scale_rows(object, level), level = level,
      certificate = certificate(object), elbo = object$record$elbo, notes = unlist(object$record$notes)
    ),
    class = "summary.provi"
  )
}

#' @rdname summary.provi
#' @export
print.summary.provi <- function(x, digits = 3L, ...) {
  print_model(x$fit)
  print_lines("prior  ", unlist(x$fit$record$prior))
  print_lines("scale  ", vapply(c(x$fit$record$scales, x$fit$record$correlations), `[[`, "", "words"))
  cat("\n")
  print_table(x$coefficients, x$fit, x$level, digits)
  print_scales(x$scales, digits)
  record <- x$fit$record
  exact <- if (isTRUE(record$integrated)) " (summed over the scales)" else if (isTRUE(record$elbo_exact)) "" else " (from draws)"
  cat(sprintf("\nELBO   %.4f%s\n\n", record$elbo, exact))
  print(x$certificate)
  notes <- setdiff(x$notes, c(x$certificate$words$condition, unlist(record$conflicts)))
  for (note in notes) cat("\n", wrapped(note, "note: "), "\n", sep = "")
  invisible(x)
}

#' @rdname summary.provi
#' @export
as.data.frame.summary.provi <- function(x, row.names = NULL, optional = FALSE, ...) x$coefficients

rows_of <- function(fit, level = fit$level, groups = FALSE) {
  table <- as.data.frame(core(fit)$table(as.double(level)))
  row.names(table) <- make.unique(fit$names)
  if (groups) table else table[seq_len(fit$record$population), , drop = FALSE]
}

# The scales that are integrated over, with R's labels.
scale_rows <- function(fit, level = fit$level) {
  rows <- core(fit)$scales(as.double(level))
  if (length(rows) == 0L) return(NULL)
  pick <- function(name) vapply(rows, function(row) as.double(row[[name]]), 0)
  data.frame(
    mean = pick("mean"), sd = pick("sd"), low = pick("lower"), median = pick("median"), high = pick("upper"),
    row.names = vapply(rows, `[[`, "", "name")
  )
}

print_model <- function(fit) {
  link <- if (is_time(fit)) sprintf("log hazard, unit of time %g", fit$record$time_unit) else paste(fit$family$link, "link")
  cat("model  ", fit$family$family, " (", link, ")\n", sep = "")
  cat(wrapped(deparse1(fit$formula), "       "), "\n", sep = "")
  if (is_ordered(fit)) cat(wrapped(paste(fit$categories, collapse = " < "), "       levels "), "\n", sep = "")
  d <- length(fit$names)
  p <- fit$record$population
  of_groups <- if (d > p) sprintf(": %d of the population, %d of groups", p, d - p) else ""
  dropped <- if (length(fit$na.action)) sprintf("; %d with missing values left out", length(fit$na.action)) else ""
  cat(sprintf("       %d rows%s, %d coefficients%s\n", fit$n, dropped, d, of_groups))
  print_lines("note   ", unlist(fit$record$conflicts))
}

# Lines under a heading that stands before the first.
print_lines <- function(heading, lines) {
  for (line in lines) {
    cat(wrapped(line, heading, "       "), "\n", sep = "")
    heading <- "       "
  }
}

print_table <- function(table, fit, level, digits) {
  decimals <- max(0L, min(8L, digits - 1L - floor(log10(max(min(table$sd[table$sd > 0], na.rm = TRUE), 1e-300)))))
  number <- function(x) formatC(x, digits = decimals, format = "f")
  # Rounded up, with the rounding of the value added: the printed value is within the printed bound as well.
  bound <- function(error, value) {
    unit <- 10^-decimals
    off <- error + abs(value - as.double(number(value)))
    up <- ceiling(off / unit * (1 + 1e-12)) * unit
    ifelse(is.na(error), "-", number(pmax(up, unit)))
  }
  percent <- function(p) paste0(format(100 * p, trim = TRUE, digits = 3), "%")
  shown <- cbind(
    mean = number(table$mean), "\u00b1" = bound(table$mean_error, table$mean), sd = number(table$sd), "\u00b1" = bound(table$sd_error, table$sd),
    number(table$low), number(table$high), "P(>0)" = native_probability_text(table$positive)
  )
  ends <- c((1 - level) / 2, (1 + level) / 2)
  colnames(shown)[5:6] <- percent(ends)
  rownames(shown) <- row.names(table)
  print(shown, quote = FALSE, right = TRUE)
  proved <- !anyNA(table$mean_error)
  what <- if (!proved) {
    "\u00b1: not proved where there is no number"
  } else if (isTRUE(fit$record$integrated)) {
    "mean, sd: the posterior's, within \u00b1 as far as the sum over the scales goes;\ninterval: the answer's, an estimate"
  } else {
    "mean, sd: the posterior's are proved to be within \u00b1; interval: the Gaussian's"
  }
  cat(what, "\n", sep = "")
}

print_scales <- function(scales, digits) {
  if (is.null(scales)) return(invisible())
  cat("\n")
  print(signif(as.matrix(scales), digits + 1L))
  cat("scales are integrated over by a sum over their values: an estimate, not a proof\n")
}

wrapped <- function(text, first = "", next_ = strrep(" ", nchar(first))) {
  paste(strwrap(text, 80L, initial = first, prefix = next_), collapse = "\n")
}

#' What is proved about a fit
#'
#' @param fit A fit.
#' @return An object of class `provi_certificate`, a list: `gap` (to the best Gaussian), `kl` (to the posterior) and `tv` (total variation)
#'   are bounds, `NA` where nothing is proved; `evidence` holds the bounds of the log evidence; `moments` the bounds of the errors of each mean and sd;
#'   `words` is all of it in sentences. A certificate is about the computation, given the model and the prior: it does not say that they suit
#'   the data.
#' @examples
#' fit <- provi(am ~ wt, data = mtcars)
#' certificate(fit)
#' certificate(fit)$kl
#' @export
certificate <- function(fit) {
  if (!inherits(fit, "provi")) refuse("certificate() is of a fit of provi()")
  found <- core(fit)$certificate()
  table <- rows_of(fit, groups = TRUE)
  bound <- function(statement) statement$bound %||% NA_real_
  numbers <- found$numbers
  structure(
    list(
      gap = bound(numbers$gap), kl = bound(numbers$kl), tv = bound(numbers$tv),
      evidence = c(lower = numbers$evidence$lower %||% NA_real_, upper = numbers$evidence$upper %||% NA_real_),
      moments = table[c("mean_error", "sd_error")], words = found$words, numbers = numbers
    ),
    class = "provi_certificate"
  )
}

#' @rdname certificate
#' @param x A certificate.
#' @param ... Not used.
#' @export
print.provi_certificate <- function(x, ...) {
  words <- x$words
  indent <- strrep(" ", 13L)
  cat(wrapped(words$headline, "certificate  ", indent), "\n", sep = "")
  cat(wrapped(words$scope, indent, indent), "\n", sep = "")
  if (!is.null(words$condition)) cat(wrapped(words$condition, indent, indent), "\n", sep = "")
  for (statement in words$statements) {
    value <- statement$value
    text <- if (is.null(value)) paste("not proved:", statement$grounds) else paste0(value, "  ", statement$grounds)
    cat(wrapped(text, formatC(paste0("  ", statement$what), width = -24L), strrep(" ", 24L)), "\n", sep = "")
  }
  if (!is.null(words$probability)) cat(wrapped(words$probability, "  ", "  "), "\n", sep = "")
  invisible(x)
}

#' @rdname provi-methods
#' @export
coef.provi <- function(object, ...) {
  if (length(object$groups) == 0L) return(object$coefficients)
  fixed <- object$coefficients
  lapply(ranef.provi(object), function(effects) {
    out <- as.data.frame(matrix(fixed, nrow(effects), length(fixed), byrow = TRUE, dimnames = list(row.names(effects), names(fixed))))
    for (name in names(effects)) out[[name]] <- (out[[name]] %||% 0) + effects[[name]]
    out
  })
}

#' @rdname provi-methods
#' @export
vcov.provi <- function(object, groups = FALSE, ...) {
  out <- core(object)$covariance()
  dimnames(out) <- list(object$names, object$names)
  p <- seq_len(object$record$population)
  if (groups) out else out[p, p, drop = FALSE]
}

#' @rdname provi-methods
#' @export
confint.provi <- function(object, parm, level = 0.95, groups = FALSE, ...) {
  table <- rows_of(object, level, groups)
  out <- as.matrix(table[c("low", "high")])
  colnames(out) <- paste(format(100 * c((1 - level) / 2, (1 + level) / 2), trim = TRUE, digits = 3), "%")
  if (missing(parm)) out else out[parm, , drop = FALSE]
}

#' Effects of groups and their scales
#'
#' Methods of the generics that lme4 and nlme share: `fixef`, `ranef` and `VarCorr`.
#'
#' @param object,x A fit.
#' @param sigma Not used; it belongs to nlme's generic.
#' @param ... Not used.
#' @return `fixef` gives the population's coefficients; `ranef` a list with a data frame for each grouping factor, a row for each level, whose
#'   attribute `sd` has the posterior standard deviations; `VarCorr` a list of covariance matrices with the attributes `stddev` and
#'   `correlation`, and the attribute `sc`, the noise, all at their posterior means.
#' @export
fixef.provi <- function(object, ...) object$coefficients

#' @rdname fixef.provi
#' @export
ranef.provi <- function(object, ...) {
  table <- rows_of(object, groups = TRUE)
  effects <- lapply(object$groups, function(group) {
    pick <- function(column) {
      out <- matrix(table[[column]][group$places], nrow(group$places), dimnames = dimnames(group$places))
      as.data.frame(out, optional = TRUE)
    }
    structure(pick("mean"), sd = pick("sd"))
  })
  labels <- vapply(object$groups, `[[`, "", "label")
  # Several terms of one group are columns of one table.
  out <- lapply(unique(labels), function(label) {
    own <- effects[labels == label]
    sds <- lapply(own, attr, "sd")
    structure(do.call(cbind, own), sd = do.call(cbind, sds))
  })
  stats::setNames(out, unique(labels))
}

#' @rdname fixef.provi
#' @export
VarCorr.provi <- function(x, sigma = 1, ...) {
  scales <- x$record$scales
  names <- vapply(scales, `[[`, "", "name")
  sds <- stats::setNames(vapply(scales, `[[`, 0, "sd"), names)
  rows <- scale_rows(x)
  out <- list()
  for (i in seq_along(x$groups)) {
    group <- x$groups[[i]]
    native <- x$layout$group[[group$label]]
    effects <- x$layout$effects[[i]]
    columns <- vapply(effects, function(effect) if (effect == "(Intercept)") effect else x$layout$column[[effect]], "")
    keys <- paste0(native, ":", columns)
    sd <- stats::setNames(unname(sds[match(keys, gsub("`", "", names, fixed = TRUE))]), effects)
    correlation <- diag(length(effects))
    dimnames(correlation) <- list(effects, effects)
    if (!is.null(rows)) {
      labels <- gsub("`", "", row.names(rows), fixed = TRUE)
      for (a in seq_along(keys)) for (b in seq_len(a - 1L)) {
        at <- match(sprintf("cor(%s,%s)", keys[b], keys[a]), labels)
        if (!is.na(at)) correlation[a, b] <- correlation[b, a] <- rows$mean[at]
      }
    }
    covariance <- correlation * outer(sd, sd)
    out <- c(out, stats::setNames(list(structure(covariance, stddev = sd, correlation = correlation)), group$label))
  }
  noise <- unname(sds["noise"])
  structure(out, sc = if (length(noise) && !is.na(noise)) noise, class = "VarCorr.provi")
}

#' @rdname fixef.provi
#' @export
print.VarCorr.provi <- function(x, ...) {
  print(as.data.frame(x), row.names = FALSE, digits = 4L)
  invisible(x)
}

#' @rdname fixef.provi
#' @param row.names,optional Not used.
#' @export
as.data.frame.VarCorr.provi <- function(x, row.names = NULL, optional = FALSE, ...) {
  one <- function(name) {
    covariance <- x[[name]]
    sd <- attr(covariance, "stddev")
    correlation <- attr(covariance, "correlation")
    own <- data.frame(grp = name, var1 = names(sd), var2 = NA_character_, vcov = unname(sd^2), sdcor = unname(sd))
    pairs <- which(lower.tri(correlation), arr.ind = TRUE)
    if (nrow(pairs) == 0L) return(own)
    both <- data.frame(grp = name, var1 = names(sd)[pairs[, 2L]], var2 = names(sd)[pairs[, 1L]], vcov = covariance[pairs],
      sdcor = correlation[pairs])
    rbind(own, both)
  }
  out <- do.call(rbind, lapply(names(x), one))
  noise <- attr(x, "sc")
  if (!is.null(noise)) {
    out <- rbind(out, data.frame(grp = "Residual", var1 = NA, var2 = NA, vcov = noise^2, sdcor = noise))
  }
  out
}

#' @importFrom nlme fixef
#' @export
nlme::fixef

#' @importFrom nlme ranef
#' @export
nlme::ranef

#' @importFrom nlme VarCorr
#' @export
nlme::VarCorr

#' @rdname provi-methods
#' @export
fitted.provi <- function(object, ...) {
  if (is_ordered(object)) return(stats::predict(object, type = "probs"))
  mean_responses(object)
}

# The mean response of each row; that of the number of the level, for an ordered one.
mean_responses <- function(fit) {
  found <- core(fit)$predict(own_columns(fit, matrices_of(fit, fit$model)), "refuse", as.double(fit$level))
  stats::setNames(found$mean, row.names(fit$model))
}

#' @rdname provi-methods
#' @export
residuals.provi <- function(object, type = c("response", "pearson", "deviance", "martingale"), ...) {
  if (is_time(object)) return(time_residuals(object, if (missing(type)) "martingale" else match.arg(type)))
  type <- match.arg(type)
  if (type == "martingale") refuse("martingale residuals are of times to an event; use \"response\", \"pearson\" or \"deviance\"")
  if (is_ordered(object) && type == "deviance") refuse("an ordered response has no deviance residuals; use \"response\" or \"pearson\"")
  trials <- object$trials %||% 1
  y <- object$y / trials
  mu <- mean_responses(object)
  weights <- (object$prior.weights %||% rep(1, object$n)) * trials
  out <- switch(type,
    response = y - mu,
    pearson = (y - mu) * sqrt(weights) / sqrt(variances(object, mu)),
    deviance = sign(y - mu) * sqrt(pmax(object$family$dev.resids(y, mu, weights), 0))
  )
  stats::setNames(as.double(out), row.names(object$model))
}

# The variance of each row's response; that of the number of the level, for an ordered one.
variances <- function(fit, mu) {
  if (!is_ordered(fit)) return(fit$family$variance(mu))
  drop(stats::fitted(fit) %*% seq_along(fit$categories)^2) - mu^2
}

time_residuals <- function(fit, type) {
  if (!type %in% c("martingale", "deviance")) {
    refuse(sprintf("a censored time has no residual of type \"%s\"; use \"martingale\" or \"deviance\"", type))
  }
  eta <- core(fit)$predict(own_columns(fit, matrices_of(fit, fit$model)), "refuse", as.double(fit$level))$predictor
  seen <- events_of(fit)
  out <- seen - exp(log_hazard(fit, fit$y, eta, noise_of(fit)))
  if (type == "deviance") {
    weights <- fit$prior.weights %||% 1
    # log(1) for a censored row, whose part with the logarithm is 0.
    out <- sign(out) * sqrt(2 * weights * pmax(0, -out - seen * log(ifelse(seen > 0, seen - out, 1))))
  }
  stats::setNames(out, row.names(fit$model))
}

# 1 for a row whose event was seen, 0 for one that was censored; without `surv()`, all were seen.
events_of <- function(fit) fit$events %||% rep(1, fit$n)

# The logarithm of the cumulative hazard at times; an exponential time has no noise of its own.
log_hazard <- function(fit, time, eta, noise = NULL) eta + log(time / fit$record$time_unit) / (noise %||% 1)

#' @rdname provi-methods
#' @export
logLik.provi <- function(object, ...) {
  columns <- own_columns(object, matrices_of(object, object$model))
  eta <- core(object)$predict(columns, "refuse", as.double(object$level))$predictor
  value <- sum(density_of(object, matrix(eta, 1L), scales_of(object)))
  estimated <- sum(vapply(object$record$scales, function(scale) scale$origin != "given", NA))
  structure(value, df = length(object$names) + estimated, nobs = object$n, class = "logLik")
}

# The noise at its posterior mean; NULL if the family has none.
noise_of <- function(fit) {
  for (scale in fit$record$scales) if (scale$name == "noise") return(scale$sd)
  fit$record$noise_sd
}

# The gaps between the cut points of an ordered response at their posterior means, as a matrix with one row and a column for each level but
# the first and the last.
gaps_of <- function(fit) {
  names <- sprintf("gap(%s)", fit$categories[-c(1L, length(fit$categories))])
  values <- vapply(fit$record$scales, `[[`, 0, "sd")[match(names, vapply(fit$record$scales, `[[`, "", "label"))]
  matrix(values, 1L, dimnames = list(NULL, names))
}

# What a density depends on besides the linear predictor: the gaps, or the noise; NULL if nothing.
scales_of <- function(fit) if (is_ordered(fit)) gaps_of(fit) else noise_of(fit)

# The log density of the fit's own responses, given linear predictors (one row a draw) and a noise, or gaps, for each row of them.
density_of <- function(fit, eta, noise = NULL, rows = seq_len(fit$n)) {
  if (is_ordered(fit)) {
    out <- array(0, dim(eta))
    for (k in unique(fit$y[rows])) {
      own <- fit$y[rows] == k
      out[, own] <- level_log_density(eta[, own, drop = FALSE], noise, k)
    }
    return(if (is.null(fit$prior.weights)) out else sweep(out, 2L, fit$prior.weights[rows], `*`))
  }
  draws <- nrow(eta)
  wide <- function(x) matrix(x, draws, length(rows), byrow = TRUE)
  y <- wide(fit$y[rows])
  mu <- mean_at(fit, eta, noise)
  out <- switch(if (is_time(fit)) "time" else fit$native,
    time = {
      at <- log_hazard(fit, y, eta, noise)
      wide(events_of(fit)[rows]) * (at - log((noise %||% 1) * y)) - exp(at)
    },
    gaussian = stats::dnorm(y, mu, noise, log = TRUE),
    negbinomial = stats::dnbinom(y, size = 1 / noise^2, mu = mu, log = TRUE),
    poisson = stats::dpois(y, mu, log = TRUE),
    gamma = stats::dgamma(y, shape = 1 / noise^2, rate = 1 / (noise^2 * mu), log = TRUE),
    exponential = stats::dexp(y, 1 / mu, log = TRUE),
    stats::dbinom(y, wide((fit$trials %||% rep(1, fit$n))[rows]), mu, log = TRUE)
  )
  out <- array(out, dim(eta))
  if (is.null(fit$prior.weights)) out else out * wide(fit$prior.weights[rows])
}

# The log probability of the level with this number, at linear predictors (one row a draw) and the gaps of each draw, or of all. With c_1 = 0
# and each further cut point a gap higher, it is that of sigmoid(eta - c_{k-1}) sigmoid(c_k - eta) (1 - exp(c_{k-1} - c_k)), where the factors
# of the lowest and the highest level that would need a further cut point are 1. No difference of probabilities is taken.
level_log_density <- function(eta, gaps, k) {
  cut <- function(k) if (k == 0L) -Inf else if (k > ncol(gaps) + 1L) Inf else rowSums(gaps[, seq_len(k - 1L), drop = FALSE])
  low <- cut(k - 1L)
  high <- cut(k)
  # A column of cut points for every column of predictors.
  stats::plogis(eta - low, log.p = TRUE) + stats::plogis(high - eta, log.p = TRUE) + log(-expm1(low - high))
}

# The mean response at linear predictors (one row a draw), given a noise for each row of them; for an ordered response the probability of
# each level, in a third dimension.
mean_at <- function(fit, eta, noise = NULL) {
  if (is_ordered(fit)) {
    out <- array(0, c(dim(eta), length(fit$categories)), list(rownames(eta), colnames(eta), fit$categories))
    for (k in seq_along(fit$categories)) out[, , k] <- exp(level_log_density(eta, noise, k))
    return(out)
  }
  if (!is_time(fit)) return(array(fit$family$linkinv(eta), dim(eta), dimnames(eta)))
  noise <- noise %||% 1
  fit$record$time_unit * gamma(1 + noise) * exp(-noise * eta)
}

#' @rdname provi-methods
#' @export
nobs.provi <- function(object, ...) object$n

#' @rdname provi-methods
#' @export
formula.provi <- function(x, ...) x$formula

#' @rdname provi-methods
#' @export
family.provi <- function(object, ...) object$family

#' @rdname provi-methods
#' @export
sigma.provi <- function(object, ...) noise_of(object) %||% 1

#' @rdname provi-methods
#' @param formula A formula, not used.
#' @export
model.frame.provi <- function(formula, ...) formula$model

#' @rdname provi-methods
#' @export
model.matrix.provi <- function(object, ...) matrices_of(object, object$model)$x

#' @rdname provi-methods
#' @export
terms.provi <- function(x, ...) x$terms

#' @rdname provi-methods
#' @export
weights.provi <- function(object, ...) object$prior.weights
