/* Calls every function of provi_fit.h and prints what it hears, a line each: a name, then the values. `program.rs` compares the lines
 * with the Rust library. The first argument is a folder that may be written to. */
#include "provi_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 60, DRAWS = 5, MANY = 2000000 };

#define SPARSE "{\"family\": \"gaussian\", \"factor\": \"sparse\", \"audit_draws\": 1, \"seed\": 3}"

static double x[ROWS], w[ROWS], broken[ROWS], waited[ROWS], design[3 * ROWS], y_design[ROWS];
static int64_t y[ROWS], count[ROWS];
static int32_t group[ROWS], rating[ROWS];
static const char *town[ROWS];
static const char *const groups[] = {"north", "east", "south", "west"};
static const char *const ratings[] = {"low", "middle", "high"};
static const char *const names[] = {"one", "x", "w"};

static void data(void) {
    for (int i = 0; i < ROWS; i++) {
        x[i] = (i * 7 % 11) / 4.0;
        w[i] = (i * 5 % 13) / 8.0 - 0.5;
        y[i] = i * 3 % 7 < 3 || i % 11 == 4;
        count[i] = i * 3 % 5;
        group[i] = i * i % 4;
        town[i] = groups[i * 5 % 3];
        rating[i] = (i * 2 + i / 7) % 3;
        broken[i] = i == 3 ? NAN : x[i];
        waited[i] = x[i] + 0.5;
        design[3 * i] = 1.0;
        design[3 * i + 1] = x[i];
        design[3 * i + 2] = w[i];
        y_design[i] = (double)y[i];
    }
}

static void numbers(const char *name, const double *values, size_t length) {
    printf("%s", name);
    for (size_t i = 0; i < length; i++) printf(" %.17g", values[i]);
    printf("\n");
}

static void number(const char *name, double value) { numbers(name, &value, 1); }

/* What must fail has failed, and says so. */
static void refused(const char *name, int failed) {
    printf("%s %s\n", name, failed ? provi_last_error() : "NOT REFUSED");
}

static void need(const char *what, int succeeded) {
    if (!succeeded) {
        printf("failed %s: %s\n", what, provi_last_error());
        exit(1);
    }
}

static provi_table *full_table(void) {
    provi_table *table = provi_table_new();
    need("new", table != NULL);
    need("numbers", provi_table_numbers(table, "x", x, ROWS) == 0);
    need("numbers", provi_table_numbers(table, "w", w, ROWS) == 0);
    need("numbers", provi_table_numbers(table, "broken", broken, ROWS) == 0);
    need("integers", provi_table_integers(table, "y", y, ROWS) == 0);
    need("integers", provi_table_integers(table, "count", count, ROWS) == 0);
    need("texts", provi_table_texts(table, "town", town, ROWS) == 0);
    need("levels", provi_table_levels(table, "group", group, ROWS, groups, 4, 0) == 0);
    need("levels", provi_table_levels(table, "rating", rating, ROWS, ratings, 3, 1) == 0);
    return table;
}

/* What `stop_at_once` and `go_on` have added up of their user data. */
static int calls;

static int stop_at_once(uint64_t step, uint64_t steps, double elbo, double gap, void *user) {
    (void)step, (void)steps, (void)elbo, (void)gap;
    calls += *(int *)user;
    return 1;
}

static int go_on(uint64_t step, uint64_t steps, double elbo, double gap, void *user) {
    (void)step, (void)steps, (void)elbo, (void)gap;
    calls += *(int *)user;
    return 0;
}

/* What `stop_later` has heard last. */
static int last_step, last_steps;

static int stop_later(uint64_t step, uint64_t steps, double elbo, double gap, void *user) {
    (void)elbo, (void)gap;
    calls += *(int *)user;
    last_step = (int)step;
    last_steps = (int)steps;
    return step > 0;
}

/* A Gaussian with the means 1 and -2 and the deviations 0.5 and 2, which are handed over as `user`. */
static int gaussian(size_t n, size_t d, const double *z, double *log_density, double *gradient, void *user) {
    const double *sd = user, mean[] = {1.0, -2.0};
    for (size_t k = 0; k < n; k++) {
        log_density[k] = 0.0;
        for (size_t i = 0; i < d; i++) {
            double off = (z[k * d + i] - mean[i]) / sd[i];
            log_density[k] -= 0.5 * off * off + log(sd[i]) + 0.5 * log(2.0 * acos(-1.0));
            gradient[k * d + i] = -off / sd[i];
        }
    }
    return 0;
}

