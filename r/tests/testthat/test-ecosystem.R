fits <- local({
  made <- NULL
  function() {
    if (is.null(made)) made <<- provi(incidence | trials(size) ~ period + (1 | herd), data = cows())
    made
  }
})

test_that("posterior takes the draws", {
  skip_if_not_installed("posterior")
  draws <- posterior::as_draws(fits())
  expect_s3_class(draws, "draws_matrix")
  expect_true("sd(herd:(Intercept))" %in% posterior::variables(draws))
  expect_s3_class(posterior::as_draws_df(fits()), "draws_df")
  expect_s3_class(posterior::as_draws_array(fits()), "draws_array")
})

test_that("rstantools' generics work", {
  skip_if_not_installed("rstantools")
  link <- rstantools::posterior_linpred(fits(), draws = 20)
  mean <- rstantools::posterior_epred(fits(), draws = 20)
  expect_equal(plogis(link), mean)
  expect_identical(dim(mean), c(20L, 56L))
  counts <- rstantools::posterior_predict(fits(), draws = 20)
  expect_true(all(counts == round(counts)) && all(t(counts) <= cows()$size))
  likelihood <- rstantools::log_lik(fits(), draws = 20)
  expect_equal(likelihood[3, ], dbinom(cows()$incidence, cows()$size, mean[3, ], log = TRUE), ignore_attr = TRUE)
  expect_match(rstantools::prior_summary(fits())[1], "normal")
  skip_if_not_installed("loo")
  expect_s3_class(suppressWarnings(loo::loo(fits())), "psis_loo")
})

test_that("predictors of a gaussian model have their own noise", {
  skip_if_not_installed("rstantools")
  fit <- provi(mpg ~ wt, data = mtcars, family = gaussian())
  eta <- rstantools::posterior_linpred(fit, draws = 7)
  sigma <- as.matrix(fit, 7)[, "sigma"]
  expect_equal(rstantools::log_lik(fit, draws = 7)[2, ], dnorm(mtcars$mpg, eta[2, ], sigma[2], log = TRUE), ignore_attr = TRUE)
})

test_that("tidy and glance give one row a term and one a fit", {
  skip_if_not_installed("generics")
  tidied <- generics::tidy(fits(), conf.int = TRUE)
  expect_identical(tidied$term, names(fixef(fits())))
  expect_true(all(c("estimate", "std.error", "estimate.error", "conf.low", "conf.high") %in% names(tidied)))
  expect_identical(nrow(generics::tidy(fits(), effects = "all")), 19L)
  expect_identical(generics::glance(fits())$nobs, 56L)
})

test_that("emmeans finds marginal means", {
  skip_if_not_installed("emmeans")
  fit <- provi(breaks ~ wool * tension, data = warpbreaks, family = poisson())
  found <- as.data.frame(emmeans::emmeans(fit, ~tension))
  expect_identical(as.character(found$tension), c("L", "M", "H"))
  reference <- as.data.frame(emmeans::emmeans(glm(breaks ~ wool * tension, poisson, warpbreaks), ~tension))
  expect_equal(found$emmean, reference$emmean, tolerance = 0.01)
})

test_that("bayesplot draws a check", {
  skip_if_not_installed("bayesplot")
  expect_s3_class(bayesplot::pp_check(fits()), "ggplot")
  expect_error(bayesplot::pp_check(fits(), type = "nothing"), "available_ppc")
})

test_that("the methods for marginaleffects give what it asks for", {
  fit <- provi(am ~ wt, data = mtcars)
  expect_identical(provi:::get_coef.provi(fit), coef(fit))
  expect_identical(provi:::get_vcov.provi(fit), vcov(fit))
  expect_identical(coef(provi:::set_coef.provi(fit, c(wt = 1)))[["wt"]], 1)
  found <- provi:::get_predict.provi(fit, mtcars[1:3, ])
  expect_named(found, c("rowid", "estimate"))
  expect_identical(nrow(attr(found, "posterior_draws")), 3L)
  expect_equal(found$estimate, unname(predict(fit, mtcars[1:3, ])), tolerance = 0.05)
})
