test_that("group terms are found and taken out", {
  bars <- function(text) vapply(provi:::bars_of(str2lang(text)), deparse1, "")
  expect_identical(bars("x + (1 | g) + (x || h)"), c("1 | g", "x || h"))
  rest <- function(text) deparse1(provi:::without_bars(str2lang(text)))
  expect_identical(rest("x + (1 | g) + log(z)"), "x + log(z)")
  expect_identical(rest("(1 | g) + x"), "x")
  expect_identical(rest("0 + x + (1 | g)"), "0 + x")
  expect_null(provi:::without_bars(quote((1 | g))))
})

test_that("nested and crossed groups are R's", {
  labels <- function(text) {
    vapply(provi:::groupings_of(str2lang(text)), function(group) paste(vapply(group, deparse1, ""), collapse = ":"), "")
  }
  expect_identical(labels("a/b"), c("a", "a:b"))
  expect_identical(labels("a/b/c"), c("a", "a:b", "a:b:c"))
  expect_identical(labels("a:b"), "a:b")
  expect_identical(labels("a + b"), c("a", "b"))
})

test_that("factors have R's levels, contrasts and names", {
  fit <- provi(breaks ~ wool * tension, data = warpbreaks, family = poisson())
  reference <- glm(breaks ~ wool * tension, data = warpbreaks, family = poisson())
  expect_identical(names(coef(fit)), names(coef(reference)))
  expect_equal(coef(fit), coef(reference), tolerance = 0.02)
  fit <- provi(breaks ~ tension, data = warpbreaks, family = poisson(), contrasts = list(tension = "contr.sum"))
  expect_named(coef(fit), c("(Intercept)", "tension1", "tension2"))
  data <- transform(warpbreaks, tension = relevel(tension, "H"))
  expect_named(coef(provi(breaks ~ tension, data = data, family = poisson())), c("(Intercept)", "tensionL", "tensionM"))
})

test_that("functions in formulas are R's own, also for new rows", {
  fit <- provi(am ~ poly(wt, 2) + I(hp / 100), data = mtcars)
  expect_named(coef(fit), c("(Intercept)", "poly(wt, 2)1", "poly(wt, 2)2", "I(hp/100)"))
  expect_equal(predict(fit, mtcars[3:4, ]), predict(fit)[3:4], ignore_attr = TRUE)
  skip_if_not_installed("splines")
  fit <- provi(mpg ~ splines::ns(wt, 3), data = mtcars, family = gaussian())
  expect_equal(predict(fit, mtcars[5, ]), predict(fit)[5], ignore_attr = TRUE)
})

test_that("`.` is every other column", {
  data <- mtcars[c("am", "wt", "hp")]
  expect_identical(coef(provi(am ~ ., data = data)), coef(provi(am ~ wt + hp, data = data)))
  data$g <- rep(c("a", "b"), 16)
  fit <- provi(am ~ . + (1 | g), data = data)
  expect_named(fixef(fit), c("(Intercept)", "wt", "hp"))
})

test_that("a binomial response has all the forms of glm", {
  data <- cows()
  a <- provi(cbind(incidence, size - incidence) ~ period, data = data)
  b <- provi(incidence | trials(size) ~ period, data = data)
  c <- provi(incidence / size ~ period, data = data, weights = size)
  expect_identical(coef(a), coef(b))
  expect_identical(coef(a), coef(c))
  reference <- glm(cbind(incidence, size - incidence) ~ period, data = data, family = binomial)
  expect_equal(coef(a), coef(reference), tolerance = 0.05)
})

test_that("a factor's first level is failure", {
  data <- transform(mtcars, gear = factor(am, labels = c("automatic", "manual")))
  expect_identical(coef(provi(gear ~ wt, data = data)), coef(provi(am ~ wt, data = data)))
  expect_identical(coef(provi(am > 0 ~ wt, data = data)), coef(provi(am ~ wt, data = data)))
})

test_that("links are R's", {
  for (link in c("logit", "probit", "cloglog")) {
    fit <- provi(am ~ wt, data = mtcars, family = binomial(link), prior = "normal(0, 100)")
    reference <- glm(am ~ wt, data = mtcars, family = binomial(link))
    expect_lt(max(abs(coef(fit) - coef(reference)) / sqrt(diag(vcov(reference)))), 1)
    expect_identical(family(fit)$link, link)
  }
})

test_that("offset, weights and subset are evaluated in the data", {
  data <- data.frame(y = c(3, 1, 4, 1, 5, 9, 2, 6), x = 1:8, t = c(1, 2, 3, 4, 1, 2, 3, 4), keep = rep(1:0, c(7, 1)))
  a <- provi(y ~ x + offset(log(t)), data = data, family = poisson())
  b <- provi(y ~ x, data = data, family = poisson(), offset = log(t))
  expect_identical(coef(a), coef(b))
  expect_equal(predict(a, data), predict(b, data))
  w <- provi(y ~ x, data = data, family = poisson(), weights = keep, prior = "normal(0, 100)")
  s <- provi(y ~ x, data = data, family = poisson(), subset = keep == 1, prior = "normal(0, 100)")
  expect_equal(coef(w), coef(s), tolerance = 1e-3)
  expect_equal(nobs(s), 7)
})

test_that("rows with missing values are left out with a message", {
  expect_message(fit <- provi(Ozone > 30 ~ Temp, data = airquality), "37 rows with missing values left out")
  expect_equal(nobs(fit), 116)
})

test_that("nested groups and several effects work", {
  skip_if_not_installed("lme4")
  fit <- provi(strength ~ 1 + (1 | batch / cask), data = lme4::Pastes, family = gaussian())
  expect_named(ranef(fit), c("batch", "batch:cask"))
  expect_equal(nrow(ranef(fit)[["batch:cask"]]), 30)
  expect_equal(predict(fit, lme4::Pastes[1:4, ]), predict(fit)[1:4], ignore_attr = TRUE)
})
