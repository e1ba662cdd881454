# The numbers of ../smooths.rs: Rscript mgcv.R, by R 4.2.2 and mgcv 1.8-41. Writes sine.csv and hours.csv and prints what mgcv says.
library(mgcv)
n <- 200
i <- 0:(n - 1)
e <- qnorm((((i * 137 + 31) %% n) + 0.5) / n)
show <- function(model, new) {
  p <- predict(model, new, se.fit = TRUE)
  cat(sprintf("(%g, %.6f, %.6f),\n", new[[1]], p$fit, p$se.fit), sep = "")
  cat("sigma", sqrt(model$sig2), "edf", sum(model$edf), "\n")
}

x <- ((i * 61) %% n) / n * 10
sine <- data.frame(x = x, y = round(sin(x) + 0.15 * x + 0.4 * e, 6))
write.csv(sine, "sine.csv", row.names = FALSE, quote = FALSE)
show(gam(y ~ s(x, k = 10, bs = "cr"), data = sine, method = "REML"), data.frame(x = c(0.5, 2, 3.5, 5, 6.5, 8, 9.5)))

hour <- ((i * 61) %% n) / n * 48
hours <- data.frame(hour = hour, y = round(1 + cos(2 * pi * hour / 24) + 0.5 * sin(4 * pi * hour / 24) + 0.4 * e, 6))
write.csv(hours, "hours.csv", row.names = FALSE, quote = FALSE)
hours$hour <- hours$hour %% 24
cyclic <- gam(y ~ s(hour, k = 10, bs = "cc"), data = hours, method = "REML", knots = list(hour = seq(0, 24, length = 10)))
show(cyclic, data.frame(hour = c(0, 3, 6, 9, 12, 15, 18, 21)))
