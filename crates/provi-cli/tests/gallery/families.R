# What survreg, glm.nb and polr say about times to an event, about counts whose rates vary and about ordered categories.
#
#     Rscript families.R        # writes lung.csv, visits.csv, heart.csv, housing.csv, and NAME.json for each answer
#
# R 4.2.2 with survival 3.5-3, MASS 7.3-58.2 and jsonlite. The table quine.csv is that of gallery.R.
#
# survreg has the log of the time: log t = x'b + σW. provi has the log of the cumulative hazard at the time u: s = −(x'b − log u)/σ. Standard
# errors of s are those of the delta method, from the covariance of b and log σ.

suppressPackageStartupMessages({
  library(survival)
  library(MASS)
  library(jsonlite)
})

answer <- function(name, data, call, command, estimate, error, scales = NULL) {
  rows <- lapply(seq_along(estimate), function(i) {
    list(name = names(estimate)[i], estimate = estimate[[i]], standard_error = error[[i]])
  })
  out <- list(
    data = data, formula = command$formula, family = command$family, options = command$options, r = call,
    coefficients = rows, scales = scales,
    made_with = list(
      R = R.version.string, MASS = as.character(packageVersion("MASS")), survival = as.character(packageVersion("survival"))
    )
  )
  writeLines(toJSON(out, auto_unbox = TRUE, pretty = TRUE, digits = 10, null = "null"), paste0(name, ".json"))
}

# lung: survival with advanced lung cancer
table <- lung[!is.na(lung$ph.ecog), c("time", "status", "age", "sex", "ph.ecog")]
table <- data.frame(time = table$time, event = table$status - 1, age = table$age,
  sex = c("male", "female")[table$sex], ecog = table$ph.ecog)
con <- file("lung.csv", "wb")
write.table(table, con, sep = ",", quote = FALSE, row.names = FALSE, eol = "\n")
close(con)
table$sex <- factor(table$sex, levels = c("male", "female"))
unit <- signif(mean(table$time), 2)
hazard <- function(fit, unit) {
  b <- coef(fit)
  sigma <- fit$scale
  at <- b
  at[1] <- at[1] - log(unit)
  d <- length(b)
  slopes <- cbind(-diag(d) / sigma, at / sigma)
  v <- fit$var
  if (nrow(v) == d) slopes <- slopes[, 1:d]
  names <- c("(Intercept)", "age", "sex[female]", "ecog")
  list(estimate = setNames(-at / sigma, names), error = sqrt(diag(slopes %*% v %*% t(slopes))))
}
options <- list("--reference", "sex=male", "--prior-scale", "100")
fit <- survreg(Surv(time, event) ~ age + sex + ecog, table, dist = "weibull")
found <- hazard(fit, unit)
answer("lung-weibull", "lung.csv", "survreg(Surv(time, event) ~ age + sex + ecog, dist = \"weibull\")",
  list(formula = "surv(time, event) ~ age + sex + ecog", family = "weibull", options = options),
  found$estimate, found$error, list(list(name = "noise", ml = fit$scale, reml = NULL)))
fit <- survreg(Surv(time, event) ~ age + sex + ecog, table, dist = "exponential")
found <- hazard(fit, unit)
answer("lung-exponential", "lung.csv", "survreg(Surv(time, event) ~ age + sex + ecog, dist = \"exponential\")",
  list(formula = "surv(time, event) ~ age + sex + ecog", family = "exponential", options = options),
  found$estimate, found$error)

# visits: the same patients, seen every 91 days: an event lies between two visits
write <- function(table, name) {
  con <- file(name, "wb")
  write.table(table, con, sep = ",", quote = FALSE, row.names = FALSE, eol = "\n", na = "")
  close(con)
}
lower <- ifelse(table$event == 1, floor((table$time - 1) / 91) * 91, table$time)
upper <- ifelse(table$event == 1, lower + 91, NA)
visits <- data.frame(lower, upper, age = table$age, sex = table$sex, ecog = table$ecog)
write(visits, "visits.csv")
visits$lower[visits$lower == 0] <- NA
unit <- signif(mean(ifelse(is.na(upper), lower, upper)), 2)
fit <- survreg(Surv(lower, upper, type = "interval2") ~ age + sex + ecog, visits, dist = "weibull")
found <- hazard(fit, unit)
answer("visits-weibull", "visits.csv", "survreg(Surv(lower, upper, type = \"interval2\") ~ age + sex + ecog, dist = \"weibull\")",
  list(formula = "interval(lower, upper) ~ age + sex + ecog", family = "weibull", options = options),
  found$estimate, found$error, list(list(name = "noise", ml = fit$scale, reml = NULL)))

