#' Fit a model and prove how good the answer is
#'
#' Fits a generalized linear model, with or without group terms, by Gaussian variational inference, and audits the answer. The
#' [certificate()] says how near it is to the posterior, and [summary()][summary.provi] within which distance the posterior's own
#' means and standard deviations lie from those in the table.
#'
#' @param formula A formula as for [stats::glm()], with group terms as in lme4: `(1 | g)`, `(x | g)`, `(x || g)`, `(1 | a/b)`. The
#'   response of a binomial model is binary (numbers, a logical, or a factor whose first level is failure), `cbind(successes,
#'   failures)`, `successes | trials(n)`, or a proportion whose `weights` are the trials; that of times to an event is `surv(time, event)`, with
#'   1 for an event and 0 for a row that was censored on the right, or an object of survival's `Surv()`; that of levels in an order an
#'   [ordered()] factor. `offset()` works as usual. Predictors are
#'   evaluated by [stats::model.frame()] and [stats::model.matrix()], so contrasts, `poly()`, `ns()` and `I()` mean what they mean in `glm`.
#' @param data A data frame.
#' @param family `binomial()` with a logit, probit or cloglog link, `poisson()`, `gaussian()`, `Gamma("log")`, `"exponential"`, or
#'   `"negbinomial"`, whose noise `sigma` is 1/sqrt(theta) and is integrated over; `MASS::negative.binomial(theta)` gives it. Times to an event
#'   are `"weibull"`, the default for them, or `"exponential"`: coefficients are log ratios of hazards, `sigma` is the scale of the log time, as in
#'   `survreg`, and the intercept is the log of the cumulative hazard at a unit of time near the mean time, which is printed. `"ordered"`, the
#'   default for ordered factors of three levels or more, is the model of proportional odds, as in MASS's `polr`: the linear predictor is the
#'   logit of a level above the first one, so that the intercept is minus `polr`'s first cut point, and each further cut point is a `gap` higher.
#' @param prior Priors as texts: `"normal(0, 2.5)"` for every coefficient, `"age = normal(0, 1)"` or `c(age = "normal(0, 1)")` for
#'   some (`*` stands for anything), and for scales `"sd(g) = exponential(1)"`, `"sigma = half_t(3, 10)"`, `"cor(g) = lkj(2)"`. What has no
#'   prior gets one that is weak on the scale of the data; `fit$record$prior` lists all.
#' @param weights Weights of the rows, evaluated in `data`: a row's log likelihood is multiplied by its weight. For a `gaussian`
#'   model with unknown noise this is a count of equal rows, not a precision as in `lm`.
#' @param offset A known part of the linear predictor, evaluated in `data`.
#' @param scales `"integrate"` integrates over a noise and over standard deviations between groups that are not given; `"maximise"` takes
#'   those of the largest ELBO as if they were known, as lme4 does.
#' @param accuracy A gap to prove: no Gaussian is better by more than this many nats.
#' @param subset,na.action,contrasts As in [stats::glm()]. Rows with missing values are left out, with a message.
#' @param level Probability of the intervals that `summary` shows.
#' @param seed Seed of the audit's draws. The same seed gives the same numbers, whatever the number of threads.
#' @param progress Whether to show the progress of long fits.
#' @param ... Further options of a fit, named as in Python and in the keys of a run file with `_` for `-`: `noise_sd`, `prior_scale`,
#'   `group_scale` (`"clinic=0.5"`), `standardize`, `kl`, `table_accuracy`, `threads`, `device`, `time_limit`, `method`, `family_of_q`,
#'   `audit_draws`, `failure_probability`, and so on.
#' @return An object of class `provi`. Ctrl-C stops a fit and keeps the answer so far; a second one abandons it.
#' @examples
#' fit <- provi(am ~ wt + hp, data = mtcars, family = binomial())
#' summary(fit)
#' certificate(fit)
#' predict(fit, data.frame(wt = 3, hp = 120), type = "response")
#'
#' times <- data.frame(month = c(3, 8, 5, 9, 2, 7), seen = c(1, 1, 0, 0, 1, 1), dose = c(1, 3, 2, 4, 1, 2))
#' fit <- provi(surv(month, seen) ~ dose, data = times, family = "exponential")
#' predict(fit, data.frame(dose = 2), time = 6)
#' @export
provi <- function(formula, data, family = stats::binomial(), prior = NULL, weights, offset, scales = NULL, accuracy = NULL, ...,
                  subset, na.action = stats::na.omit, contrasts = NULL, level = 0.95, seed = 0,
                  progress = interactive()) {
  call <- match.call()
  if (is.character(formula)) formula <- stats::as.formula(formula, env = parent.frame())
  if (!inherits(formula, "formula")) refuse("formula must be a formula, such as y ~ x + (1 | g)")
  if (missing(data)) data <- environment(formula)
  if (is.list(data) || is.matrix(data)) data <- as.data.frame(data)
  if (!is.data.frame(data) && !is.environment(data)) refuse("data must be a data frame")
  if (!(is.numeric(level) && length(level) == 1L && level > 0 && level < 1)) {
    refuse(sprintf("level = %s; must be between 0 and 1", deparse1(level)))
  }
  if (is.data.frame(data) && "." %in% all.vars(formula)) formula <- without_dot(formula, data)
  asked <- parsed(formula, data)
  frame <- frame_of(
    asked, data, if (!missing(weights)) substitute(weights), if (!missing(offset)) substitute(offset),
    if (!missing(subset)) substitute(subset), na.action
  )
  if (nrow(frame) == 0L) refuse("no row is left: every row has a missing value")
  left_out <- length(attr(frame, "na.action"))
  if (left_out > 0L) message(sprintf("%d row%s with missing values left out", left_out, if (left_out == 1L) "" else "s"))

  # As for the command, a time to an event says its family.
  times <- !is.null(asked$events) || inherits(stats::model.response(frame), "Surv")
  observed <- stats::model.response(frame)
  # All levels that are declared: the family does not depend on which of them a subset holds.
  declared <- tryCatch(eval(asked$response, data, environment(formula)), error = function(condition) observed)
  steps <- is.ordered(observed) && nlevels(declared) > 2L
  chosen <- family_of(if (!missing(family)) family else if (times) "weibull" else if (steps) "ordered" else family)
  given <- stats::model.weights(frame)
  if (!is.null(given) && (!is.numeric(given) || any(given < 0))) refuse("weights must be numbers that are not negative")
  response <- response_of(frame, asked, chosen$native, given, formula)
  terms <- learned_terms(asked$fixed, frame, data)
  groups <- lapply(asked$groups, function(group) {
    group$terms <- learned_terms(group$effects, frame, data)
    group$xlevels <- stats::.getXlevels(group$terms, frame)
    group
  })
  fit <- list(
    call = call, formula = formula, family = chosen$family, native = response$native, terms = terms,
    contrasts = contrasts, xlevels = stats::.getXlevels(terms, frame), groups = groups, model = frame,
    response = asked$response, trials_term = asked$trials, response_name = response$name, has_trials = !is.null(response$trials),
    event_name = response$event_name, y = response$y, categories = response$categories, events = response$events, trials = response$trials,
    prior.weights = response$weights, offset = stats::model.offset(frame),
    na.action = attr(frame, "na.action"), n = nrow(frame), level = level
  )
  parts <- matrices_of(fit, frame)
  # Those that were used, for new rows.
  fit$contrasts <- attr(parts$x, "contrasts")
  for (i in seq_along(groups)) fit$groups[[i]]$contrasts <- attr(parts$groups[[i]]$z, "contrasts")
  fit$layout <- layout_of(parts, fit)
  fit$levels <- lapply(parts$groups, function(group) levels(droplevels(group$factor)))
  columns <- own_columns(fit, parts)

  options <- list(...)
  check_options(options)
  model <- options
  model$family <- response$native
  if (!is.null(chosen$noise_sd)) {
    if (!is.null(options$noise_sd)) refuse("noise_sd and the theta of the family both say what the noise is; give one of them")
    model$noise_sd <- chosen$noise_sd
  }
  model$prior <- prior_words(prior, fit)
  model$scales <- scales
  if (!is.null(fit$prior.weights)) model$weights <- "(weights)"
  if (!is.null(fit$offset)) model$offset <- "(offset)"
  run <- options
  run$accuracy <- accuracy
  run$seed <- seed
  begun <- tryCatch(
    Run$new(native_formula(fit$layout, fit), "data", columns, model, run),
    error = function(condition) refuse(conditionMessage(condition))
  )
  answer <- carried_out(begun, formula, progress)

  fit$core <- list2env(list(answer = answer, state = answer$state()), parent = emptyenv())
  fit$record <- answer$record()
  if (is_time(fit)) fit$family <- hazards(fit$native)
  if (is.null(fit$family)) fit$family <- negative_binomial(noise_of(fit))
  fit <- named(fit)
  fit$coefficients <- stats::setNames(answer$table(level)$mean, fit$names)[seq_len(fit$record$population)]
  class(fit) <- "provi"
  fit
}

