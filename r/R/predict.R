#' Predictions
#'
#' @param object A fit.
#' @param newdata A data frame with the columns of the formula; without it, the rows of the fit.
#' @param type `"response"`, the mean response averaged over the answer, or `"link"`, the mean linear predictor. Of an ordered response the
#'   mean is that of the levels' numbers, from 1 on; `"probs"` gives the probability of each level, and `"class"` the most probable one.
#' @param time Of a fit of times to an event: the probability that the event comes after this time, instead of the mean time.
#' @param interval `"none"`; `"confidence"`, the interval of the mean response (or of the predictor); or `"prediction"`, that of a
#'   new response.
#' @param level Probability of the interval.
#' @param se.fit Whether to return standard deviations of the linear predictor as well, for `type = "link"`.
#' @param allow.new.levels Whether groups that the fit has not seen count as further groups of the same kind: their spread is then part of the
#'   interval. Otherwise they are refused.
#' @param re.form `NULL` for all effects of groups, `NA` for none: predictions of the population's coefficients alone.
#' @param errors Whether to add the attribute `error`: what the certificate proves about the error of the predictions, a bound for every
#'   probability, or for each mean of a gaussian model.
#' @param ... Not used.
#' @return A vector, or for an interval a matrix with the columns `fit`, `lwr` and `upr`, as [stats::predict.lm()] gives it. Rows of
#'   `newdata` with missing values are predicted as `NA`. The prediction of a count of successes is their probability. For `type = "probs"`
#'   there is a matrix with a column for each level, or for an interval an array whose last dimension are the levels.
#' @export
predict.provi <- function(object, newdata = NULL, type = c("response", "link", "probs", "class"), interval = c("none", "confidence", "prediction"),
                          level = 0.95, time = NULL, se.fit = FALSE, allow.new.levels = FALSE, re.form = NULL, errors = FALSE, ...) {
  type <- match.arg(type)
  interval <- match.arg(interval)
  if (!(is.numeric(level) && length(level) == 1L && level > 0 && level < 1)) {
    refuse(sprintf("level = %s; must be between 0 and 1", deparse1(level)))
  }
  at <- new_rows(object, newdata, re.form, allow.new.levels)
  if (type %in% c("probs", "class")) {
    if (!is_ordered(object)) refuse(sprintf("type = \"%s\" is for an ordered response; use type = \"response\"", type))
    if (!is.null(time) || se.fit || interval == "prediction" || (type == "class" && (interval != "none" || errors))) {
      refuse(sprintf("there is no %s for type = \"%s\"",
        if (!is.null(time)) "time" else if (se.fit) "se.fit" else if (interval != "none") "such interval" else "error", type))
    }
    return(levels_at(object, at, type, interval == "confidence", as.double(level), errors))
  }
  if (is.null(time)) {
    found <- core(object)$predict(at$columns, at$groups, as.double(level))
  } else {
    if (!is_time(object)) refuse("time is for fits of times to an event, such as Surv(time, event) ~ x")
    if (!(is.numeric(time) && length(time) == 1L && is.finite(time) && time > 0)) refuse("time must be one number above 0")
    if (type == "link") refuse("the linear predictor does not depend on time; leave out time, or use type = \"response\"")
    if (interval == "prediction") refuse("whether an event comes after a time has no interval; leave out time, or use interval = \"confidence\"")
    found <- core(object)$survival(at$columns, at$groups, as.double(time), as.double(level))
  }
  whole <- function(x) {
    out <- rep(NA_real_, length(at$complete))
    out[at$complete] <- x
    stats::setNames(out, at$names)
  }
  if (type == "link") {
    half <- stats::qnorm((1 + level) / 2) * found$predictor_sd
    out <- list(fit = found$predictor, lwr = found$predictor - half, upr = found$predictor + half)
    if (interval == "prediction") refuse("a new response has no interval on the scale of the link; use type = \"response\"")
  } else {
    out <- list(fit = found$mean, lwr = found$low, upr = found$high)
    if (interval == "prediction") {
      own <- core(object)$observations(at$columns, at$groups, as.double(level))
      out[c("lwr", "upr")] <- own[c("low", "high")]
    }
  }
  fit <- if (interval == "none") whole(out$fit) else {
    matrix <- cbind(fit = whole(out$fit), lwr = whole(out$lwr), upr = whole(out$upr))
    rownames(matrix) <- at$names
    matrix
  }
  if (errors) {
    if (type != "response" || at$groups != "refuse") refuse("errors are proved of mean responses of groups that the fit has seen")
    attr(fit, "error") <- found$probability_error %||% if (is.null(found$mean_error)) NA_real_ else whole(found$mean_error)
  }
  if (se.fit) {
    if (type != "link") refuse("se.fit is the standard deviation of the linear predictor; use type = \"link\", or an interval")
    return(list(fit = fit, se.fit = whole(found$predictor_sd)))
  }
  fit
}

# The probabilities of the levels at rows: a matrix, or an array if there are intervals; or the most probable levels.
levels_at <- function(fit, at, type, intervals, level, errors) {
  found <- core(fit)$levels(at$columns, at$groups, level)
  whole <- function(x) {
    out <- matrix(NA_real_, length(at$complete), length(fit$categories), dimnames = list(at$names, fit$categories))
    out[at$complete, ] <- x
    out
  }
  probs <- whole(found$mean)
  if (type == "class") {
    best <- apply(probs, 1L, function(p) if (anyNA(p)) NA_integer_ else which.max(p))
    return(stats::setNames(level_names(fit, best), at$names))
  }
  if (intervals) {
    parts <- list(fit = probs, lwr = whole(found$low), upr = whole(found$high))
    probs <- aperm(array(unlist(parts), c(dim(probs), 3L), list(at$names, fit$categories, names(parts))), c(1L, 3L, 2L))
  }
  if (errors) {
    if (at$groups != "refuse") refuse("errors are proved of groups that the fit has seen")
    attr(probs, "error") <- found$probability_error %||% NA_real_
  }
  probs
}