# heart: waiting for a heart, and after it; a patient enters the second row at the transplant. survreg has no late entries, so the exponential
# model is that of glm for the time between, and the Weibull one is maximised here.
table <- data.frame(start = heart$start, stop = heart$stop, event = heart$event, age = round(heart$age, 3),
  surgery = heart$surgery, transplant = as.integer(heart$transplant) - 1)
write(table, "heart.csv")
unit <- signif(mean(table$stop), 2)
options <- list("--prior-scale", "100")
fit <- glm(event ~ age + surgery + transplant + offset(log((stop - start) / unit)), poisson, table,
  control = list(epsilon = 1e-14, maxit = 100))
found <- coef(summary(fit))
answer("heart-exponential", "heart.csv", "glm(event ~ age + surgery + transplant + offset(log((stop - start) / unit)), poisson)",
  list(formula = "surv(start, stop, event) ~ age + surgery + transplant", family = "exponential", options = options),
  found[, 1], found[, 2])
x <- cbind(1, table$age, table$surgery, table$transplant)
loss <- function(p) {
  k <- exp(-p[5])
  s <- as.vector(x %*% p[1:4])
  passed <- exp(s) * ((table$stop / unit)^k - (table$start / unit)^k)
  sum(passed - table$event * (s + log(k) + k * log(table$stop / unit) - log(table$stop)))
}
fit <- optim(c(found[, 1], 0), loss, method = "BFGS", hessian = TRUE, control = list(reltol = 1e-15, maxit = 1000))
error <- sqrt(diag(solve(fit$hessian)))
answer("heart-weibull", "heart.csv", "optim() of the Weibull likelihood with late entries",
  list(formula = "surv(start, stop, event) ~ age + surgery + transplant", family = "weibull", options = options),
  setNames(fit$par[1:4], rownames(found)), error[1:4], list(list(name = "noise", ml = exp(fit$par[5]), reml = NULL)))

# quine: days absent from school
fit <- glm.nb(Days ~ Eth + Sex + Age + Lrn, quine, control = glm.control(epsilon = 1e-14, maxit = 200))
found <- coef(summary(fit))
names <- c("(Intercept)", "Eth[N]", "Sex[M]", "Age[F1]", "Age[F2]", "Age[F3]", "Lrn[SL]")
answer("quine-negbinomial", "quine.csv", "glm.nb(Days ~ Eth + Sex + Age + Lrn)",
  list(formula = "Days ~ Eth + Sex + Age + Lrn", family = "negbinomial", options = list("--prior-scale", "100")),
  setNames(found[, 1], names), found[, 2], list(list(name = "noise", ml = 1 / sqrt(fit$theta), reml = NULL)))

# housing: satisfaction of householders, with the number of householders of each kind. The intercept stands for the first cut point, and the
# gap of the middle level is the distance between the two.
table <- data.frame(sat = housing$Sat, infl = housing$Infl, type = housing$Type, cont = housing$Cont, freq = housing$Freq)
write(table, "housing.csv")
fit <- polr(Sat ~ Infl + Type + Cont, weights = Freq, data = housing, Hess = TRUE, control = list(reltol = 1e-15, maxit = 1000))
covariance <- vcov(fit)
cuts <- paste0(names(fit$zeta))
estimate <- c("(Intercept)" = unname(-fit$zeta[1]), setNames(coef(fit), c("infl[Medium]", "infl[High]", "type[Apartment]", "type[Atrium]",
  "type[Terrace]", "cont[High]")))
error <- sqrt(c(covariance[cuts[1], cuts[1]], diag(covariance)[names(coef(fit))]))
answer("housing-ordered", "housing.csv", "polr(Sat ~ Infl + Type + Cont, weights = Freq)",
  list(formula = paste0("ordered(sat, levels = c(\"Low\", \"Medium\", \"High\")) ~ factor(infl, levels = c(\"Low\", \"Medium\", \"High\")) + ",
    "factor(type, levels = c(\"Tower\", \"Apartment\", \"Atrium\", \"Terrace\")) + factor(cont, levels = c(\"Low\", \"High\"))"),
    family = "ordered", options = list("--weights", "freq", "--prior-scale", "100")),
  estimate, error, list(list(name = "gap(Medium)", ml = unname(diff(fit$zeta)), reml = NULL)))
