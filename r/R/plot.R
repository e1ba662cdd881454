#' Plots of a fit
#'
#' @param x A fit.
#' @param which `"coefficients"`: means with their intervals; `"marginals"`: the density of each coefficient; `"check"`: the responses
#'   among replicated ones (of times to an event, Kaplan and Meier's curves; of ordered levels, their shares); `"residuals"`: Pearson residuals against fitted values, or
#'   martingale ones of times to an event. In a check a row counts as much as its weight; a row that stands for many has one replicated
#'   response all the same, so that replicated data vary more than if the rows were written out.
#' @param level Probability of the intervals.
#' @param parm Which coefficients; by default all of the population but the intercept.
#' @param ... Passed on to the plot.
#' @return The fit, invisibly.
#' @export
plot.provi <- function(x, which = c("coefficients", "marginals", "check", "residuals"), level = x$level, parm = NULL, ...) {
  which <- match.arg(which)
  table <- rows_of(x, level)
  if (is.null(parm)) parm <- if (nrow(table) > 1L) setdiff(row.names(table), "(Intercept)") else row.names(table)
  table <- table[parm, , drop = FALSE]
  switch(which,
    coefficients = plot_coefficients(table, ...),
    marginals = plot_marginals(x, table, ...),
    check = plot_check(x, ...),
    residuals = {
      type <- if (is_time(x)) "martingale" else "pearson"
      label <- if (is_time(x)) "martingale residual" else "Pearson residual"
      graphics::plot(mean_responses(x), stats::residuals(x, type), xlab = "fitted", ylab = label, ...)
      graphics::abline(h = 0, lty = 3)
    }
  )
  invisible(x)
}

plot_coefficients <- function(table, ...) {
  at <- rev(seq_len(nrow(table)))
  margins <- graphics::par(mar = c(4, max(6, 0.6 * max(nchar(row.names(table)))), 1, 1))
  on.exit(graphics::par(margins))
  graphics::plot(table$mean, at, xlim = range(0, table$low, table$high), ylim = c(0.5, nrow(table) + 0.5), pch = 19, yaxt = "n",
    xlab = "coefficient", ylab = "", ...)
  graphics::segments(table$low, at, table$high, at)
  graphics::abline(v = 0, lty = 3)
  graphics::axis(2, at, row.names(table), las = 1)
}

plot_marginals <- function(fit, table, ...) {
  n <- min(nrow(table), 12L)
  sides <- grDevices::n2mfrow(n)
  settings <- graphics::par(mfrow = sides, mar = c(4, 3, 1, 1))
  on.exit(graphics::par(settings))
  draws <- drawn(fit)
  for (name in row.names(table)[seq_len(n)]) {
    graphics::plot(stats::density(draws[, name]), main = "", xlab = name, ylab = "", ...)
    graphics::abline(v = 0, lty = 3)
  }
}

plot_check <- function(fit, ndraws = 50, ...) {
  replicated <- at_rows(fit, NULL, TRUE, ndraws)
  y <- fit$y
  if (is_time(fit)) return(plot_survival(fit, replicated, ...))
  if (is_ordered(fit)) return(plot_levels(fit, replicated, ...))
  weights <- shares_of_rows(fit)
  # A bandwidth of its own, because R warns that it chooses one without looking at weights.
  smooth <- function(y) stats::density(y, bw = stats::bw.nrd0(y), weights = weights)
  curves <- lapply(seq_len(ndraws), function(k) smooth(replicated[k, ]))
  own <- smooth(y)
  top <- max(own$y, vapply(curves, function(curve) max(curve$y), 0))
  graphics::plot(own, ylim = c(0, top), main = "", xlab = fit$response_name, lwd = 2, ...)
  for (curve in curves) graphics::lines(curve, col = grDevices::adjustcolor("steelblue", 0.3))
  graphics::lines(own, lwd = 2)
}

# The weight of each row in a picture of all of them.
shares_of_rows <- function(fit) {
  weights <- fit$prior.weights %||% rep(1, fit$n)
  weights / sum(weights)
}

# The share of each level, with nine tenths of those among replicated responses.
plot_levels <- function(fit, replicated, ...) {
  weights <- shares_of_rows(fit)
  shares <- function(y) vapply(seq_along(fit$categories), function(k) sum(weights[y == k]), 0)
  ends <- apply(apply(replicated, 1L, shares), 1L, stats::quantile, c(0.05, 0.95))
  own <- shares(fit$y)
  at <- graphics::barplot(own, names.arg = fit$categories, ylim = c(0, max(own, ends)), xlab = fit$response_name, ylab = "share",
    col = "grey85", ...)
  graphics::segments(at, ends[1L, ], at, ends[2L, ], col = "steelblue", lwd = 2)
}

# The data's curve among those of replicated times, which are cut at the data's last one.
plot_survival <- function(fit, replicated, ...) {
  own <- kaplan_meier(fit$y, events_of(fit))
  last <- max(fit$y)
  graphics::plot(own, type = "s", xlim = c(0, last), ylim = c(0, 1), lwd = 2, xlab = fit$response_name, ylab = "without event", ...)
  for (k in seq_len(nrow(replicated))) {
    times <- replicated[k, ]
    curve <- kaplan_meier(pmin(times, last), times <= last)
    graphics::lines(curve, type = "s", col = grDevices::adjustcolor("steelblue", 0.3))
  }
  graphics::lines(own, type = "s", lwd = 2)
}

kaplan_meier <- function(time, event) {
  at <- sort(unique(time[event > 0]))
  left <- vapply(at, function(t) 1 - sum(event[time == t]) / sum(time >= t), 0)
  list(x = c(0, at), y = c(1, cumprod(left)))
}

#' Save a fit for the command and Python
#'
#' Writes `fit.json` into a folder: `provi summary`, `provi report` and Python's `provi.load` read it. `saveRDS` keeps a fit for R.
#' The columns of its model are those of R's design matrix.
#'
#' @param fit A fit.
#' @param dir A folder.
#' @param force Whether to replace a fit that is there.
#' @return The path of `fit.json`, invisibly.
#' @export
save_fit <- function(fit, dir, force = FALSE) invisible(core(fit)$save(path.expand(dir), force))
