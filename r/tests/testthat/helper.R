births <- function() {
  skip_if_not_installed("MASS")
  within(MASS::birthwt, {
    race <- factor(race, labels = c("white", "black", "other"))
    smoke <- smoke > 0
  })
}

cows <- function() {
  skip_if_not_installed("lme4")
  lme4::cbpp
}

sleepers <- function() {
  skip_if_not_installed("lme4")
  lme4::sleepstudy
}

absences <- function() {
  skip_if_not_installed("MASS")
  MASS::quine
}

patients <- function() {
  skip_if_not_installed("survival")
  data <- survival::lung[c("time", "status", "age", "sex", "ph.ecog")]
  within(stats::na.omit(data), {
    event <- status - 1
    woman <- sex == 2
  })
}

# How far posterior means may be from maximum likelihood, in standard deviations: the mean of a posterior is off its mode by its skewness,
# which is of the order 1/sqrt(n) in each of d directions. The default priors are some hundred times wider than the posterior, and
# move it by less than that.
asymptotic <- function(d, n) d / sqrt(n)

# The command's own answer for a CSV file of the same data, if the command is there: means, covariance and ELBO.
of_command <- function(data, formula, options = list()) {
  command <- Sys.getenv("PROVI_COMMAND")
  skip_if(command == "", "PROVI_COMMAND is not set")
  skip_if_not_installed("jsonlite")
  folder <- tempfile("fit")
  csv <- tempfile(fileext = ".csv")
  on.exit(unlink(c(folder, csv), recursive = TRUE))
  for (name in names(data)) {
    # Every bit of a number.
    if (is.double(data[[name]])) data[[name]] <- formatC(data[[name]], digits = 17, width = 1, format = "g")
  }
  utils::write.csv(data, csv, row.names = FALSE, quote = TRUE)
  given <- Map(function(name, value) c(paste0("--", gsub("_", "-", name)), value), names(options), options)
  arguments <- c("fit", csv, shQuote(formula), "--quiet", "--out", folder, unlist(given))
  output <- system2(command, arguments, stdout = TRUE, stderr = TRUE)
  file <- file.path(folder, "fit.json")
  if (!file.exists(file)) stop(paste(output, collapse = "\n"))
  found <- jsonlite::fromJSON(file)
  list(mean = found$mean, covariance = unname(found$covariance), elbo = -found$neg_elbo)
}

# The same from Python, which gets the columns themselves. PROVI_PYTHON is an interpreter that finds the package.
of_python <- function(data, formula, options = list()) {
  python <- Sys.getenv("PROVI_PYTHON")
  skip_if(python == "", "PROVI_PYTHON is not set")
  skip_if_not_installed("jsonlite")
  file <- tempfile(fileext = ".json")
  on.exit(unlink(file))
  columns <- lapply(data, function(column) if (is.character(column)) column else sprintf("%a", as.double(column)))
  work <- list(formula = formula, columns = columns, texts = I(names(Filter(is.character, data))), options = c(progress = FALSE, options))
  writeLines(jsonlite::toJSON(work, auto_unbox = TRUE), file)
  output <- system2(python, c(shQuote(test_path("fit.py")), file), stdout = TRUE, stderr = TRUE)
  if (!is.null(attr(output, "status"))) stop(paste(output, collapse = "\n"))
  found <- lapply(jsonlite::fromJSON(utils::tail(output, 1L)), as.numeric)
  found$covariance <- matrix(found$covariance, length(found$mean))
  found
}
