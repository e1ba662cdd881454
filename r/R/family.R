# Families as R spells them, and the response that they need.

# What there is, in a line.
families <- paste(
  "binomial with logit, probit or cloglog; poisson with log; gaussian with identity; Gamma with log; \"negbinomial\"; \"exponential\";",
  "\"weibull\"; \"ordered\""
)

# A family by the name that the command has for it, where R has none of that name.
named_families <- c("bernoulli", "probit", "cloglog", "gamma", "exponential", "negbinomial", "weibull", "ordered")

# The family of R for each family of the native half, and back. Families that R does not have are made once their noise is known; a
# negative binomial family of MASS says what the noise is.
family_of <- function(family) {
  if (is.character(family)) {
    if (length(family) == 1L && family %in% named_families) {
      own <- switch(family,
        bernoulli = stats::binomial(), probit = stats::binomial("probit"), cloglog = stats::binomial("cloglog"),
        gamma = , exponential = stats::Gamma("log"), ordered = proportional_odds()
      )
      return(list(family = own, native = family))
    }
    found <- get0(family[1L], mode = "function", envir = asNamespace("stats"))
    if (is.null(found)) refuse(sprintf("there is no family \"%s\"; there are %s", family[1L], families))
    family <- found
  }
  if (is.function(family)) family <- family()
  if (!inherits(family, "family")) refuse("family must be a family such as binomial(), poisson() or gaussian()")
  if (startsWith(family$family, "Negative Binomial") && family$link == "log") {
    theta <- get0(".Theta", environment(family$variance), inherits = FALSE)
    if (is.null(theta)) refuse("the negative binomial family has no theta; write family = \"negbinomial\"")
    return(list(family = family, native = "negbinomial", noise_sd = 1 / sqrt(theta)))
  }
  native <- switch(paste(family$family, family$link),
    "binomial logit" = "binomial", "binomial probit" = "probit", "binomial cloglog" = "cloglog",
    "poisson log" = "poisson", "gaussian identity" = "gaussian", "Gamma log" = "gamma"
  )
  if (is.null(native)) {
    way <- switch(family$family,
      Gamma = "; write Gamma(link = \"log\")",
      binomial = , poisson = , gaussian = sprintf("; write %s()", family$family),
      quasibinomial = "; write binomial(), and add a group term per row for overdispersion: (1 | row)",
      quasipoisson = "; write family = \"negbinomial\" for overdispersion, or add a group term per row: (1 | row)",
      ""
    )
    refuse(sprintf("%s(link = \"%s\") has no proof here; there are %s%s", family$family, family$link, families, way))
  }
  list(family = family, native = native)
}

# Counts with mean mu and variance mu + sigma^2 mu^2.
negative_binomial <- function(sigma) {
  r <- 1 / sigma^2
  structure(c(
    list(family = "Negative Binomial", link = "log"), stats::make.link("log")[c("linkfun", "linkinv", "mu.eta", "valideta")],
    list(
      variance = function(mu) mu + mu^2 / r,
      dev.resids = function(y, mu, wt) 2 * wt * (y * log(pmax(1, y) / mu) - (y + r) * log((y + r) / (mu + r)))
    )
  ), class = "family")
}

# Times to an event: the predictor is the logarithm of the cumulative hazard at the unit of time, and the mean time depends on the noise
# too (`mean_at`).
hazards <- function(native) {
  structure(list(family = native, link = "log hazard", linkfun = log, linkinv = exp, mu.eta = exp), class = "family")
}

# Levels in an order: the predictor is the logit of the probability of a level above the first one; further up it is less by the gaps.
proportional_odds <- function() {
  link <- stats::make.link("logit")[c("linkfun", "linkinv", "mu.eta", "valideta")]
  structure(c(list(family = "ordered", link = "logit"), link), class = "family")
}

# The response of a frame: values, trials, and the weights that are left. Proportions with weights are counts, as in `glm`.
response_of <- function(frame, asked, native, weights, formula) {
  y <- stats::model.response(frame)
  name <- deparse1(asked$response)
  if (inherits(y, "Surv") || !is.null(asked$events)) return(times_of(y, frame, asked, native, weights, formula))
  if (native == "ordered") {
    if (!is.null(asked$trials)) stop_at("an ordered response has no trials; give each trial a row", formula, name)
    return(levels_of(y, weights, formula, name))
  }
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

# The number of each row's level, and the levels from the lowest to the highest. Numbers and logicals have an order of their own.
levels_of <- function(y, weights, formula, name) {
  if (is.matrix(y)) stop_at("the response is a matrix; an ordered response is one factor", formula, name)
  if (is.character(y)) {
    stop_at("the response is text, whose levels have no order; write ordered(.., levels = c(..)), the lowest first", formula, name)
  }
  y <- droplevels(as.factor(y))
  if (anyNA(levels(y))) stop_at("a level of the response is NA; give it a name, or leave its rows out", formula, name)
  y <- plain_levels(y)
  list(y = as.double(unclass(y)), categories = levels(y), weights = weights, name = name, native = "ordered")
}

# Times to an event and whether it was seen, of `surv(time, event)` or of an object of survival's Surv().
times_of <- function(y, frame, asked, native, weights, formula) {
  name <- deparse1(asked$response)
  if (!native %in% c("weibull", "exponential")) {
    stop_at(sprintf("family %s has no times to an event; write family = \"weibull\" or \"exponential\"", native), formula, name)
  }
  if (!is.null(asked$events)) {
    event <- value_of(asked$events, frame, frame, formula)
    names <- c(name, deparse1(asked$events))
  } else {
    type <- attr(y, "type")
    if (type != "right") {
      way <- switch(type,
        counting = "; rows that enter late are not known here",
        interval = , interval2 = "; if only the interval of each event is known, a binomial(\"cloglog\") model of the intervals is a model of hazards",
        "; write Surv(time, event)"
      )
      stop_at(sprintf("Surv() is of type \"%s\", and times here are censored on the right only%s", type, way), formula, name)
    }
    event <- unclass(y)[, "status"]
    y <- unclass(y)[, "time"]
    plain <- is.call(asked$response) && length(asked$response) == 3L
    names <- if (plain) vapply(as.list(asked$response)[2:3], deparse1, "") else c(name, "(event)")
  }
  if (!is.numeric(y)) stop_at("the time holds no numbers", formula, names[1L])
  if (!is.numeric(event) && !is.logical(event)) stop_at("the event is neither a number nor a logical", formula, names[2L])
  list(y = as.double(y), events = as.double(event), weights = weights, name = names[1L], event_name = names[2L], native = native)
}
