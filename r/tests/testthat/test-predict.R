test_that("predictions have the columns of predict.lm", {
  fit <- provi(am ~ wt, data = mtcars)
  new <- data.frame(wt = c(2, 3))
  expect_identical(colnames(predict(fit, new, interval = "confidence")), c("fit", "lwr", "upr"))
  response <- predict(fit, new)
  expect_true(all(response > 0 & response < 1))
  link <- predict(fit, new, type = "link", se.fit = TRUE)
  expect_equal(unname(link$fit), as.double(cbind(1, new$wt) %*% provi:::core(fit)$mean()))
  expect_equal(unname(link$se.fit), sqrt(diag(cbind(1, new$wt) %*% vcov(fit) %*% rbind(1, new$wt))))
  expect_lt(attr(predict(fit, new, errors = TRUE), "error"), 0.2)
})

test_that("missing values are predicted as NA", {
  fit <- provi(am ~ wt, data = mtcars)
  found <- predict(fit, data.frame(wt = c(2, NA, 3)))
  expect_identical(is.na(found), c(`1` = FALSE, `2` = TRUE, `3` = FALSE))
})

test_that("a new response has a wider interval than its mean", {
  fit <- provi(mpg ~ wt, data = mtcars, family = gaussian())
  new <- data.frame(wt = 3)
  width <- function(kind) diff(predict(fit, new, interval = kind)[1, c("lwr", "upr")])
  expect_gt(width("prediction"), 2 * width("confidence"))
  reference <- predict(lm(mpg ~ wt, mtcars), new, interval = "prediction")
  expect_equal(predict(fit, new, interval = "prediction"), reference, tolerance = 0.05, ignore_attr = TRUE)
})

test_that("new groups are refused, or part of the interval, or left out", {
  fit <- provi(incidence | trials(size) ~ period + (1 | herd), data = cows())
  new <- data.frame(period = factor(1, levels = 1:4), herd = "new")
  expect_error(predict(fit, new), "`new`")
  wide <- predict(fit, new, allow.new.levels = TRUE, interval = "confidence")
  narrow <- predict(fit, new, re.form = NA, interval = "confidence")
  expect_gt(wide[, "upr"] - wide[, "lwr"], narrow[, "upr"] - narrow[, "lwr"])
  expect_identical(predict(fit, new["period"], re.form = NA), predict(fit, new, re.form = NA))
  expect_error(predict(fit, new["period"]), "newdata has no column `herd`")
  expect_error(predict(fit, data.frame(period = factor(9), herd = "1")), "new level")
})

test_that("effects of groups may be of factors and bases, for new rows too", {
  fit <- provi(mpg ~ wt + (factor(am) | cyl), data = mtcars, family = gaussian())
  expect_equal(predict(fit, mtcars[1:2, ]), fitted(fit)[1:2])
  fit <- provi(mpg ~ 1 + (poly(hp, 2) || cyl), data = mtcars, family = gaussian())
  expect_equal(predict(fit, mtcars[5:6, ]), fitted(fit)[5:6])
})

test_that("a model of an intercept alone predicts as many rows as there are", {
  fit <- provi(am ~ 1, data = mtcars)
  expect_length(predict(fit, data.frame(anything = 1:3)), 3)
})

test_that("names and levels with blanks are R's own", {
  data <- transform(mtcars, g = c("", " a", "b")[1 + seq_len(32) %% 3], `my x` = wt, check.names = FALSE)
  fit <- provi(am ~ `my x` + (1 | g), data = data)
  expect_identical(row.names(ranef(fit)$g), c("", " a", "b"))
  expect_equal(predict(fit, data[1:3, ]), fitted(fit)[1:3])
})
