# Levels in an order, beside MASS's polr.

housing <- function() {
  skip_if_not_installed("MASS")
  MASS::housing
}

# The probability of each level at predictors and cut points, by the definition.
by_cuts <- function(eta, cuts) {
  below <- cbind(0, vapply(cuts, function(cut) stats::plogis(cut - eta), eta), 1)
  below[, -1L, drop = FALSE] - below[, -ncol(below), drop = FALSE]
}

test_that("proportional odds are those of polr", {
  data <- housing()
  fit <- provi(Sat ~ Infl + Type + Cont, data = data, weights = Freq)
  reference <- MASS::polr(Sat ~ Infl + Type + Cont, data = data, weights = Freq)
  expect_identical(family(fit)$family, "ordered")
  expect_identical(names(coef(fit)), c("(Intercept)", names(coef(reference))))
  # The first cut point of polr is minus the intercept, and the gaps are the distances between the cut points.
  b <- c(-reference$zeta[[1L]], coef(reference))
  near <- asymptotic(length(b) + 1, sum(data$Freq))
  expect_lt(max(abs(coef(fit) - b) / sqrt(diag(vcov(fit)))), near)
  gap <- summary(fit)$scales["gap(Medium)", ]
  expect_lt(abs(gap$mean - diff(reference$zeta)) / gap$sd, near)
  # At polr's own estimates the likelihood is the same up to rounding.
  eta <- as.double(model.matrix(fit) %*% b)
  own <- sum(provi:::density_of(fit, matrix(eta, 1L), matrix(diff(reference$zeta), 1L)))
  expect_equal(own, as.double(logLik(reference)), tolerance = 1e-12)
  expect_equal(attr(logLik(fit), "df"), attr(logLik(reference), "df"))
  # So are the probabilities.
  probs <- provi:::mean_at(fit, matrix(eta, 1L), matrix(diff(reference$zeta), 1L))
  expect_equal(unname(probs[1L, , ]), unname(predict(reference, type = "probs")), tolerance = 1e-12)
  expect_snapshot(summary(fit))
})

test_that("log probabilities of levels have no cancellation", {
  eta <- matrix(c(-40, -3, 0, 2, 60), 1L)
  gaps <- matrix(c(0.5, 1e-9, 3), 1L)
  cuts <- c(0, cumsum(gaps))
  for (k in 1:5) {
    found <- provi:::level_log_density(eta, gaps, k)
    # Differences of tails, taken from the side where they are small.
    low <- c(-Inf, cuts)[k] - eta
    high <- c(cuts, Inf)[k] - eta
    from_below <- stats::plogis(high) - stats::plogis(low)
    from_above <- stats::plogis(-low) - stats::plogis(-high)
    expected <- ifelse(low > 0, from_above, from_below)
    if (k == 3L) expected <- 1e-9 * stats::dlogis(cuts[2L] - eta)
    expect_equal(exp(found), expected, tolerance = 1e-7)
  }
  expect_equal(provi:::level_log_density(matrix(-800), gaps, 5), matrix(-800 - sum(gaps)), tolerance = 1e-14)
})

test_that("predictions have a probability of each level", {
  data <- housing()
  fit <- provi(Sat ~ Infl + Cont, data = data, weights = Freq)
  new <- data.frame(Infl = c("Low", "High", NA), Cont = c("High", "Low", "Low"), row.names = c("a", "b", "c"))
  probs <- predict(fit, new, type = "probs")
  expect_identical(dimnames(probs), list(c("a", "b", "c"), levels(data$Sat)))
  expect_equal(unname(rowSums(probs)), c(1, 1, NA), tolerance = 1e-9)
  expect_equal(predict(fit, new), drop(probs %*% 1:3), tolerance = 1e-9)
  expect_identical(
    predict(fit, new, type = "class"), stats::setNames(ordered(c("Low", "High", NA), levels(data$Sat)), c("a", "b", "c"))
  )
  ends <- predict(fit, new, type = "probs", interval = "confidence", level = 0.9, errors = TRUE)
  expect_identical(dim(ends), c(3L, 3L, 3L))
  expect_identical(ends[, "fit", ], probs, ignore_attr = TRUE)
  expect_true(all(ends[1:2, "lwr", ] < ends[1:2, "fit", ] & ends[1:2, "fit", ] < ends[1:2, "upr", ]))
  expect_equal(attr(ends, "error"), certificate(fit)$tv)
  # Draws: the mean probability is the predicted one, within five standard errors (a false alarm in 3e-7 of seeds a number, of twelve).
  draws <- posterior_epred.provi(fit, new[1:2, ], draws = 2000, seed = 1)
  expect_identical(dim(draws), c(2000L, 2L, 3L))
  expect_equal(unname(rowSums(draws, dims = 2L)), matrix(1, 2000L, 2L), tolerance = 1e-12)
  error <- apply(draws, 2:3, stats::sd) / sqrt(2000)
  expect_true(all(abs(colMeans(draws) - probs[1:2, ]) < 5 * error))
  # With the gap at its mean in each draw the spread would be another: it is drawn with the coefficients.
  fixed <- provi:::mean_at(fit, posterior_linpred.provi(fit, new[1:2, ], draws = 2000, seed = 1), provi:::gaps_of(fit))
  expect_gt(max(abs(apply(draws, 2:3, stats::sd) / apply(fixed, 2:3, stats::sd) - 1)), 0.02)
  responses <- posterior_predict.provi(fit, new[1:2, ], draws = 2000, seed = 1)
  expect_true(all(responses %in% 1:3))
  shares <- apply(responses, 2L, tabulate, 3L) / 2000
  expect_true(all(abs(t(shares) - probs[1:2, ]) < 5 * sqrt(probs[1:2, ] * (1 - probs[1:2, ]) / 2000)))
  expect_identical(levels(simulate(fit, 2, seed = 1)$sim_1), levels(data$Sat))
  expect_error(predict(fit, new, type = "class", interval = "confidence"), "no such interval", class = "provi_error")
  expect_error(predict(fit, new, type = "probs", se.fit = TRUE), "no se.fit", class = "provi_error")
  births <- provi(low ~ age, data = births())
  expect_error(predict(births, type = "probs"), "for an ordered response", class = "provi_error")
})