static int failing(size_t n, size_t d, const double *z, double *log_density, double *gradient, void *user) {
    (void)n, (void)d, (void)z, (void)log_density, (void)gradient, (void)user;
    return 7;
}

static void coefficient(const char *name, const provi_coefficient *row) {
    double all[] = {row->mean, row->mean_error, row->sd,       row->sd_error,       row->low,
                    row->high, row->positive,   row->positive_error, (double)row->grounds};
    numbers(name, all, 9);
}

static void show(const char *name, const provi_answer *answer) {
    char line[64];
    double mean[16], covariance[256];
    provi_coefficient rows[16];
    size_t dim = provi_answer_dim(answer);
    need("mean", provi_answer_mean(answer, mean, dim) == 0);
    need("covariance", provi_answer_covariance(answer, covariance, dim * dim) == 0);
    need("posterior", provi_answer_posterior(answer, 0.9, rows, dim) == 0);
    snprintf(line, sizeof line, "%s.mean", name);
    numbers(line, mean, dim);
    snprintf(line, sizeof line, "%s.covariance", name);
    numbers(line, covariance, dim * dim);
    printf("%s.names", name);
    for (size_t i = 0; i < dim; i++) printf(" %s", provi_answer_name(answer, i));
    printf("\n");
    for (size_t i = 0; i < dim; i++) {
        snprintf(line, sizeof line, "%s.row%zu", name, i);
        coefficient(line, &rows[i]);
    }
    double pair[2];
    need("evidence", provi_answer_evidence(answer, &pair[0], &pair[1]) == 0);
    snprintf(line, sizeof line, "%s.evidence", name);
    numbers(line, pair, 2);
    need("elbo", provi_answer_elbo(answer, &pair[0], &pair[1]) == 0);
    snprintf(line, sizeof line, "%s.elbo", name);
    numbers(line, pair, 2);
    double bounds[] = {provi_answer_kl(answer), provi_answer_gap(answer), provi_answer_tv(answer),
                       provi_answer_is_certified(answer), provi_answer_stopped_early(answer)};
    snprintf(line, sizeof line, "%s.bounds", name);
    numbers(line, bounds, 5);
}

/* The answer is a mixture with sparse factors: its covariance is that of the mixture, as its mean is. */
static void sparse_mixture(void) {
    double mean[5], covariance[25];
    provi_table *table = full_table();
    provi_answer *answer = provi_fit_formula(table, "w ~ x + (1 | town)", SPARSE, NULL, NULL);
    need("sparse", answer != NULL && provi_answer_dim(answer) == 5);
    need("mean", provi_answer_mean(answer, mean, 5) == 0);
    need("covariance", provi_answer_covariance(answer, covariance, 25) == 0);
    numbers("sparse.mean", mean, 5);
    numbers("sparse.covariance", covariance, 25);
    provi_coefficient row;
    need("contrast", provi_answer_contrast(answer, "2*x", 0.9, &row) == 0);
    coefficient("sparse.contrast", &row);
    provi_answer_free(answer);
    provi_table_free(table);
}

