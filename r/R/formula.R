# From an R formula and a data frame to columns of numbers, with R's own semantics: `model.frame`, contrasts, `poly`, `ns`, interactions
# and offsets are evaluated by R. The native half gets a formula over the resulting columns.

# The group terms `(a | g)` and `(a || g)` of a right-hand side.
bars_of <- function(term) {
  if (!is.call(term)) return(list())
  if (is_bar(term)) return(list(term))
  if (identical(term[[1L]], quote(`(`))) return(bars_of(term[[2L]]))
  unlist(lapply(as.list(term)[-1L], bars_of), recursive = FALSE)
}

is_bar <- function(term) {
  is.call(term) && length(term) == 3L && (identical(term[[1L]], quote(`|`)) || identical(term[[1L]], quote(`||`)))
}

# The right-hand side without its group terms; NULL if nothing is left.
without_bars <- function(term) {
  if (is.call(term) && identical(term[[1L]], quote(`(`)) && is_bar(term[[2L]])) return(NULL)
  if (is_bar(term)) return(NULL)
  if (!is.call(term) || length(bars_of(term)) == 0L) return(term)
  parts <- lapply(as.list(term)[-1L], without_bars)
  kept <- Filter(Negate(is.null), parts)
  if (length(kept) == 0L) return(NULL)
  if (length(parts) == 1L) return(as.call(c(term[[1L]], kept)))
  if (length(kept) == 1L) {
    minus <- identical(term[[1L]], quote(`-`)) && is.null(parts[[1L]])
    return(if (minus) call("-", kept[[1L]]) else kept[[1L]])
  }
  as.call(c(term[[1L]], kept))
}

# The grouping factors of `a/b`, `a:b` and `a`: each is a list of the calls whose interaction it is.
groupings_of <- function(term) {
  if (is.call(term) && identical(term[[1L]], quote(`(`))) return(groupings_of(term[[2L]]))
  if (is.call(term) && identical(term[[1L]], quote(`/`))) {
    outer <- groupings_of(term[[2L]])
    inner <- groupings_of(term[[3L]])
    last <- outer[[length(outer)]]
    return(c(outer, lapply(inner, function(own) c(last, own))))
  }
  if (is.call(term) && identical(term[[1L]], quote(`:`))) {
    return(list(c(groupings_of(term[[2L]])[[1L]], groupings_of(term[[3L]])[[1L]])))
  }
  if (is.call(term) && identical(term[[1L]], quote(`+`))) {
    return(c(groupings_of(term[[2L]]), groupings_of(term[[3L]])))
  }
  list(list(term))
}

# What a formula asks for.
parsed <- function(formula, data) {
  if (length(formula) != 3L) {
    stop_at("the formula has no response: write it as response ~ terms", formula, deparse1(formula))
  }
  check_variables(formula, data)
  bars <- bars_of(formula[[3L]])
  rest <- without_bars(formula[[3L]])
  if (is.null(rest)) rest <- 1
  response <- formula[[2L]]
  trials <- NULL
  if (is_bar(response) && is.call(response[[3L]]) && identical(response[[3L]][[1L]], quote(trials))) {
    trials <- response[[3L]][[2L]]
    response <- response[[2L]]
  }
  events <- NULL
  if (is_call_of(response, "surv")) {
    if (length(response) != 3L) stop_at("surv() has two arguments: surv(time, event)", formula, "surv")
    events <- response[[3L]]
    response <- response[[2L]]
  } else if (is_call_of(response, "Surv") && !exists("Surv", environment(formula) %||% globalenv(), mode = "function")) {
    way <- "load it with library(survival), or write surv(time, event) with an event of 0 and 1"
    stop_at(paste("Surv() belongs to the package survival;", way), formula, "Surv")
  }
  fixed <- formula
  fixed[[2L]] <- response
  fixed[[3L]] <- rest
  groups <- list()
  for (bar in bars) {
    correlated <- identical(bar[[1L]], quote(`|`))
    for (grouping in groupings_of(bar[[3L]])) {
      effects <- stats::as.formula(call("~", bar[[2L]]), environment(formula))
      label <- paste(vapply(grouping, deparse1, ""), collapse = ":")
      groups <- c(groups, list(list(effects = effects, grouping = grouping, label = label, correlated = correlated)))
    }
  }
  list(formula = formula, fixed = fixed, response = response, trials = trials, events = events, groups = groups)
}

