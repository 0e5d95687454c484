# Shares from reports, in base R: reads a mechanism file of extremal and estimates how common each answer is.
#
#   source("extremal.R")
#   mechanism <- read_mechanism("mechanism.json")
#   estimate_shares(mechanism, read.csv("private.csv")$party)
#
# or in a shell:  Rscript extremal.R mechanism.json private.csv party [shares.csv]
#
# The estimates, standard errors and intervals are those of Python's
#   ex.estimate(mechanism, reports, method="inverse").
#
# With the package survey, from any design of it:
#   svy_shares(svydesign(~village, weights = ~weight, data = private), ~party, mechanism)
#
# Weights are rounded to doubles and the promise of the file is checked in doubles. For the exact proof load the file with
# the Python library, or with extremal.js. Reports are not drawn here: R has no cryptographic generator.

# JSON. Objects become named lists, arrays lists, numbers stay text so that nothing is rounded on the way.
parse_json <- function(text) {
  pattern <- paste0('"(?:[^"\\\\\\x00-\\x1f]|\\\\(?:["\\\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?',
                    '(?:[eE][+-]?[0-9]+)?|true|false|null|[][{}:,]')
  tokens <- regmatches(text, gregexpr(pattern, text, perl = TRUE))[[1]]
  # What is neither a token nor white space must not be there.
  rest <- gsub(pattern, "", text, perl = TRUE)
  if (!grepl("^[ \t\r\n]*$", rest)) stop("not JSON: unexpected characters", call. = FALSE)
  at <- 0L
  take <- function(expected = NULL) {
    at <<- at + 1L
    if (at > length(tokens)) stop("not JSON: it ends too early", call. = FALSE)
    token <- tokens[[at]]
    if (!is.null(expected) && token != expected) stop(sprintf("not JSON: '%s' expected", expected), call. = FALSE)
    token
  }
  look <- function() if (at < length(tokens)) tokens[[at + 1L]] else ""
  value <- function(depth) {
    if (depth > 32L) stop("not a mechanism file: nested too deeply", call. = FALSE)
    token <- take()
    first <- substr(token, 1L, 1L)
    if (first == "{") return(members(depth))
    if (first == "[") {
      items <- list()
      if (look() == "]") { take(); return(items) }
      repeat {
        items[length(items) + 1L] <- list(value(depth + 1L))
        if (look() == "]") { take(); return(items) }
        take(",")
      }
    }
    if (first == '"') return(json_string(token))
    if (token %in% c("true", "false")) return(token == "true")
    if (token == "null") return(NULL)
    if (grepl("^[-0-9]", token)) return(structure(token, class = "json_number"))
    stop("not JSON", call. = FALSE)
  }
  members <- function(depth) {
    found <- list()
    if (look() == "}") { take(); return(found) }
    repeat {
      name <- json_string(take())
      if (name %in% names(found)) stop(sprintf("'%s' occurs twice", name), call. = FALSE)
      take(":")
      found[name] <- list(value(depth + 1L))
      if (look() == "}") { take(); return(found) }
      take(",")
    }
  }
  result <- value(0L)
  if (at != length(tokens)) stop("not JSON: something follows its end", call. = FALSE)
  result
}

json_string <- function(token) {
  if (substr(token, 1L, 1L) != '"') stop("not JSON: a text expected", call. = FALSE)
  text <- substr(token, 2L, nchar(token) - 1L)
  if (!grepl("\\", text, fixed = TRUE)) return(text)
  escapes <- c(b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", "\"" = "\"", "\\" = "\\", "/" = "/")
  parts <- regmatches(text, gregexpr("\\\\u[0-9a-fA-F]{4}|\\\\.|[^\\\\]+", text, perl = TRUE))[[1]]
  result <- character(); high <- NULL
  for (part in parts) {
    if (startsWith(part, "\\u")) {
      code <- strtoi(substr(part, 3L, 6L), 16L)
      if (code >= 0xD800L && code < 0xDC00L) { high <- code; next }
      if (!is.null(high)) code <- 0x10000L + (high - 0xD800L) * 0x400L + (code - 0xDC00L)
      high <- NULL
      part <- intToUtf8(code)
    } else if (startsWith(part, "\\")) {
      part <- escapes[[substr(part, 2L, 2L)]]
    }
    result <- c(result, part)
  }
  paste(result, collapse = "")
}

# A label as text, the way it stands in a CSV file.
label_text <- function(label) {
  if (is.character(label)) return(enc2utf8(unclass(label)))
  if (is.logical(label)) return(if (label) "True" else "False")
  if (!is.null(names(label))) return(as.character(label[[1L]])) # {"int": "…"} or {"float": "…"}
  paste(vapply(label, label_text, ""), collapse = ", ") # answers to several questions at once
}

refuse <- function(...) stop("the mechanism file is refused: ", ..., call. = FALSE)

