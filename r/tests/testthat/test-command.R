# Where the design is the same, the numbers are the command's to the last bit.

same <- function(fit, command) {
  answer <- provi:::core(fit)
  expect_identical(answer$mean(), command$mean)
  expect_identical(fit$record$elbo, -command$neg_elbo)
  expect_identical(unname(vcov(fit, groups = TRUE)), unname(command$covariance))
}

test_that("a logistic regression with a factor is the command's", {
  data <- births()[c("low", "age", "lwt", "race", "ftv")]
  data$race <- as.character(data$race)
  fit <- provi(low ~ age + lwt + race + ftv, data = data)
  same(fit, of_command(data, "low ~ age + lwt + race + ftv"))
})

test_that("a Poisson regression with an offset and weights is the command's", {
  data <- data.frame(y = c(3, 1, 4, 1, 5, 9, 2, 6), x = seq(-1, 1, length.out = 8), t = c(1, 2, 3, 4, 1, 2, 3, 4), w = 1:8 / 4)
  fit <- provi(y ~ x + offset(log(t)), data = data, family = poisson(), weights = w)
  data$o <- log(data$t)
  same(fit, of_command(data, "y ~ x", "--family", "poisson", "--offset", "o", "--weights", "w"))
})

test_that("a mixed model is the command's", {
  data <- cows()[c("incidence", "size", "herd")]
  data$herd <- sprintf("h%02d", as.integer(as.character(data$herd)))
  fit <- provi(incidence | trials(size) ~ 1 + (1 | herd), data = data)
  same(fit, of_command(data, "incidence | trials(size) ~ 1 + (1 | herd)"))
})

test_that("correlated effects and an unknown noise are the command's", {
  data <- sleepers()
  data$Subject <- as.character(data$Subject)
  fit <- provi(Reaction ~ Days + (Days | Subject), data = data, family = gaussian())
  same(fit, of_command(data, "Reaction ~ Days + (Days | Subject)", "--family", "gaussian"))
})
