# Where the design is the same, the numbers are those of the command and of Python to the last bit.

same <- function(fit, data, formula, ...) {
  ours <- list(mean = provi:::core(fit)$mean(), covariance = unname(vcov(fit, groups = TRUE)), elbo = fit$record$elbo)
  for (other in list(of_command, of_python)) {
    theirs <- other(data, formula, list(...))
    for (part in names(ours)) expect_identical(ours[[part]], theirs[[part]])
  }
}

test_that("a logistic regression with a factor is the same", {
  data <- births()[c("low", "age", "lwt", "race", "ftv")]
  data$race <- as.character(data$race)
  fit <- provi(low ~ age + lwt + race + ftv, data = data)
  same(fit, data, "low ~ age + lwt + race + ftv")
})

test_that("a Poisson regression with an offset and weights is the same", {
  data <- data.frame(y = c(3, 1, 4, 1, 5, 9, 2, 6), x = seq(-1, 1, length.out = 8), t = c(1, 2, 3, 4, 1, 2, 3, 4), w = 1:8 / 4)
  fit <- provi(y ~ x + offset(log(t)), data = data, family = poisson(), weights = w)
  data$o <- log(data$t)
  same(fit, data, "y ~ x", family = "poisson", offset = "o", weights = "w")
})

test_that("a mixed model is the same", {
  data <- cows()[c("incidence", "size", "herd")]
  data$herd <- sprintf("h%02d", as.integer(as.character(data$herd)))
  fit <- provi(incidence | trials(size) ~ 1 + (1 | herd), data = data)
  same(fit, data, "incidence | trials(size) ~ 1 + (1 | herd)")
})

test_that("correlated effects and an unknown noise are the same", {
  data <- sleepers()
  data$Subject <- as.character(data$Subject)
  fit <- provi(Reaction ~ Days + (Days | Subject), data = data, family = gaussian())
  same(fit, data, "Reaction ~ Days + (Days | Subject)", family = "gaussian")
})

test_that("times to an event are the same, with a known and an unknown scale", {
  data <- patients()[c("time", "event", "age", "ph.ecog")]
  formula <- "surv(time, event) ~ age + `ph.ecog`"
  Surv <- survival::Surv
  same(provi(Surv(time, event) ~ age + ph.ecog, data = data), data, formula)
  same(provi(surv(time, event) ~ age + ph.ecog, data = data, family = "exponential"), data, formula, family = "exponential")
  same(provi(surv(time, event) ~ age + ph.ecog, data = data, noise_sd = 0.75), data, formula, noise_sd = 0.75)
})

test_that("negative binomial counts are the same, with a known and an unknown noise", {
  data <- absences()
  for (name in setdiff(names(data), "Days")) data[[name]] <- as.character(data[[name]])
  formula <- Days ~ Eth + Sex + Age + Lrn
  same(provi(formula, data = data, family = "negbinomial"), data, deparse1(formula), family = "negbinomial")
  fit <- provi(formula, data = data, family = MASS::negative.binomial(4))
  same(fit, data, deparse1(formula), family = "negbinomial", noise_sd = 0.5)
})