static void formulas(const char *folder) {
    double draws[DRAWS * 4], tv, mean[ROWS], low[ROWS], high[ROWS], error[ROWS];
    provi_table *table = full_table();
    size_t rows = 0;
    need("rows", provi_table_rows(table, &rows) == 0 && rows == ROWS);
    const char *options = "{\"family\": \"logistic\", \"prior-scale\": 2.5, \"audit_draws\": 3000, \"seed\": 3, "
                          "\"device\": \"cpu\"}";
    int one = 1;
    provi_answer *answer = provi_fit_formula(table, "y ~ x + w + (1 | town)", "{\"group_scale\": \"0.5\", \"seed\": 3}",
                                             go_on, &one);
    need("grouped fit", answer != NULL && provi_answer_dim(answer) == 6);
    printf("calls %d\n", calls > 0);
    provi_answer_free(answer);
    answer = provi_fit_formula(table, "y ~ x + w", options, NULL, NULL);
    need("formula", answer != NULL);
    show("formula", answer);
    need("sample", provi_answer_sample(answer, DRAWS, 9, draws, DRAWS * 3) == 0);
    numbers("formula.sample", draws, DRAWS * 3);
    need("exact", provi_answer_sample_exact(answer, table, DRAWS, 9, NULL, NULL, NULL, draws, DRAWS * 3, NULL, &tv) == 0);
    numbers("formula.exact", draws, DRAWS * 3);
    number("formula.tv", tv);
    need("part", provi_answer_sample_part(answer, 2, 3, 9, draws, 9) == 0);
    numbers("formula.part", draws, 9);
    refused("error.part", provi_answer_sample_part(answer, UINT64_MAX, 3, 9, draws, 9) != 0);
    refused("error.part_length", provi_answer_sample_part(answer, 0, 3, 9, draws, 8) != 0);
    refused("error.many_draws", provi_answer_sample(answer, SIZE_MAX / 2, 9, draws, 9) != 0);

    /* Draws that are stopped: those that there are are kept, if it is said where. */
    double *many = malloc(MANY * 3 * sizeof *many);
    size_t made = 0;
    int three = 3;
    need("memory", many != NULL);
    calls = 0;
    need("stopped draws", provi_answer_sample_exact(answer, table, MANY, 9, NULL, stop_later, &three, many, MANY * 3, &made, &tv) == 0);
    printf("drawn %d %d\n", made < MANY && made >= (size_t)last_step && last_step > 0, calls % 3 == 0 && calls > 0);
    size_t kept = 0;
    while (kept < MANY && !isnan(many[3 * kept])) kept++;
    printf("drawn.kept %d %d\n", kept == made, made < MANY && isnan(many[3 * MANY - 1]));
    printf("drawn.of %d\n", last_steps == MANY);
    refused("error.stopped_draws",
            provi_answer_sample_exact(answer, table, MANY, 9, NULL, stop_at_once, &three, many, MANY * 3, NULL, NULL) != 0);
    made = 0;
    need("limited draws", provi_answer_sample_exact(answer, table, MANY, 9, "{\"time_limit\": 0.01}", NULL, NULL, many, MANY * 3, &made, NULL) == 0);
    printf("limited %d\n", made < MANY);
    free(many);

    provi_coefficient row;
    need("contrast", provi_answer_contrast(answer, "x - 2*w", 0.9, &row) == 0);
    coefficient("contrast", &row);
    refused("error.contrast", provi_answer_contrast(answer, "x - ww", 0.9, &row) != 0);
    refused("error.contrast_null", provi_answer_contrast(answer, "x", 0.9, NULL) != 0);
    printf("notes %d\n", provi_answer_notes(answer) != NULL && strlen(provi_answer_notes(answer)) < 10000);
    double lower = 0.0;
    need("one of two", provi_answer_evidence(answer, &lower, NULL) == 0 && provi_answer_elbo(answer, NULL, NULL) == 0);
    number("lower", lower);
    need("observations", provi_answer_predict_observations(answer, table, 0.8, 0, mean, low, high, ROWS) == 0);
    numbers("observed.sd", mean, ROWS);
    numbers("observed.low", low, ROWS);
    numbers("observed.high", high, ROWS);
    refused("error.observed", provi_answer_predict_observations(answer, table, 0.8, 0, mean, low, high, 3) != 0);
    need("predict", provi_answer_predict(answer, table, 0.8, 0, mean, low, high, error, ROWS) == 0);
    numbers("formula.predicted", mean, ROWS);
    numbers("formula.low", low, ROWS);
    numbers("formula.high", high, ROWS);
    numbers("formula.error", error, ROWS);
    need("only the mean", provi_answer_predict(answer, table, 0.8, 0, mean, NULL, NULL, NULL, ROWS) == 0);

    need("save", provi_answer_save(answer, folder, 0) == 0);
    refused("error.exists", provi_answer_save(answer, folder, 0) != 0);
    need("save again", provi_answer_save(answer, folder, 1) == 0);
    provi_answer *loaded = provi_answer_load(folder);
    need("load", loaded != NULL);
    show("loaded", loaded);
    printf("json %d\n", strcmp(provi_answer_json(answer), provi_answer_json(loaded)) == 0);
    need("exact of a file", provi_answer_sample_exact(loaded, table, DRAWS, 9, "{\"threads\": 2}", NULL, NULL, draws, DRAWS * 3, NULL, NULL) == 0);
    numbers("loaded.exact", draws, DRAWS * 3);
    refused("error.no_table", provi_answer_sample_exact(loaded, NULL, DRAWS, 9, NULL, NULL, NULL, draws, DRAWS * 3, NULL, NULL) != 0);
    provi_answer_free(loaded);

    int two = 2;
    calls = 0;
    loaded = provi_fit_formula(table, "y ~ x + w", options, stop_at_once, &two);
    need("stopped", loaded != NULL);
    printf("stopped %d %d\n", provi_answer_stopped_early(loaded), calls);
    provi_answer_free(loaded);

    refused("error.index", provi_answer_name(answer, 3) == NULL);
    refused("error.level", provi_answer_level(answer, 0) == NULL && provi_answer_levels(answer) == 0);
    refused("error.no_levels", provi_answer_predict_levels(answer, table, 0.9, 0, mean, low, high, ROWS) != 0);
    refused("error.mean_length", provi_answer_mean(answer, mean, 2) != 0);
    refused("error.mean_null", provi_answer_mean(answer, NULL, 3) != 0);
    refused("error.draws_length", provi_answer_sample(answer, DRAWS, 1, draws, DRAWS) != 0);
    refused("error.predict_length", provi_answer_predict(answer, table, 0.8, 0, mean, low, high, error, 3) != 0);
    refused("error.probability", provi_answer_predict(answer, table, 1.8, 0, mean, low, high, error, ROWS) != 0);
    refused("error.exact_option",
            provi_answer_sample_exact(answer, table, DRAWS, 9, "{\"seed\": 1}", NULL, NULL, draws, DRAWS * 3, NULL, NULL) != 0);
    provi_answer_free(answer);

    need("missing", (answer = provi_fit_formula(table, "y ~ broken", options, NULL, NULL)) != NULL);
    printf("summary %d\n", strstr(provi_answer_summary(answer), "59 rows, 2 coefficients; 1 row with missing") != NULL);
    provi_answer_free(answer);
    refused("error.nan", provi_fit_formula(table, "y ~ broken", "{\"missing\": \"error\"}", NULL, NULL) == NULL);
    refused("error.column", provi_fit_formula(table, "y ~ xx", NULL, NULL, NULL) == NULL);
    refused("error.formula", provi_fit_formula(table, "y ~ x +", NULL, NULL, NULL) == NULL);
    refused("error.option", provi_fit_formula(table, "y ~ x", "{\"prior_scales\": 1}", NULL, NULL) == NULL);
    refused("error.twice", provi_fit_formula(table, "y ~ x", "{\"seed\": 1, \"seed\": 2}", NULL, NULL) == NULL);
    refused("error.json", provi_fit_formula(table, "y ~ x", "prior_scale = 1", NULL, NULL) == NULL);
    refused("error.device", provi_fit_formula(table, "y ~ x", "{\"device\": \"cuda:77\"}", NULL, NULL) == NULL);
    refused("error.gpu", provi_fit_formula(table, "y ~ x", "{\"device\": \"gpu\"}", NULL, NULL) == NULL);
    refused("error.null_table", provi_fit_formula(NULL, "y ~ x", NULL, NULL, NULL) == NULL);
    refused("error.null_formula", provi_fit_formula(table, NULL, NULL, NULL, NULL) == NULL);
    refused("error.utf8", provi_fit_formula(table, "y ~ gr\xf6\xdf" "e", NULL, NULL, NULL) == NULL);
    refused("error.length", provi_table_numbers(table, "short", x, 3) != 0);
    refused("error.null_values", provi_table_numbers(table, "none", NULL, ROWS) != 0);
    refused("error.null_name", provi_table_numbers(table, NULL, x, ROWS) != 0);
    refused("error.code", provi_table_levels(table, "codes", rating, ROWS, ratings, 2, 0) != 0);
    refused("error.load", provi_answer_load("no such folder") == NULL);
    refused("error.null_answer", provi_answer_dim(NULL) == 0);
    provi_table *empty = provi_table_new();
    refused("error.empty", provi_fit_formula(empty, "y ~ x", NULL, NULL, NULL) == NULL);
    provi_table_free(empty);

    double probabilities[3 * ROWS];
    need("ordered", (answer = provi_fit_formula(table, "ordered(rating) ~ x", "{\"audit_draws\": 1}", NULL, NULL)) != NULL);
    need("levels", provi_answer_levels(answer) == 3);
    printf("levels %s %s %s\n", provi_answer_level(answer, 0), provi_answer_level(answer, 1), provi_answer_level(answer, 2));
    need("levels", provi_answer_predict_levels(answer, table, 0.9, 0, probabilities, NULL, NULL, 3 * ROWS) == 0);
    number("levels.sum", probabilities[0] + probabilities[1] + probabilities[2]);
    refused("error.integrated",
            provi_answer_sample_exact(answer, table, DRAWS, 9, NULL, NULL, NULL, draws,
                                      DRAWS * provi_answer_dim(answer), NULL, NULL) != 0);
    provi_answer_free(answer);
    need("times", provi_table_numbers(table, "waited", waited, ROWS) == 0);
    need("survival", (answer = provi_fit_formula(table, "surv(waited, y) ~ x", "{\"family\": \"exponential\", \"audit_draws\": 1000}",
                                                 NULL, NULL)) != NULL);
    need("survival", provi_answer_predict_survival(answer, table, 1.5, 0.9, 0, mean, low, high, error, ROWS) == 0);
    numbers("survival", mean, ROWS);
    numbers("survival.error", error, ROWS);
    refused("error.time", provi_answer_predict_survival(answer, table, -1.0, 0.9, 0, mean, low, high, error, ROWS) != 0);
    provi_answer_free(answer);
    need("multinomial",
         (answer = provi_fit_formula(table, "multinomial(town) ~ x", "{\"audit_draws\": 1}", NULL, NULL)) != NULL);
    refused("error.levels", provi_answer_predict(answer, table, 0.8, 0, mean, low, high, error, ROWS) != 0);
    provi_answer_free(answer);
    provi_table_free(table);
}