read_mechanism <- function(path) {
  if (!file.exists(path)) stop(sprintf("there is no file %s", path), call. = FALSE)
  text <- readChar(path, file.size(path), useBytes = TRUE)
  Encoding(text) <- "UTF-8"
  document <- parse_json(text)
  if (!identical(document$format, "extremal-mechanism")) refuse("it is another kind of file")
  if (!identical(unclass(document$version), "2")) refuse("its version must be 2; for others use Python")
  if (!identical(unclass(document$bits), "62")) refuse("its bits must be 62")
  inputs <- vapply(document$inputs, label_text, "")
  outputs <- vapply(document$outputs, label_text, "")
  if (anyDuplicated(inputs) || anyDuplicated(outputs)) refuse("two labels read alike as text")
  prior <- vapply(document$prior, as.numeric, 0)
  epsilon <- suppressWarnings(as.numeric(document$epsilon))
  if (length(epsilon) != 1L || !is.finite(epsilon) || epsilon < 0) refuse("its epsilon is none")
  if (length(prior) != length(inputs) || any(!(prior > 0)) || abs(sum(prior) - 1) > 1e-9) refuse("its prior is none")
  if (length(document$weights) != length(outputs)) refuse("there must be one column of weights for each report")
  P <- vapply(document$weights, weight_column, numeric(length(inputs)), n = length(inputs)) / 2^62
  P <- matrix(P, length(inputs), length(outputs), dimnames = list(inputs, outputs))
  if (any(abs(rowSums(P) - 1) > 1e-12)) refuse("the weights of an answer must sum to 2^62")
  possible <- apply(P, 2, max) > 0
  lift <- apply(P, 2, max)[possible] / as.vector(prior %*% P)[possible]
  if (is.null(document$prior_set) && any(log(lift) > epsilon + 1e-9)) refuse("it leaks more than its epsilon")
  structure(list(inputs = inputs, outputs = outputs, prior = prior, epsilon = epsilon, matrix = P,
                 digest = document$digest), class = "extremal_mechanism")
}

weight_column <- function(runs, n) {
  column <- numeric(n)
  for (run in runs) {
    weight <- suppressWarnings(as.numeric(run[[1L]]))
    if (!isTRUE(weight > 0 && weight <= 2^62)) refuse("a weight that is none")
    for (part in strsplit(run[[2L]], ",", fixed = TRUE)[[1L]]) {
      if (!grepl("^[0-9]{1,9}(-[0-9]{1,9})?$", part)) refuse("a row that does not exist")
      ends <- range(as.integer(strsplit(part, "-", fixed = TRUE)[[1L]]))
      if (ends[[2L]] >= n) refuse("a row that does not exist")
      rows <- seq(ends[[1L]], ends[[2L]]) + 1L
      if (any(column[rows] > 0)) refuse("a row that has two weights")
      column[rows] <- weight
    }
  }
  column
}

print.extremal_mechanism <- function(x, ...) {
  cat(sprintf("%d answers, %d reports, epsilon %g: a report makes no guess more than %.2f times as likely to be right\n",
              length(x$inputs), length(x$outputs), x$epsilon, exp(x$epsilon)))
  invisible(x)
}

# The place of each report among those of the mechanism. Numbers count whatever their type: 7 and "7" are one report.
report_places <- function(mechanism, reports) {
  places <- match(enc2utf8(as.character(reports)), mechanism$outputs)
  if (anyNA(places)) {
    stop(sprintf("%d of %d reports are none of this mechanism; is it the right file?", sum(is.na(places)),
                 length(places)), call. = FALSE)
  }
  places
}

# The unbiased weights of least variance if the prior were true: W with W %*% shares of reports = shares of answers.
linear_map <- function(mechanism) {
  expected <- mechanism$prior / sum(mechanism$prior)
  possible <- apply(mechanism$matrix, 2, max) > 0
  P <- mechanism$matrix[, possible, drop = FALSE]
  outputs <- as.vector(expected %*% P)
  scaled <- sqrt(expected) * P %*% diag(1 / sqrt(outputs), length(outputs))
  parts <- svd(scaled)
  kept <- parts$d > 1e-9
  U <- parts$u[, kept, drop = FALSE]
  V <- parts$v[, kept, drop = FALSE]
  W <- (sqrt(expected) * U) %*% diag(1 / parts$d[kept], sum(kept)) %*% t(V) %*% diag(1 / sqrt(outputs), length(outputs))
  lost <- diag(sqrt(expected), length(expected)) - (sqrt(expected) * U) %*% t(U)
  list(W = W, expected = expected, possible = possible,
       identified = apply(abs(lost), 1, max) <= 1e-7 * sqrt(expected) + 1e-14)
}