# Whether the responses are times to an event.
is_time <- function(fit) !is.null(fit$record$time_unit)

# Whether they are levels in an order.
is_ordered <- function(fit) !is.null(fit$categories)

# The levels with these numbers, as an ordered factor; responses without levels as they are.
level_names <- function(fit, numbers) {
  if (is_ordered(fit)) factor(fit$categories[numbers], fit$categories, ordered = TRUE) else numbers
}

refuse <- function(message) stop(errorCondition(message, class = "provi_error", call = NULL))

# `.` stands for every column that is neither in the response nor among the groups.
without_dot <- function(formula, data) {
  used <- c(all.vars(formula[[2L]]), unlist(lapply(bars_of(formula[[3L]]), function(bar) all.vars(bar[[3L]]))))
  rest <- setdiff(names(data), used)
  if (length(rest) == 0L) refuse("`.` stands for every other column, and there is none")
  all <- Reduce(function(a, b) call("+", a, b), lapply(rest, as.name))
  put <- function(term) {
    if (identical(term, quote(.))) return(call("(", all))
    if (is.call(term)) return(as.call(c(term[[1L]], lapply(as.list(term)[-1L], put))))
    term
  }
  formula[[3L]] <- put(formula[[3L]])
  # `(a + b)` alone needs no brackets.
  if (is.call(formula[[3L]]) && identical(formula[[3L]][[1L]], quote(`(`))) formula[[3L]] <- formula[[3L]][[2L]]
  formula
}