test_that("the other methods know levels", {
  data <- housing()
  data <- data[rep(seq_len(nrow(data)), pmin(data$Freq, 10)), ]
  fit <- provi(Sat ~ Infl + Cont, data = data)
  reference <- MASS::polr(Sat ~ Infl + Cont, data = data)
  # Posterior means of probabilities are off their values at the mode by what the coefficients are.
  expect_equal(unname(fitted(fit)), unname(fitted(reference)), tolerance = asymptotic(5, nrow(data)))
  numbers <- as.integer(data$Sat)
  mu <- drop(fitted(fit) %*% 1:3)
  expect_equal(unname(residuals(fit)), unname(numbers - mu), tolerance = 1e-9)
  variance <- drop(fitted(fit) %*% (1:3)^2) - mu^2
  expect_equal(unname(residuals(fit, "pearson")), unname((numbers - mu) / sqrt(variance)), tolerance = 1e-9)
  expect_error(residuals(fit, "deviance"), "no deviance residuals", class = "provi_error")
  expect_equal(sigma(fit), 1)
  file <- tempfile(fileext = ".rds")
  picture <- tempfile(fileext = ".pdf")
  on.exit(unlink(c(file, picture)))
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), type = "probs"), predict(fit, type = "probs"))
  grDevices::pdf(picture)
  for (which in c("coefficients", "marginals", "check", "residuals")) expect_silent(plot(fit, which))
  weighted <- provi(Sat ~ Infl, data = housing(), weights = Freq)
  expect_silent(plot(weighted, "check"))
  expect_equal(
    vapply(1:3, function(k) sum(provi:::shares_of_rows(weighted)[weighted$y == k]), 0),
    as.vector(stats::xtabs(Freq ~ Sat, housing())) / sum(housing()$Freq)
  )
  grDevices::dev.off()
  table <- provi:::get_predict.provi(fit, data[1:4, ])
  expect_equal(table$estimate, as.vector(predict(fit, data[1:4, ], type = "probs")), tolerance = 0.01)
  expect_identical(table$group, rep(levels(data$Sat), each = 4L))
  skip_if_not_installed("loo")
  found <- suppressWarnings(loo::loo(fit, draws = 1000, seed = 1))
  expect_lt(abs(found$estimates["elpd_loo", "Estimate"] - as.double(logLik(reference)) + 5), 5)
  skip_if_not_installed("emmeans")
  means <- as.data.frame(summary(emmeans::emmeans(fit, "Infl"), point.est = mean))
  expect_equal(diff(means$emmean), unname(diff(c(0, coef(fit)[2:3]))), tolerance = 0.05)
})