# The columns of new rows: complete ones only, and which they are.
new_rows <- function(fit, newdata = NULL, re.form = NULL, allow.new.levels = FALSE) {
  none <- !is.null(re.form) && length(fit$groups) > 0L
  if (none && !(length(re.form) == 1L && is.atomic(re.form) && is.na(re.form)) && !identical(re.form, ~0)) {
    refuse("re.form must be NULL, for all effects of groups, or NA, for none")
  }
  groups <- if (none) "none" else if (allow.new.levels) "population" else "refuse"
  if (is.null(newdata)) {
    frame <- fit$model
    parts <- matrices_of(fit, frame)
    if (none) parts <- without_groups(parts)
    columns <- own_columns(fit, parts)
    return(list(columns = columns, groups = groups, complete = rep(TRUE, fit$n), names = row.names(frame)))
  }
  newdata <- as.data.frame(newdata)
  needed <- unique(c(all.vars(stats::delete.response(fit$terms)), if (!none) unlist(lapply(fit$groups, function(group) {
    c(all.vars(group$effects), unlist(lapply(group$grouping, all.vars)))
  }))))
  for (name in setdiff(needed, names(newdata))) {
    if (!exists(name, envir = environment(fit$formula) %||% globalenv()) || name %in% names(fit$model)) {
      stop_at(sprintf("newdata has no column `%s`; its columns are %s", name, listed(names(newdata))), fit$formula, name)
    }
  }
  terms <- stats::delete.response(fit$terms)
  frame <- tryCatch(
    stats::model.frame(terms, newdata, na.action = stats::na.pass, xlev = fit$xlevels),
    error = function(condition) refuse(conditionMessage(condition))
  )
  offset <- offset_of(fit, frame, newdata)
  extra <- lapply(fit$groups, function(group) {
    stats::model.frame(group$terms, newdata, na.action = stats::na.pass, xlev = group$xlevels)
  })
  complete <- stats::complete.cases(frame)
  for (own in extra) if (ncol(own) > 0L) complete <- complete & stats::complete.cases(own)
  if (!none) for (group in fit$groups) for (part in group$grouping) {
    complete <- complete & !is.na(value_of(part, frame[0L], newdata, fit$formula))
  }
  if (!is.null(offset)) complete <- complete & !is.na(offset)
  names <- row.names(newdata)
  if (!any(complete)) refuse("every row of newdata has a missing value")
  kept <- frame[complete, , drop = FALSE]
  rows <- newdata[complete, , drop = FALSE]
  attr(kept, "terms") <- attr(frame, "terms")
  x <- stats::model.matrix(terms, kept, contrasts.arg = fit$contrasts)
  groups_at <- Map(fit$groups, extra, f = function(group, own) {
    z <- stats::model.matrix(group$terms, own[complete, , drop = FALSE], contrasts.arg = group$contrasts)
    if (nrow(z) == 0L) z <- z[rep(1L, nrow(rows)), , drop = FALSE]
    if (none) return(list(z = z, factor = NULL))
    parts <- lapply(group$grouping, function(part) as.character(value_of(part, rows, rows, fit$formula)))
    list(z = z, factor = factor(do.call(paste, c(parts, sep = ":"))))
  })
  parts <- list(x = x, groups = groups_at)
  if (none) parts <- without_groups(parts)
  columns <- native_columns(fit$layout, parts, fit)
  if (fit$has_trials) columns[[fit$layout$trials]] <- trials_of(fit, rows)
  if (!is.null(fit$offset)) columns[["(offset)"]] <- if (is.null(offset)) rep(0, nrow(rows)) else offset[complete]
  if (length(columns) == 0L) columns <- list("(row)" = rep(1, nrow(rows)))
  list(columns = columns, groups = groups, complete = complete, names = names)
}

# Every row in a group that no fit has seen: with "none", its effects are 0.
without_groups <- function(parts) {
  parts$groups <- lapply(parts$groups, function(group) {
    list(z = group$z, factor = factor(rep("(no group)", nrow(parts$x))))
  })
  parts
}

# `offset()` terms of the formula, and the argument, evaluated in new data.
offset_of <- function(fit, frame, newdata) {
  if (is.null(fit$offset)) return(NULL)
  out <- stats::model.offset(frame) %||% rep(0, nrow(newdata))
  own <- fit$call$offset
  if (!is.null(own)) out <- out + eval(own, newdata, environment(fit$formula))
  out
}

# The trials of new rows where they say so, else one.
trials_of <- function(fit, rows) {
  one <- rep(1, nrow(rows))
  if (!is.null(fit$trials_term)) {
    found <- tryCatch(as.double(eval(fit$trials_term, rows, environment(fit$formula))), error = function(condition) one)
    return(if (length(found) == nrow(rows)) found else one)
  }
  if (is.call(fit$response) && identical(fit$response[[1L]], quote(cbind))) {
    both <- tryCatch(eval(fit$response, rows, environment(fit$formula)), error = function(condition) NULL)
    if (is.matrix(both) && nrow(both) == nrow(rows)) return(as.double(rowSums(both)))
  }
  one
}
