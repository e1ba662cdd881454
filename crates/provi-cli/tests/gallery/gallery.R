# The seven tables of the gallery, and what glm, lmer and glmer say about them.
#
#     Rscript gallery.R        # writes NAME.csv and NAME.json beside it
#
# R 4.2.2 with MASS 7.3-58.2, lme4 1.1-31 and jsonlite. Names of coefficients are those of provi: town[Bern] for townBern.

suppressPackageStartupMessages({
  library(MASS)
  library(lme4)
  library(jsonlite)
})

treatment <- function(x, levels = NULL) {
  factor(as.character(x), levels = if (is.null(levels)) sort(unique(as.character(x)), method = "radix") else levels)
}

save <- function(name, table) {
  con <- file(paste0(name, ".csv"), "wb")
  write.table(table, con, sep = ",", quote = FALSE, row.names = FALSE, eol = "\n")
  close(con)
}

coefficients <- function(fit) {
  table <- coef(summary(fit))
  lapply(seq_len(nrow(table)), function(i) {
    list(name = rownames(table)[i], estimate = table[i, 1], standard_error = table[i, 2])
  })
}

# provi writes category[level].
named <- function(list, columns) {
  for (i in seq_along(list)) {
    for (column in names(columns)) {
      written <- columns[[column]]
      parts <- strsplit(list[[i]]$name, ":")[[1]]
      of <- startsWith(parts, column) & nchar(parts) > nchar(column)
      parts[of] <- paste0(written, "[", substring(parts[of], nchar(column) + 1), "]")
      list[[i]]$name <- paste(parts, collapse = ":")
    }
  }
  list
}

answer <- function(name, call, command, coefficients, scales = NULL) {
  out <- list(
    data = paste0(name, ".csv"), formula = command$formula, family = command$family, options = command$options,
    r = call, coefficients = coefficients, scales = scales,
    made_with = list(
      R = R.version.string, MASS = as.character(packageVersion("MASS")), lme4 = as.character(packageVersion("lme4"))
    )
  )
  writeLines(toJSON(out, auto_unbox = TRUE, pretty = TRUE, digits = 10, null = "null"), paste0(name, ".json"))
}

scale_of <- function(name, ml, reml = NULL) list(name = name, ml = ml, reml = reml)

# birthwt: low birth weight
birthwt$race <- c("white", "black", "other")[birthwt$race]
table <- birthwt[, c("low", "age", "lwt", "race", "smoke", "ptl", "ht", "ui", "ftv")]
save("birthwt", table)
table$race <- treatment(table$race, c("white", "black", "other"))
fit <- glm(low ~ age + lwt + race + smoke + ptl + ht + ui + ftv, binomial, table)
answer("birthwt", "glm(low ~ age + lwt + race + smoke + ptl + ht + ui + ftv, binomial)",
  list(formula = "low ~ age + lwt + race + smoke + ptl + ht + ui + ftv", family = "bernoulli",
    options = list("--reference", "race=white")),
  named(coefficients(fit), list(race = "race")))

# quine: days absent from school
save("quine", quine)
fit <- glm(Days ~ Eth + Sex + Age + Lrn, poisson, quine)
answer("quine", "glm(Days ~ Eth + Sex + Age + Lrn, poisson)",
  list(formula = "Days ~ Eth + Sex + Age + Lrn", family = "poisson", options = list()),
  named(coefficients(fit), list(Eth = "Eth", Sex = "Sex", Age = "Age", Lrn = "Lrn")))

# cbpp: contagious bovine pleuropneumonia, by herd
table <- cbpp[, c("herd", "incidence", "size", "period")]
save("cbpp", table)
fit <- glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), table, binomial)
answer("cbpp", "glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), binomial)",
  list(formula = "incidence | trials(size) ~ factor(period) + (1 | herd)", family = "binomial", options = list()),
  named(coefficients(fit), list(period = "period")),
  list(scale_of("herd:(Intercept)", attr(VarCorr(fit)$herd, "stddev")[[1]])))

# sleepstudy: reaction times
save("sleepstudy", sleepstudy)
ml <- lmer(Reaction ~ Days + (Days || Subject), sleepstudy, REML = FALSE)
reml <- lmer(Reaction ~ Days + (Days || Subject), sleepstudy)
sds <- function(fit) c(sapply(VarCorr(fit), function(x) attr(x, "stddev")[[1]]), sigma(fit))
answer("sleepstudy", "lmer(Reaction ~ Days + (Days || Subject), REML = FALSE)",
  list(formula = "Reaction ~ Days + (Days || Subject)", family = "gaussian", options = list()),
  coefficients(ml),
  list(scale_of("Subject:(Intercept)", sds(ml)[[1]], sds(reml)[[1]]),
    scale_of("Subject:Days", sds(ml)[[2]], sds(reml)[[2]]),
    scale_of("noise", sds(ml)[[3]], sds(reml)[[3]])))

# epil: seizures
table <- epil[, c("y", "trt", "V4", "subject", "lbase", "lage")]
table$lbase <- signif(table$lbase, 10)
table$lage <- signif(table$lage, 10)
save("epil", table)
fit <- glmer(y ~ lbase * trt + lage + V4 + (1 | subject), table, poisson)
answer("epil", "glmer(y ~ lbase * trt + lage + V4 + (1 | subject), poisson)",
  list(formula = "y ~ lbase * trt + lage + V4 + (1 | subject)", family = "poisson",
    options = list("--reference", "trt=placebo")),
  named(coefficients(fit), list(trt = "trt")),
  list(scale_of("subject:(Intercept)", attr(VarCorr(fit)$subject, "stddev")[[1]])))

# Insurance: claims
table <- Insurance
save("insurance", table)
table$District <- treatment(table$District)
table$Group <- treatment(table$Group, c("<1l", "1-1.5l", "1.5-2l", ">2l"))
table$Age <- treatment(table$Age, c("<25", "25-29", "30-35", ">35"))
fit <- glm(Claims ~ District + Group + Age + offset(log(Holders)), poisson, table)
answer("insurance", "glm(Claims ~ District + Group + Age + offset(log(Holders)), poisson)",
  list(formula = paste0("Claims ~ factor(District) + factor(Group, levels = c(\"<1l\", \"1-1.5l\", \"1.5-2l\", \">2l\"))",
      " + factor(Age, levels = c(\"<25\", \"25-29\", \"30-35\", \">35\"))"),
    family = "poisson", options = list("--exposure", "Holders")),
  named(coefficients(fit), list(District = "District", Group = "Group", Age = "Age")))

# warpbreaks: breaks of yarn
save("warpbreaks", warpbreaks)
fit <- glm(breaks ~ wool + tension, poisson, warpbreaks)
answer("warpbreaks", "glm(breaks ~ wool + tension, poisson)",
  list(formula = "breaks ~ wool + factor(tension, levels = c(\"L\", \"M\", \"H\"))", family = "poisson",
    options = list()),
  named(coefficients(fit), list(wool = "wool", tension = "tension")))