is_call_of <- function(term, name) is.call(term) && identical(term[[1L]], as.name(name))

# Every variable must be a column, or an object that the formula's own environment has.
check_variables <- function(formula, data) {
  known <- c(names(data), ".")
  here <- environment(formula)
  for (name in setdiff(all.vars(formula), known)) {
    value <- get0(name, envir = here %||% parent.frame())
    if (!is.null(value) && !is.function(value)) next
    near <- nearest(name, names(data))
    hint <- if (is.null(near)) "" else sprintf("; did you mean `%s`?", near)
    stop_at(
      sprintf("no column `%s` in the data%s its columns are %s", name, if (hint == "") ";" else hint, listed(names(data))),
      formula, name
    )
  }
}

listed <- function(names) {
  shown <- paste0("`", utils::head(names, 20L), "`", collapse = ", ")
  if (length(names) > 20L) paste0(shown, ", \u2026") else shown
}

nearest <- function(name, names) {
  if (length(names) == 0L) return(NULL)
  distance <- utils::adist(name, names, ignore.case = TRUE)[1L, ]
  best <- which.min(distance)
  if (distance[best] <= ceiling(nchar(name) / 3) && distance[best] < nchar(name)) names[best] else NULL
}

# An error that points into the formula, as the command does.
stop_at <- function(message, formula, word, call. = FALSE) {
  text <- paste(deparse(formula, width.cutoff = 500L), collapse = " ")
  at <- if (is.null(word)) -1L else place_of(word, text)
  if (at > 0L) {
    message <- paste0(
      message, "\n",
      sprintf("   ,-[formula:1:%d]\n", at),
      " 1 | ", text, "\n",
      "   : ", strrep(" ", at - 1L), strrep("^", max(1L, nchar(word))), "\n",
      "   `----"
    )
  }
  stop(errorCondition(message, class = "provi_error", call = NULL))
}

# Where a word stands in a text, as a word of its own if it can.
place_of <- function(word, text) {
  quoted <- gsub("([][{}()+*^$|\\\\?.])", "\\\\\\1", word)
  at <- regexpr(paste0("(?<![A-Za-z0-9._])", quoted, "(?![A-Za-z0-9._])"), text, perl = TRUE)
  if (at > 0L) at else regexpr(word, text, fixed = TRUE)
}

# The model frame of all variables: response, predictors, groups, weights and offset, with rows of missing values left out.
frame_of <- function(asked, data, weights, offset, subset = NULL, na.action = stats::na.omit) {
  all <- asked$fixed
  extra <- lapply(asked$groups, function(group) c(list(group$effects[[2L]]), group$grouping))
  extra <- unlist(extra, recursive = FALSE)
  extra <- c(extra, asked$trials, asked$events)
  for (term in extra) all[[3L]] <- call("+", all[[3L]], term)
  call <- list(quote(stats::model.frame), formula = all, data = data, na.action = na.action, drop.unused.levels = TRUE)
  if (!is.null(weights)) call$weights <- weights
  if (!is.null(offset)) call$offset <- offset
  if (!is.null(subset)) call$subset <- subset
  eval(as.call(call), environment(asked$formula))
}

# The terms of a part of the model, with the bases of `poly`, `ns` and the like as the whole frame has learned them.
learned_terms <- function(formula, frame, data) {
  terms <- stats::terms(formula, data = data)
  whole <- attr(frame, "terms")
  known <- vapply(as.list(attr(whole, "variables"))[-1L], deparse1, "")
  own <- vapply(as.list(attr(terms, "variables"))[-1L], deparse1, "")
  predvars <- as.list(attr(whole, "predvars"))[-1L][match(own, known)]
  attr(terms, "predvars") <- as.call(c(quote(list), predvars))
  attr(terms, "dataClasses") <- attr(whole, "dataClasses")[own]
  terms
}

