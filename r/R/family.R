# Families as R spells them, and the response that they need.

# The family of R for each family of the native half, and back.
family_of <- function(family) {
  if (is.character(family)) {
    native <- c("gaussian", "bernoulli", "probit", "cloglog", "binomial", "poisson", "gamma", "exponential")
    if (length(family) == 1L && family %in% setdiff(native, c("gaussian", "binomial", "poisson"))) {
      own <- switch(family,
        bernoulli = stats::binomial(), probit = stats::binomial("probit"), cloglog = stats::binomial("cloglog"),
        gamma = , exponential = stats::Gamma("log")
      )
      return(list(family = own, native = family))
    }
    family <- get0(family[1L], mode = "function", envir = asNamespace("stats"))
    if (is.null(family)) {
      stop(errorCondition(
        "family names no family; use binomial(), poisson(), gaussian(), Gamma(\"log\"), or \"exponential\"",
        class = "provi_error"
      ))
    }
  }
  if (is.function(family)) family <- family()
  if (!inherits(family, "family")) {
    stop(errorCondition("family must be a family such as binomial(), poisson() or gaussian()", class = "provi_error"))
  }
  native <- switch(paste(family$family, family$link),
    "binomial logit" = "binomial", "binomial probit" = "probit", "binomial cloglog" = "cloglog",
    "poisson log" = "poisson", "gaussian identity" = "gaussian", "Gamma log" = "gamma"
  )
  if (is.null(native)) {
    known <- "binomial with logit, probit or cloglog; poisson with log; gaussian with identity; Gamma with log"
    way <- switch(family$family,
      Gamma = "; write Gamma(link = \"log\")",
      binomial = , poisson = , gaussian = sprintf("; write %s()", family$family),
      quasibinomial = "; write binomial(), and add a group term per row for overdispersion: (1 | row)",
      quasipoisson = "; write poisson(), and add a group term per row for overdispersion: (1 | row)",
      ""
    )
    stop(errorCondition(
      sprintf("%s(link = \"%s\") has no proof here; there are %s%s", family$family, family$link, known, way),
      class = "provi_error"
    ))
  }
  list(family = family, native = native)
}

# The response of a frame: values, trials, and the weights that are left. Proportions with weights are counts, as in `glm`.
response_of <- function(frame, asked, native, weights, formula) {
  y <- stats::model.response(frame)
  name <- deparse1(asked$response)
  trials <- NULL
  if (!is.null(asked$trials)) trials <- as.double(value_of(asked$trials, frame, frame, formula))
  binary <- native %in% c("binomial", "probit", "cloglog", "bernoulli")
  if (is.matrix(y) && ncol(y) == 2L && binary) {
    trials <- as.double(y[, 1L] + y[, 2L])
    y <- y[, 1L]
  } else if (is.matrix(y)) {
    stop_at("the response is a matrix; only cbind(successes, failures) can be one, with a binomial family", formula, name)
  }
  if (is.factor(y) || is.character(y)) {
    y <- as.factor(y)
    if (!binary) {
      stop_at(sprintf("the response is a factor, which family %s cannot have", native), formula, name)
    }
    # As in `glm`: the first level is failure.
    y <- y != levels(y)[1L]
  }
  if (!is.numeric(y) && !is.logical(y)) stop_at("the response holds no numbers", formula, name)
  y <- as.double(y)
  if (binary && is.null(trials) && !is.null(weights) && any(y > 0 & y < 1)) {
    counts <- y * weights
    if (any(abs(counts - round(counts)) > 1e-6)) {
      stop_at(
        "a proportion times its weight is not a whole number of successes; weights of proportions are trials", formula, name
      )
    }
    trials <- round(weights)
    y <- round(counts)
    weights <- NULL
  }
  if (native == "binomial" && is.null(trials)) native <- "bernoulli"
  if (native %in% c("probit", "bernoulli") && !is.null(trials)) {
    if (any(trials != 1)) {
      if (native == "bernoulli") native <- "binomial" else {
        stop_at(
          "with a probit link the response is binary; use binomial() or binomial(\"cloglog\") for counts of successes, or give each trial a row",
          formula, name
        )
      }
    } else trials <- NULL
  }
  list(y = y, trials = trials, weights = weights, name = name, native = native)
}
