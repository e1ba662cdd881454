#' Plots of a fit
#'
#' @param x A fit.
#' @param which `"coefficients"`: means with their intervals; `"marginals"`: the density of each coefficient; `"check"`: the responses
#'   among replicated ones; `"residuals"`: Pearson residuals against fitted values.
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
      graphics::plot(stats::fitted(x), stats::residuals(x, "pearson"), xlab = "fitted", ylab = "Pearson residual", ...)
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
  curves <- lapply(seq_len(ndraws), function(k) stats::density(replicated[k, ]))
  own <- stats::density(y)
  top <- max(own$y, vapply(curves, function(curve) max(curve$y), 0))
  graphics::plot(own, ylim = c(0, top), main = "", xlab = fit$response_name, lwd = 2, ...)
  for (curve in curves) graphics::lines(curve, col = grDevices::adjustcolor("steelblue", 0.3))
  graphics::lines(own, lwd = 2)
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