# Shares of the answers from reports in a column of a design of the package survey: svymean of the reports, then the
# linear map. So every design of that package works, with weights, strata, clusters, calibration or replicates, and the
# result is one of its own: coef, SE, vcov and confint take it. An answer that the reports do not determine is NA.
svy_shares <- function(design, column, mechanism, na.rm = FALSE) {
  if (!requireNamespace("survey", quietly = TRUE)) stop("svy_shares needs the package survey", call. = FALSE)
  if (!inherits(column, "formula") || length(all.vars(column)) != 1L) {
    stop("name one column of reports as a formula, such as ~party", call. = FALSE)
  }
  reports <- stats::model.frame(column, design$variables, na.action = stats::na.pass)[[1L]]
  given <- !is.na(reports)
  if (!all(given) && !na.rm) stop(sprintf("%d of %d reports are missing; na.rm = TRUE leaves them out", sum(!given),
                                          length(given)), call. = FALSE)
  places <- rep(NA_integer_, length(reports))
  places[given] <- report_places(mechanism, as.character(reports[given]))
  map <- linear_map(mechanism)
  if (any(!map$possible[places[given]])) stop("a report that no answer gives; is it the right file?", call. = FALSE)
  names <- paste0(".report", seq_along(mechanism$outputs))
  indicators <- lapply(seq_along(names), function(k) as.numeric(places == k))
  design$variables[names] <- indicators
  found <- survey::svymean(stats::reformulate(names[map$possible]), design, na.rm = na.rm)
  shares <- as.vector(map$W %*% stats::coef(found))
  errors <- map$W %*% stats::vcov(found) %*% t(map$W)
  shares[!map$identified] <- NA
  errors[!map$identified, ] <- NA
  errors[, !map$identified] <- NA
  dimnames(errors) <- list(mechanism$inputs, mechanism$inputs)
  structure(stats::setNames(shares, mechanism$inputs), var = errors, statistic = "share", class = "svystat")
}

# Shares with standard errors and ordinary intervals, each of which holds with about the confidence.
# An answer that the reports do not determine has the estimate NA.
estimate_shares <- function(mechanism, reports, confidence = 0.95) {
  if (!(confidence > 0 && confidence < 1)) stop("confidence must be between 0 and 1", call. = FALSE)
  places <- report_places(mechanism, reports)
  if (!length(places)) stop("there are no reports", call. = FALSE)
  n <- length(places)
  counts <- tabulate(places, length(mechanism$outputs))
  map <- linear_map(mechanism)
  if (any(counts[!map$possible] > 0)) stop("a report that no answer gives; is it the right file?", call. = FALSE)
  P <- mechanism$matrix[, map$possible, drop = FALSE]
  W <- map$W
  expected <- map$expected
  report_shares <- counts[map$possible] / n
  found <- as.vector(W %*% report_shares)
  errors <- sqrt(pmax(as.vector(W^2 %*% report_shares) - found^2, 0) / n)
  bounds <- score_intervals(W, P, found, pmax(found, 0) / sum(pmax(found, 0)), expected, n, qnorm((1 + confidence) / 2))
  table <- data.frame(answer = mechanism$inputs, share = found, lower = bounds[1, ], upper = bounds[2, ],
                      standard_error = errors, stringsAsFactors = FALSE)
  table[!map$identified, c("share", "standard_error")] <- NA
  table[!map$identified, "lower"] <- 0
  table[!map$identified, "upper"] <- 1
  table
}

# Wilson's interval with the mechanism's noise: n (found - t)^2 <= z^2 (a + (b - a) t - t^2), solved for t.
score_intervals <- function(W, P, found, theta, expected, n, z) {
  vapply(seq_along(found), function(k) {
    inside <- as.vector(P[k, ])
    others <- if (sum(theta[-k]) > 0) theta[-k] / sum(theta[-k]) else expected[-k] / sum(expected[-k])
    outside <- as.vector(others %*% P[-k, , drop = FALSE])
    a <- sum(outside * W[k, ]^2)
    b <- sum(inside * W[k, ]^2)
    center <- min(max(found[[k]], 0), 1)
    half <- n * center + z^2 * (b - a) / 2
    root <- sqrt(max(half^2 - (n + z^2) * (n * center^2 - z^2 * a), 0))
    pmin(pmax(c(half - root, half + root) / (n + z^2), 0), 1)
  }, numeric(2))
}

write_shares <- function(table, path) {
  quoted <- paste0('"', gsub('"', '""', table$answer, fixed = TRUE), '"')
  number <- function(x) ifelse(is.na(x), "", sprintf("%.17g", x))
  lines <- c("answer,share,lower,upper,standard_error",
             paste(quoted, number(table$share), number(table$lower), number(table$upper), number(table$standard_error),
                   sep = ","))
  connection <- file(path, "wb")
  on.exit(close(connection))
  writeLines(enc2utf8(lines), connection, useBytes = TRUE)
}

main <- function(arguments) {
  if (!length(arguments) %in% 3:4) {
    stop("usage: Rscript extremal.R MECHANISM REPORTS.csv COLUMN [SHARES.csv]", call. = FALSE)
  }
  mechanism <- read_mechanism(arguments[[1L]])
  data <- read.csv(arguments[[2L]], colClasses = "character", check.names = FALSE, na.strings = character(),
                   encoding = "UTF-8")
  if (!arguments[[3L]] %in% names(data)) stop(sprintf("there is no column '%s'", arguments[[3L]]), call. = FALSE)
  table <- estimate_shares(mechanism, data[[arguments[[3L]]]])
  if (length(arguments) == 4L) write_shares(table, arguments[[4L]])
  print(mechanism)
  print(table, digits = 4, row.names = FALSE)
}

if (sys.nframe() == 0L && !interactive()) main(commandArgs(trailingOnly = TRUE))