static void designs(void) {
    double draws[DRAWS * 3], tv, mean[ROWS], low[ROWS], high[ROWS], error[ROWS];
    const char *options = "{\"family\": \"bernoulli\", \"audit_draws\": 3000}";
    provi_answer *answer = provi_fit_design(ROWS, 3, design, y_design, names, options, NULL, NULL);
    need("design", answer != NULL);
    show("design", answer);
    need("exact", provi_answer_sample_exact(answer, NULL, DRAWS, 4, "{\"device\": \"auto\"}", NULL, NULL, draws, DRAWS * 3, NULL, &tv) == 0);
    numbers("design.exact", draws, DRAWS * 3);
    need("predict", provi_answer_predict_design(answer, ROWS, 3, design, 0.95, mean, low, high, error) == 0);
    numbers("design.predicted", mean, ROWS);
    refused("error.columns", provi_answer_predict_design(answer, ROWS, 2, design, 0.95, mean, low, high, error) != 0);
    provi_table *table = full_table();
    refused("error.stray_table", provi_answer_sample_exact(answer, table, DRAWS, 4, NULL, NULL, NULL, draws, DRAWS * 3, NULL, NULL) != 0);
    refused("error.not_of_formula", provi_answer_predict(answer, table, 0.9, 0, mean, low, high, error, ROWS) != 0);
    provi_table_free(table);
    provi_answer_free(answer);

    answer = provi_fit_design(ROWS, 3, design, w, NULL, "{\"family\": \"gaussian\", \"audit_draws\": 1}", NULL, NULL);
    need("unknown noise", answer != NULL);
    provi_coefficient rows[3];
    need("rows", provi_answer_posterior(answer, 0.95, rows, 3) == 0);
    printf("noise %d %s\n", rows[1].grounds == PROVI_SUMMED, provi_answer_name(answer, 1));
    provi_answer_free(answer);

    refused("error.family", provi_fit_design(ROWS, 3, design, y_design, NULL, NULL, NULL, NULL) == NULL);
    refused("error.response", provi_fit_design(ROWS, 3, design, x, NULL, options, NULL, NULL) == NULL);
    design[4] = NAN;
    refused("error.design_nan", provi_fit_design(ROWS, 3, design, y_design, NULL, options, NULL, NULL) == NULL);
    design[4] = x[1];
    refused("error.design_null", provi_fit_design(ROWS, 3, NULL, y_design, NULL, options, NULL, NULL) == NULL);
    refused("error.huge", provi_fit_design(SIZE_MAX / 2, 3, design, y_design, NULL, options, NULL, NULL) == NULL);
    const char *short_names[] = {"one", NULL, "w"};
    refused("error.null_text", provi_fit_design(ROWS, 3, design, y_design, short_names, options, NULL, NULL) == NULL);
}

