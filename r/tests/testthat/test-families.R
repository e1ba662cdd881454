# Families that R does not have, beside survival's and MASS's.

test_that("Weibull times are those of survreg", {
  data <- patients()
  Surv <- survival::Surv
  fit <- provi(Surv(time, status) ~ age + woman + ph.ecog, data = data)
  reference <- survival::survreg(Surv(time, status) ~ age + woman + ph.ecog, data = data)
  # survreg has the log of the time, log t = x'b + scale W; here the log hazard at the unit of time.
  b <- -coef(reference) / reference$scale
  b[1L] <- b[1L] + log(fit$record$time_unit) / reference$scale
  expect_identical(names(coef(fit)), names(b))
  sds <- sqrt(diag(vcov(fit)))
  near <- asymptotic(length(b) + 1, sum(data$event))
  expect_lt(max(abs(coef(fit) - b) / sds), near)
  scale <- summary(fit)$scales["sigma", ]
  expect_equal(sigma(fit), scale$mean)
  expect_lt(abs(scale$mean - reference$scale) / scale$sd, near)
  # At survreg's own coefficients the likelihood is the same up to rounding.
  eta <- as.double(model.matrix(fit) %*% b)
  likelihood <- sum(provi:::density_of(fit, matrix(eta, 1L), reference$scale))
  expect_equal(likelihood, reference$loglik[2L], tolerance = 1e-12)
})

test_that("exponential times are those of survreg", {
  data <- patients()
  fit <- provi(surv(time, event) ~ age + woman, data = data, family = "exponential")
  Surv <- survival::Surv
  reference <- survival::survreg(Surv(time, event) ~ age + woman, data = data, dist = "exponential")
  expect_lt(max(abs(coef(fit) + coef(reference))[-1L] / sqrt(diag(vcov(fit)))[-1L]), asymptotic(3, sum(data$event)))
  expect_null(summary(fit)$scales)
  b <- -coef(reference) + c(log(fit$record$time_unit), 0, 0)
  likelihood <- sum(provi:::density_of(fit, matrix(model.matrix(fit) %*% b, 1L)))
  expect_equal(likelihood, reference$loglik[2L], tolerance = 1e-12)
})

test_that("a response of times has several spellings", {
  data <- transform(patients(), left = 1 - event)
  data$both <- survival::Surv(data$time, data$event)
  a <- provi(surv(time, event) ~ age, data = data)
  expect_identical(family(a)$family, "weibull")
  expect_identical(coef(provi(surv(time, status == 2) ~ age, data = data)), coef(a))
  expect_identical(coef(provi(surv(time, 1 - left) ~ age, data = data)), coef(a))
  expect_identical(coef(provi(survival::Surv(time, status) ~ age, data = data)), coef(a))
  expect_identical(coef(provi(both ~ age, data = data)), coef(a))
  expect_identical(coef(update(a, . ~ . + woman)), coef(provi(surv(time, event) ~ age + woman, data = data)))
  # Without events, all were seen.
  expect_identical(
    coef(provi(time ~ age, data = data, family = "weibull")), coef(provi(surv(time, event * 0 + 1) ~ age, data = data))
  )
  data$time[1L] <- NA
  data$event[2L] <- NA
  expect_message(b <- provi(surv(time, event) ~ age, data = data), "2 rows with missing values left out")
  expect_identical(nobs(b), nrow(data) - 2L)
})

