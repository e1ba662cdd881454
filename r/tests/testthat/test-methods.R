test_that("summary and certificate look as they should", {
  fit <- provi(low ~ age + lwt + race + smoke, data = births())
  expect_snapshot(print(fit))
  expect_snapshot(summary(fit))
  expect_snapshot(provi(cbind(incidence, size - incidence) ~ period + (1 | herd), data = cows(), scales = "maximise"))
})

test_that("the table has proved errors", {
  fit <- provi(low ~ age + lwt, data = births())
  table <- as.data.frame(summary(fit))
  expect_true(all(table$mean_error > 0 & table$mean_error < table$sd))
  expect_identical(table$mean, unname(coef(fit)))
  proved <- certificate(fit)
  expect_lt(proved$kl, 0.05)
  expect_lt(proved$gap, 1e-6)
  expect_output(print(proved), "about the computation, given this model and prior")
})

test_that("the usual methods work without groups", {
  fit <- provi(am ~ wt + hp, data = mtcars)
  expect_identical(dim(vcov(fit)), c(3L, 3L))
  expect_identical(rownames(confint(fit)), names(coef(fit)))
  expect_identical(rownames(confint(fit, "wt", level = 0.5)), "wt")
  expect_lt(diff(confint(fit, "wt", level = 0.5)[1, ]), diff(confint(fit, "wt")[1, ]))
  expect_length(fitted(fit), 32)
  expect_equal(residuals(fit), mtcars$am - fitted(fit), ignore_attr = TRUE)
  for (type in c("pearson", "deviance")) expect_true(all(is.finite(residuals(fit, type))))
  expect_s3_class(logLik(fit), "logLik")
  expect_true(is.finite(AIC(fit)) && is.finite(BIC(fit)))
  expect_identical(nobs(fit), 32L)
  expect_identical(formula(fit), am ~ wt + hp)
  expect_identical(family(fit)$family, "binomial")
  expect_named(coef(update(fit, . ~ . - hp)), c("(Intercept)", "wt"))
  expect_identical(colnames(model.matrix(fit)), names(coef(fit)))
})

test_that("logLik is that of glm at the same coefficients", {
  fit <- provi(breaks ~ wool, data = warpbreaks, family = poisson(), prior = "normal(0, 1000)")
  reference <- glm(breaks ~ wool, data = warpbreaks, family = poisson)
  expect_equal(as.double(logLik(fit)), as.double(logLik(reference)), tolerance = 1e-4)
})

test_that("the methods of mixed models work", {
  fit <- provi(Reaction ~ Days + (Days | Subject), data = sleepers(), family = gaussian())
  expect_named(fixef(fit), c("(Intercept)", "Days"))
  effects <- ranef(fit)$Subject
  expect_identical(dim(effects), c(18L, 2L))
  expect_identical(dim(attr(effects, "sd")), c(18L, 2L))
  expect_equal(coef(fit)$Subject[["Days"]], fixef(fit)[["Days"]] + effects$Days)
  reference <- lme4::lmer(Reaction ~ Days + (Days | Subject), data = sleepers())
  expect_equal(fixef(fit), lme4::fixef(reference), tolerance = 0.01)
  expect_gt(cor(effects$Days, lme4::ranef(reference)$Subject$Days), 0.99)
  scales <- as.data.frame(VarCorr(fit))
  expect_identical(scales$grp, c("Subject", "Subject", "Subject", "Residual"))
  expect_equal(scales$sdcor[4], sigma(fit))
  expect_lt(abs(scales$sdcor[4] - sigma(reference)), 2)
  expect_output(print(VarCorr(fit)), "Residual")
  expect_identical(lme4::fixef(fit), fixef(fit))
})

test_that("maximised scales are near lme4's", {
  fit <- provi(Reaction ~ Days + (1 | Subject), data = sleepers(), family = gaussian(), scales = "maximise")
  reference <- lme4::lmer(Reaction ~ Days + (1 | Subject), data = sleepers(), REML = FALSE)
  ours <- attr(VarCorr(fit)$Subject, "stddev")
  expect_equal(unname(ours), unname(attr(lme4::VarCorr(reference)$Subject, "stddev")), tolerance = 0.05)
})

test_that("draws and simulations are pure functions of the seed", {
  fit <- provi(am ~ wt, data = mtcars)
  expect_identical(as.matrix(fit, 10, seed = 3), as.matrix(fit, 10, seed = 3))
  expect_false(identical(as.matrix(fit, 10, seed = 3), as.matrix(fit, 10, seed = 4)))
  draws <- as.data.frame(fit, ndraws = 4000)
  expect_equal(colMeans(draws), provi:::core(fit)$mean(), tolerance = 0.1, ignore_attr = TRUE)
  simulated <- simulate(fit, 5, seed = 1)
  expect_identical(dim(simulated), c(32L, 5L))
  expect_true(all(unlist(simulated) %in% 0:1))
  expect_identical(simulated, simulate(fit, 5, seed = 1))
})

test_that("a fit survives saveRDS, and is read by the command", {
  fit <- provi(Reaction ~ Days + (1 | Subject), data = sleepers(), family = gaussian())
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  again <- readRDS(file)
  expect_identical(predict(again), predict(fit))
  expect_identical(as.matrix(again, 5), as.matrix(fit, 5))
  folder <- tempfile("fit")
  save_fit(fit, folder)
  expect_true(file.exists(file.path(folder, "fit.json")))
  expect_error(save_fit(fit, folder), "force")
  command <- Sys.getenv("PROVI_COMMAND")
  skip_if(command == "", "PROVI_COMMAND is not set")
  expect_match(paste(system2(command, c("summary", folder), stdout = TRUE), collapse = "\n"), "Days")
})

test_that("plots are drawn", {
  fit <- provi(am ~ wt + hp, data = mtcars)
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  for (which in c("coefficients", "marginals", "check", "residuals")) expect_identical(plot(fit, which), fit)
})

test_that("Ctrl-C keeps the answer so far", {
  skip_on_os("windows")
  skip_if(nzchar(Sys.getenv("PROVI_NO_SIGNALS")))
  data <- data.frame(x = rep(seq(-1, 1, length.out = 50), 20))
  data$y <- as.integer(sin(seq_len(nrow(data))) > data$x)
  system(sprintf("(sleep 2; kill -INT %d) &", Sys.getpid()))
  began <- Sys.time()
  expect_message(
    fit <- provi(y ~ x, data = data, method = "prox-energy", steps = 1e12, time_limit = 60),
    "stopping"
  )
  expect_true(fit$record$stopped_early)
  expect_lt(as.double(Sys.time() - began, units = "secs"), 30)
})