static void densities(void) {
    double sd[] = {0.5, 2.0}, draws[4];
    const char *const of_two[] = {"left", "right"};
    const char *declared = "{\"convexity\": 0.25, \"smoothness\": 4, \"audit_draws\": 2000}";
    int one = 1;
    provi_answer *answer = provi_fit_density(2, gaussian, sd, of_two, declared, go_on, &one);
    need("density", answer != NULL);
    show("density", answer);
    double drawn[400], again[400], tv;
    size_t made = 0;
    const char *safe = "{\"mu\": 0.25, \"smoothness\": 4, \"thread_safe\": true, \"threads\": 2}";
    calls = 0;
    need("exact", provi_answer_sample_exact_density(answer, gaussian, sd, 200, 7, "{\"convexity\": 0.25, \"smoothness\": 4}", go_on,
                                                    &one, drawn, 400, &made, &tv) == 0);
    printf("density.exact %d %d\n", (int)made, calls > 0);
    numbers("density.drawn", drawn, 400);
    number("density.tv", tv);
    need("exact", provi_answer_sample_exact_density(answer, gaussian, sd, 200, 7, safe, NULL, NULL, again, 400, NULL, NULL) == 0);
    printf("density.same %d\n", memcmp(drawn, again, sizeof drawn) == 0);
    calls = 0;
    double *many = malloc(2 * MANY * sizeof *many);
    need("memory", many != NULL);
    need("exact", provi_answer_sample_exact_density(answer, gaussian, sd, MANY, 7, "{\"mu\": 0.25, \"smoothness\": 4}", stop_later,
                                                    &one, many, 2 * MANY, &made, NULL) == 0);
    printf("density.halted %d %d\n", made < MANY && made > 0, memcmp(drawn, many, 2 * (made < 200 ? made : 200) * sizeof *many) == 0);
    free(many);
    refused("error.no_curvature", provi_answer_sample_exact_density(answer, gaussian, sd, 2, 1, "{\"convexity\": 0.25}", NULL, NULL,
                                                                    draws, 4, NULL, NULL) != 0);
    refused("error.exact_failing", provi_answer_sample_exact_density(answer, failing, NULL, 2, 1, safe, NULL, NULL, draws, 4, NULL,
                                                                     NULL) != 0);
    refused("error.density_exact", provi_answer_sample_exact(answer, NULL, 2, 1, NULL, NULL, NULL, draws, 4, NULL, NULL) != 0);
    provi_answer_free(answer);
    answer = provi_fit_density(2, gaussian, sd, NULL, "{\"thread_safe\": true, \"threads\": 2, \"start\": [3, 3]}", NULL, NULL);
    need("undeclared", answer != NULL);
    show("undeclared", answer);
    provi_answer_free(answer);
    calls = 0;
    answer = provi_fit_density(2, gaussian, sd, of_two, declared, stop_at_once, &one);
    printf("density.stopped %d %s\n", answer == NULL ? -1 : provi_answer_stopped_early(answer), answer == NULL ? provi_last_error() : "");
    provi_answer_free(answer);
    refused("error.failing", provi_fit_density(2, failing, NULL, NULL, NULL, NULL, NULL) == NULL);
    refused("error.null_density", provi_fit_density(2, NULL, NULL, NULL, NULL, NULL, NULL) == NULL);
    refused("error.one_thread", provi_fit_density(2, gaussian, sd, NULL, "{\"threads\": 2}", NULL, NULL) == NULL);
    /* Names are not read before their number is looked at. */
    refused("error.many", provi_fit_density(SIZE_MAX / 32, gaussian, sd, of_two, NULL, NULL, NULL) == NULL);
    refused("error.dim", provi_fit_density(0, gaussian, sd, NULL, NULL, NULL, NULL) == NULL);
    refused("error.convexity", provi_fit_density(2, gaussian, sd, NULL, "{\"smoothness\": 4}", NULL, NULL) == NULL);
    refused("error.start", provi_fit_density(2, gaussian, sd, NULL, "{\"start\": [1]}", NULL, NULL) == NULL);
}

int main(int arguments, char **words) {
    need("a folder", arguments == 2);
    data();
    printf("version %s\n", provi_version());
    printf("devices %s\n", provi_devices());
    printf("silence [%s]\n", provi_last_error());
    formulas(words[1]);
    sparse_mixture();
    designs();
    densities();
    provi_table_free(NULL);
    provi_answer_free(NULL);
    printf("end\n");
    return 0;
}