test_that("the methods know times to an event", {
  data <- patients()
  fit <- provi(surv(time, event) ~ age + woman, data = data)
  expect_snapshot(summary(fit))
  expect_output(print(fit), "log hazard, unit of time 310")
  draws <- 4000
  sigma <- as.matrix(fit, draws)[, "sigma"]
  eta <- provi:::at_rows(fit, data[1:5, ], FALSE, draws)
  mean <- provi:::posterior_epred.provi(fit, data[1:5, ], draws = draws)
  expect_equal(mean[3L, ], fit$record$time_unit * gamma(1 + sigma[3L]) * exp(-sigma[3L] * eta[3L, ]))
  # Six standard errors of the draws.
  of_draws <- function(found, draws) {
    expect_lt(max(abs(found - colMeans(draws)) / apply(draws, 2L, sd)) * sqrt(nrow(draws)), 6)
  }
  of_draws(predict(fit, data[1:5, ]), mean)
  later <- exp(-exp(eta) * (365 / fit$record$time_unit)^(1 / sigma))
  of_draws(predict(fit, data[1:5, ], time = 365), later)
  of_draws(predict(fit, data[1:5, ], time = 365), t(simulate(fit, draws, seed = 1, newdata = data[1:5, ])) > 365)
  interval <- predict(fit, data[1:5, ], time = 365, interval = "confidence", errors = TRUE)
  expect_true(all(interval[, "lwr"] < interval[, "fit"] & interval[, "fit"] < interval[, "upr"]))
  expect_lt(attr(interval, "error"), 0.2)
  whole <- predict(fit, data[1:5, ], interval = "prediction")
  expect_true(all(whole[, "lwr"] < whole[, "fit"] & whole[, "fit"] < whole[, "upr"]))
  expect_equal(fitted(fit)[1:5], predict(fit, data[1:5, ]))
  expect_error(predict(fit, time = -1), "above 0")
  expect_error(predict(fit, time = 3, type = "link"), "does not depend on time")
  expect_error(predict(fit, time = 3, interval = "prediction"), "has no interval")
  expect_error(predict(provi(am ~ wt, data = mtcars), time = 3), "times to an event")
  again <- unserialize(serialize(fit, NULL))
  expect_identical(predict(again, time = 100), predict(fit, time = 100))
})

test_that("residuals of times are martingale ones", {
  data <- patients()
  fit <- provi(surv(time, event) ~ age, data = data)
  r <- residuals(fit)
  expect_identical(r, residuals(fit, "martingale"))
  expect_true(all(r < data$event))
  # Their sum is 0 at the maximum of the likelihood over the intercept, which the posterior mean is near to.
  expect_lt(abs(sum(r)), sqrt(sum(data$event)) * asymptotic(3, sum(data$event)))
  d <- residuals(fit, "deviance")
  seen <- data$event == 1
  expect_equal(d[!seen], -sqrt(-2 * r[!seen]))
  expect_equal(d[seen], sign(r[seen]) * sqrt(-2 * (r[seen] + log(1 - r[seen]))))
  expect_error(residuals(fit, "pearson"), "censored time")
  expect_error(residuals(fit, "response"), "censored time")
  expect_error(residuals(provi(am ~ wt, data = mtcars), "martingale"), "of times")
})

test_that("Kaplan and Meier's curve is that of survfit", {
  data <- patients()
  Surv <- survival::Surv
  reference <- survival::survfit(Surv(time, event) ~ 1, data = data)
  own <- provi:::kaplan_meier(data$time, data$event)
  seen <- reference$n.event > 0
  expect_equal(own$x[-1L], reference$time[seen])
  expect_equal(own$y[-1L], reference$surv[seen])
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  fit <- provi(surv(time, event) ~ age, data = data)
  for (which in c("check", "residuals")) expect_identical(plot(fit, which), fit)
})

test_that("times in groups have effects of groups", {
  skip_if_not_installed("survival")
  fit <- provi(surv(time, status) ~ rx + (1 | litter), data = survival::rats, family = "weibull")
  expect_identical(nrow(ranef(fit)$litter), length(unique(survival::rats$litter)))
  expect_equal(predict(fit, survival::rats[1:3, ]), fitted(fit)[1:3])
})