test_that("an ordered response has several spellings", {
  data <- housing()
  data$number <- as.integer(data$Sat)
  data$unordered <- factor(as.character(data$Sat), levels(data$Sat))
  data$text <- as.character(data$Sat)
  a <- coef(provi(Sat ~ Infl, data = data, weights = Freq))
  expect_identical(coef(provi(Sat ~ Infl, data = data, weights = Freq, family = "ordered")), a)
  expect_identical(coef(provi(unordered ~ Infl, data = data, weights = Freq, family = "ordered")), a)
  expect_identical(coef(provi(number ~ Infl, data = data, weights = Freq, family = "ordered")), a)
  expect_identical(coef(provi(ordered(text, c("Low", "Medium", "High")) ~ Infl, data = data, weights = Freq)), a)
  # Draws of several gaps, a row for each.
  gaps <- matrix(c(0.5, 1, 2, 0.25, 3, 1), 2L)
  eta <- matrix(c(-1, 0, 2, 1), 2L)
  by_hand <- rbind(by_cuts(eta[1L, ], c(0, cumsum(gaps[1L, ]))), by_cuts(eta[2L, ], c(0, cumsum(gaps[2L, ]))))
  found <- vapply(1:5, function(k) exp(as.vector(t(provi:::level_log_density(eta, gaps, k)))), numeric(4L))
  expect_equal(found, by_hand, tolerance = 1e-12)
  # As the command reads it from a file.
  command <- of_command(data[c("Sat", "Freq", "number")], "ordered(number) ~ Freq")
  own <- provi(ordered(number) ~ Freq, data = data)
  expect_equal(provi:::core(own)$mean(), command$mean, tolerance = 1e-8)
  # Levels that no row has are left out; two levels are a binary response.
  two <- droplevels(data[data$Sat != "Medium", ])
  expect_identical(family(provi(Sat ~ Infl, data = two, weights = Freq))$family, "binomial")
  ordered <- provi(Sat ~ Infl, data = two, weights = Freq, family = "ordered")
  # The family does not depend on which of the declared levels a subset holds.
  part <- update(provi(Sat ~ Infl, data = data, weights = Freq), subset = Sat != "Medium")
  expect_identical(family(part)$family, "ordered")
  expect_identical(coef(part), coef(ordered))
  expect_equal(coef(ordered), coef(provi(Sat ~ Infl, data = two, weights = Freq)), tolerance = 1e-9)
  expect_equal(unname(predict(ordered, type = "probs")[, 2L]), unname(predict(provi(Sat ~ Infl, data = two, weights = Freq))), tolerance = 1e-9)
  # Gaps can be given, and have priors; levels may have any name.
  levels(data$Sat) <- c("\"low\"", "so\\so", " (high) ")
  given <- provi(Sat ~ Infl, data = data, weights = Freq, gaps = 1.1)
  expect_null(summary(given)$scales)
  expect_identical(colnames(predict(given, type = "probs")), c("\"low\"", "so\\so", "(high)"))
  prior <- provi(Sat ~ Infl, data = data, weights = Freq, prior = "gap = lognormal(0, 0.2)")
  expect_match(paste(unlist(lapply(prior$record$scales, `[[`, "words"))), "lognormal(0, 0.2)", fixed = TRUE)
})

test_that("groups and offsets go with levels", {
  data <- housing()
  data$block <- rep(1:12, each = 6)
  fit <- provi(Sat ~ Infl + (1 | block) + offset(0.1 * (Cont == "Low")), data = data, weights = Freq)
  expect_identical(nrow(ranef(fit)$block), 12L)
  expect_equal(rowSums(predict(fit, re.form = NA, type = "probs")), stats::setNames(rep(1, 72), row.names(data)), tolerance = 1e-9)
  wider <- predict(fit, transform(data[1L, ], block = 99), type = "probs", interval = "confidence", allow.new.levels = TRUE)
  known <- predict(fit, data[1L, ], type = "probs", interval = "confidence")
  expect_true(all(wider[, "upr", ] - wider[, "lwr", ] > known[, "upr", ] - known[, "lwr", ]))
  # The same draws of all scales give the likelihood of each row.
  eta <- posterior_linpred.provi(fit, draws = 3, seed = 1)
  gaps <- as.matrix(fit, ndraws = 3, seed = 1)[, "gap(Medium)"]
  expected <- vapply(1:3, function(k) {
    log(by_cuts(eta[k, ], c(0, gaps[k]))[cbind(1:72, as.integer(data$Sat))]) * data$Freq
  }, numeric(72))
  expect_equal(unname(log_lik.provi(fit, draws = 3, seed = 1)), unname(t(expected)), tolerance = 1e-9)
})

test_that("what is no ordered response is refused with the way out", {
  data <- housing()
  data$text <- as.character(data$Sat)
  data$one <- factor(1)
  data$many <- ordered(rep_len(1:12, nrow(data)))
  refused <- function(formula, text, ...) {
    expect_error(provi(formula, data = data, family = "ordered", ...), text, class = "provi_error", fixed = TRUE)
  }
  refused(text ~ Infl, "write ordered(.., levels = c(..)), the lowest first")
  refused(cbind(Freq, Freq) ~ Infl, "an ordered response is one factor")
  refused(one ~ Infl, "1 level(s)")
  refused(many ~ Infl, "12 level(s)")
  refused(Sat ~ Infl, "gap", gaps = c(1, 2))
  refused(Sat | trials(Freq) ~ Infl, "has no trials")
  data$missing <- addNA(replace(data$Sat, 1:3, NA))
  refused(missing ~ Infl, "a level of the response is NA")
  data$blank <- factor(data$Sat, labels = c("a", "b", "a "))
  refused(blank ~ Infl, "two levels are called \"a\"")
})
