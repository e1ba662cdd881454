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

# The command's own answer for a CSV file of the same data, if the command is there: means, sds and ELBO.
of_command <- function(data, formula, ...) {
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
  arguments <- c("fit", csv, shQuote(formula), "--quiet", "--out", folder, ...)
  output <- system2(command, arguments, stdout = TRUE, stderr = TRUE)
  file <- file.path(folder, "fit.json")
  if (!file.exists(file)) stop(paste(output, collapse = "\n"))
  jsonlite::fromJSON(file)
}