test_that("what is no right-censored time is refused", {
  data <- transform(patients(), late = time + 10)
  Surv <- survival::Surv
  expect_snapshot(provi(Surv(time, late, event) ~ age, data = data), error = TRUE)
  expect_snapshot(provi(Surv(time, late, type = "interval2") ~ age, data = data), error = TRUE)
  expect_snapshot(provi(Surv(time, event, type = "left") ~ age, data = data), error = TRUE)
  expect_snapshot(provi(surv(time, event) ~ age, data = data, family = poisson()), error = TRUE)
  expect_snapshot(provi(surv(time) ~ age, data = data), error = TRUE)
  expect_snapshot(provi(surv(time, status) ~ age, data = data), error = TRUE)
  expect_snapshot(provi(surv(time - 5, event) ~ age, data = data), error = TRUE)
  formula <- Surv(time, event) ~ age
  environment(formula) <- baseenv()
  expect_error(provi(formula, data = data), "library(survival)", fixed = TRUE)
})

test_that("negative binomial counts are those of glm.nb", {
  data <- absences()
  formula <- Days ~ Eth + Sex + Age + Lrn
  fit <- provi(formula, data = data, family = "negbinomial")
  reference <- MASS::glm.nb(formula, data = data)
  near <- asymptotic(length(coef(fit)) + 1, nrow(data))
  expect_lt(max(abs(coef(fit) - coef(reference)) / sqrt(diag(vcov(fit)))), near)
  scale <- summary(fit)$scales["sigma", ]
  expect_lt(abs(scale$mean - 1 / sqrt(reference$theta)) / scale$sd, near)
  likelihood <- sum(provi:::density_of(fit, matrix(predict(reference), 1L), 1 / sqrt(reference$theta)))
  expect_equal(likelihood, as.double(logLik(reference)), tolerance = 1e-12)
})

test_that("a negative binomial family of MASS gives the noise", {
  data <- absences()
  fit <- provi(Days ~ Sex, data = data, family = MASS::negative.binomial(2))
  expect_equal(sigma(fit), 1 / sqrt(2))
  expect_identical(coef(fit), coef(provi(Days ~ Sex, data = data, family = "negbinomial", noise_sd = 1 / sqrt(2))))
  reference <- glm(Days ~ Sex, data = data, family = MASS::negative.binomial(2))
  expect_lt(max(abs(coef(fit) - coef(reference)) / sqrt(diag(vcov(fit)))), asymptotic(2, nrow(data)))
  expect_error(provi(Days ~ Sex, data = data, family = MASS::negative.binomial(2), noise_sd = 1), "give one of them")
  expect_error(provi(Days ~ Sex, data = data, family = MASS::negative.binomial(2, "sqrt")), "no proof")
})

test_that("the methods know negative binomial counts", {
  data <- absences()
  fit <- provi(Days ~ Eth + Age, data = data, family = "negbinomial")
  expect_output(print(fit), "Negative Binomial (log link)", fixed = TRUE)
  expect_equal(residuals(fit), data$Days - fitted(fit), ignore_attr = TRUE)
  mu <- fitted(fit)
  expect_equal(residuals(fit, "pearson"), (data$Days - mu) / sqrt(mu + sigma(fit)^2 * mu^2), ignore_attr = TRUE)
  theirs <- MASS::negative.binomial(1 / sigma(fit)^2)
  expect_equal(residuals(fit, "deviance")^2, theirs$dev.resids(data$Days, mu, 1), ignore_attr = TRUE)
  simulated <- unlist(simulate(fit, 20, seed = 1))
  expect_true(all(simulated >= 0 & simulated == round(simulated)))
  likelihood <- provi:::log_lik.provi(fit, draws = 7)
  eta <- provi:::at_rows(fit, NULL, FALSE, 7)
  sigma <- as.matrix(fit, 7)[, "sigma"]
  expect_equal(likelihood[2L, ], dnbinom(data$Days, size = sigma[2L]^-2, mu = exp(eta[2L, ]), log = TRUE), ignore_attr = TRUE)
  expect_true(is.finite(AIC(fit)))
  skip_if_not_installed("emmeans")
  rate <- summary(emmeans::emmeans(fit, ~Eth), type = "response")
  expect_true("rate" %in% names(rate))
})
