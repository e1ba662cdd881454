# What R adds to a fit of 1000 rows and 20 columns: provi() beside the command, in turns, on the same numbers.
#
#   R CMD INSTALL r && cargo build --release --package provi-cli
#   Rscript bench/r.R target/release/provi [repeats]
#
# In milliseconds, the smallest of all repeats. `own` is the search and the audit, which both report; `whole` is the call in R, and the
# process of the command, which reads a CSV file and writes fit.json; `adds` is the smallest difference of the two in one repeat. `cpu` is
# the processor time of the whole on all cores, which other work on the machine does not lengthen much.
#
# With `noise_sd` given a gaussian model has nothing to search for and little to prove: what it takes is what every fit adds.

library(provi)
given <- commandArgs(TRUE)
command <- normalizePath(given[1L])
repeats <- if (length(given) > 1L) as.integer(given[2L]) else 50L

set.seed(1)
x <- matrix(rnorm(1000 * 20), 1000, dimnames = list(NULL, paste0("x", 1:20)))
eta <- as.double(x %*% rnorm(20, sd = 0.3))
responses <- list(
  gaussian = eta + rnorm(1000), bernoulli = rbinom(1000, 1, plogis(eta)), poisson = rpois(1000, exp(eta)),
  negbinomial = rpois(1000, exp(eta) * rgamma(1000, 2, 2))
)
families <- list(gaussian = gaussian(), bernoulli = binomial(), poisson = poisson(), negbinomial = "negbinomial")
formula <- reformulate(colnames(x), "y")

# Milliseconds on the clock, and of the processor in this process and in those that it started.
taken <- function(work) {
  begin <- c(as.double(Sys.time()), sum(proc.time()[c(1:2, 4:5)]))
  force(work)
  1000 * (c(as.double(Sys.time()), sum(proc.time()[c(1:2, 4:5)])) - begin)
}
folder <- tempfile("fit")
csv <- tempfile(fileext = ".csv")
cat(sprintf("%-12s%36s%36s\n", "", "R", "command"), sprintf("%-12s%s\n", "family", strrep("      own    whole     adds      cpu", 2L)), sep = "")
for (family in names(families)) {
  data <- data.frame(y = responses[[family]], x)
  write.csv(format(data, digits = 17, trim = TRUE), csv, row.names = FALSE, quote = FALSE)
  words <- c("fit", csv, shQuote(deparse1(formula)), "--family", family, "--quiet", "--out", folder, "--force")
  options <- list(formula, data = data, family = families[[family]], progress = FALSE)
  if (family == "gaussian") {
    words <- c(words, "--noise-sd", "1")
    options$noise_sd <- 1
  }
  times <- replicate(repeats, {
    both <- cbind(taken(fit <- do.call(provi, options)), taken(system2(command, words, stdout = FALSE)))
    own <- 1000 * c(fit$record$seconds, sum(unlist(jsonlite::fromJSON(file.path(folder, "fit.json"))$phases)))
    rbind(own, both[1L, ], both[1L, ] - own, both[2L, ])
  })
  cat(sprintf("%-12s", family), sprintf("%9.1f", apply(times, 1:2, min)), "\n", sep = "")
}
unlink(c(folder, csv), recursive = TRUE)