# The matrices of a frame: X of the population; for each group the matrix of its effects and its factor.
matrices_of <- function(fit, frame, newdata = NULL) {
  terms <- stats::delete.response(fit$terms)
  x <- stats::model.matrix(terms, frame, contrasts.arg = fit$contrasts)
  groups <- lapply(fit$groups, function(group) {
    z <- stats::model.matrix(group$terms, frame, contrasts.arg = group$contrasts)
    parts <- lapply(group$grouping, function(part) as.factor(value_of(part, frame, newdata, fit$formula)))
    factor <- if (length(parts) == 1L) parts[[1L]] else interaction(parts, sep = ":", drop = TRUE, lex.order = TRUE)
    list(z = z, factor = factor)
  })
  list(x = x, groups = groups)
}

# The value of a grouping expression: a column of the frame, or evaluated in the new data.
value_of <- function(part, frame, newdata, formula) {
  name <- deparse1(part)
  if (name %in% names(frame)) return(frame[[name]])
  eval(part, newdata, environment(formula))
}

# Names that the native formula can quote, each once.
plain_names <- function(names) make.unique(trimws(gsub("`", "'", names, fixed = TRUE)), sep = "'")

# Levels that the native half can hold: it trims them, and an empty one would be a missing value.
plain_levels <- function(factor) {
  names <- trimws(levels(factor))
  names <- ifelse(names == "", "(empty)", names)
  twice <- names[duplicated(names)]
  if (length(twice)) refuse(sprintf("two levels are called \"%s\" but for blanks; give each a name of its own", twice[1L]))
  levels(factor) <- names
  factor
}

# The names of a model's columns: of the response, the predictors, and the groups.
layout_of <- function(parts, fit) {
  population <- colnames(parts$x)
  effects <- lapply(parts$groups, function(group) colnames(group$z))
  slopes <- setdiff(unlist(effects), c("(Intercept)", population))
  labels <- unique(vapply(fit$groups, `[[`, "", "label"))
  shared <- setdiff(population, "(Intercept)")
  second <- if (fit$has_trials) "(trials)" else fit$event_name
  names <- plain_names(c(fit$response_name, second, shared, slopes, labels))
  k <- 1L + length(second)
  column <- stats::setNames(names[k + seq_len(length(shared) + length(slopes))], c(shared, slopes))
  group <- stats::setNames(names[k + length(column) + seq_along(labels)], labels)
  list(
    response = names[1L], trials = if (fit$has_trials) names[2L], event = if (!is.null(fit$event_name)) names[2L],
    column = column, group = group, population = population, effects = effects
  )
}

native_formula <- function(layout, fit) {
  quoted <- function(name) paste0("`", name, "`")
  sum <- function(names) {
    intercept <- if ("(Intercept)" %in% names) "1" else "0"
    paste(c(intercept, vapply(setdiff(names, "(Intercept)"), function(name) quoted(layout$column[[name]]), "")), collapse = " + ")
  }
  response <- quoted(layout$response)
  if (fit$has_trials) response <- paste0(response, " | trials(", quoted(layout$trials), ")")
  if (is_ordered(fit)) response <- sprintf("ordered(%s)", response)
  if (!is.null(layout$event)) response <- paste0("surv(", response, ", ", quoted(layout$event), ")")
  terms <- sum(layout$population)
  for (i in seq_along(fit$groups)) {
    group <- fit$groups[[i]]
    bar <- if (group$correlated) "|" else "||"
    terms <- paste0(terms, " + (", sum(layout$effects[[i]]), " ", bar, " ", quoted(layout$group[[group$label]]), ")")
  }
  paste(response, "~", terms)
}

# The columns by the names of the native formula.
native_columns <- function(layout, parts, fit) {
  out <- list()
  take <- function(matrix) {
    for (name in setdiff(colnames(matrix), "(Intercept)")) {
      if (is.null(out[[layout$column[[name]]]])) out[[layout$column[[name]]]] <<- as.double(matrix[, name])
    }
  }
  take(parts$x)
  for (i in seq_along(parts$groups)) {
    take(parts$groups[[i]]$z)
    out[[layout$group[[fit$groups[[i]]$label]]]] <- plain_levels(parts$groups[[i]]$factor)
  }
  out
}

`%||%` <- function(a, b) if (is.null(a)) b else a