# All columns of the fit's own rows.
own_columns <- function(fit, parts) {
  columns <- native_columns(fit$layout, parts, fit)
  columns[[fit$layout$response]] <- level_names(fit, fit$y)
  if (fit$has_trials) columns[[fit$layout$trials]] <- fit$trials
  if (!is.null(fit$events)) columns[[fit$layout$event]] <- fit$events
  if (!is.null(fit$prior.weights)) columns[["(weights)"]] <- as.double(fit$prior.weights)
  if (!is.null(fit$offset)) columns[["(offset)"]] <- as.double(fit$offset)
  columns
}

check_options <- function(options) {
  known <- native_keywords()
  names <- names(options) %||% rep("", length(options))
  if (any(names == "")) refuse("options in `...` need their names")
  for (name in setdiff(names, known)) {
    near <- nearest(name, c(known, names(formals(provi))))
    hint <- if (is.null(near)) paste0("; the options are ", paste(known, collapse = ", ")) else sprintf("; did you mean `%s`?", near)
    refuse(sprintf("provi() has no option `%s`%s", name, hint))
  }
}

# Priors as the native half reads them: one text each, coefficients by its names.
prior_words <- function(prior, fit) {
  if (is.null(prior)) return(NULL)
  texts <- unlist(prior)
  if (!is.character(texts)) refuse("prior must be texts, such as \"normal(0, 2.5)\" or c(age = \"normal(0, 1)\")")
  names <- names(texts) %||% rep("", length(texts))
  out <- ifelse(names == "", texts, paste0(names, "=", texts))
  unname(gsub("^\\s*([^=]*[^= ])\\s*=\\s*", "\\1=", out))
}

# Waits for a run. Between two looks R sees Ctrl-C: the first one stops the run, the second one abandons it.
carried_out <- function(run, formula, progress) {
  stopped <- FALSE
  shown <- FALSE
  repeat {
    ended <- tryCatch(
      {
        while (!run$poll(0.05)) if (progress) shown <- show_progress(run$progress()) || shown
        TRUE
      },
      interrupt = function(condition) FALSE
    )
    if (ended) break
    run$stop()
    if (stopped) stop(structure(class = c("interrupt", "condition"), list(message = "interrupted", call = NULL)))
    stopped <- TRUE
    message("stopping; what there is will be kept. Ctrl-C again abandons it")
  }
  if (shown) cat("\r", strrep(" ", 78L), "\r", sep = "", file = stderr())
  failure <- run$failure()
  if (!is.null(failure)) stop_at(failure$message, formula, failure$word)
  run$take()
}

show_progress <- function(at) {
  if (is.null(at)) return(FALSE)
  gap <- if (is.na(at[4L])) "" else sprintf(", gap %.2g", at[4L])
  line <- sprintf("step %.0f of at most %.0f, ELBO %.4f%s", at[1L], at[2L], at[3L], gap)
  cat("\r", formatC(line, width = -78L), sep = "", file = stderr())
  utils::flush.console()
  TRUE
}

# The native answer; after `readRDS` it is made again from its state.
core <- function(fit) {
  alive <- tryCatch(fit$core$answer$alive() == 1L, error = function(condition) FALSE)
  if (!alive) fit$core$answer <- Answer$restore(fit$core$state$record, fit$core$state$numbers)
  fit$core$answer
}

# The names of all coefficients: R's for the population, then effects of groups as `(effect | group)[level]`.
named <- function(fit) {
  names <- fit$layout$population
  place <- length(names)
  for (i in seq_along(fit$groups)) {
    effects <- fit$layout$effects[[i]]
    levels <- fit$levels[[i]]
    count <- length(effects) * length(levels)
    fit$groups[[i]]$places <- matrix(place + seq_len(count), length(levels), length(effects), byrow = TRUE,
      dimnames = list(levels, effects))
    own <- outer(levels, effects, function(level, effect) {
      paste0("(", ifelse(effect == "(Intercept)", "1", effect), " | ", fit$groups[[i]]$label, ")[", level, "]")
    })
    names <- c(names, as.vector(t(own)))
    place <- place + count
  }
  if (length(names) != length(fit$record$names)) {
    refuse(sprintf("a bug in provi: %d names for %d coefficients", length(names), length(fit$record$names)))
  }
  fit$names <- names
  fit
}
