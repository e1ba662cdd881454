/* provi for programs in C, and in every language that calls C: fits with certificates.
 *
 *     cargo build --release -p provi-c
 *     cc -I crates/provi-c/include -o fit fit.c -L target/release -lprovi_c
 *
 * Errors. A function that can fail returns an int, 0 if it succeeded and 1 if it did not, or a pointer that is NULL if it failed.
 * provi_last_error() then says what is wrong, with which values, and the way out. The results of a function that failed are not to be
 * read. An error of provi, a bug in it included, does not end the process. Two things can: memory that runs out (arrays whose size you
 * decide, draws and covariances are refused beforehand where the system says that they do not fit; smaller allocations are not), and a
 * thread of yours with too small a stack for what you do on it, your own functions included.
 *
 * Arrays. An array of results is followed by its length, and another length than the one needed is refused, before the work. Matrices
 * are stored row by row. An array of results that may be NULL is left out then.
 *
 * Texts. They are UTF-8 and end with a zero byte. provi copies every text and array that it is given. Every text that a function
 * returns belongs to provi and is not to be freed: those of an answer live as long as the answer, and those of provi_version and
 * provi_devices until the process ends. The message of provi_last_error is the thread's own: it is gone once another function fails on
 * that thread, or the thread ends. Copy what you keep, and what you hand to another thread.
 *
 * Threads. An answer never changes: any number of threads may ask it at the same time. A table is filled by one thread at a time, and
 * may be read by any number once it is full. A handle is freed once, when no function is using it. NULL may always be freed.
 *
 * Densities of yours that are not declared thread-safe share one lock in the whole process, with those of provi.h: one call of any of
 * them at a time. Fits and exact draws of them on several threads take turns, call by call. One that is started inside a call of another is an
 * error. A density that waits for another such fit waits forever: that fit waits for its turn. With "thread_safe" there is no lock.
 *
 * Functions of yours that provi calls return: no exception, no longjmp, no unwinding leaves them. Signals stay yours: provi installs no
 * handler. To let Ctrl-C stop a fit, set a flag in a handler of your own and return it from the progress function.
 *
 * Options. One JSON text; NULL for the defaults. Its keys are those of a run file, with `_` or `-`, in its tables "model", "step" and
 * "audit" or beside them. Keys about files and the command ("data", "formula", "memory", "checkpoint-every", "compiled", ...) are not among
 * them. They are the keywords of Python too, with these differences: "contrast" (Python: contrasts), "start" (init), and functions in
 * place of `progress`; "mu" is another name of "convexity". A key that is there twice is refused.
 *
 *     "{\"family\": \"poisson\", \"prior\": [\"normal(0, 2.5)\"], \"seed\": 1, \"time_limit\": 10, \"device\": \"cuda:0\"}"
 *
 * `device` chooses where log densities of many draws are taken: "auto", the default, uses a card if there is one and the table is
 * large enough; "cpu"; "cuda:0", "cuda:1", ... ask for that card. An unknown key is refused, with the ones that are known. */
#ifndef PROVI_FIT_H
#define PROVI_FIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* On Windows, define PROVI_STATIC to link the static library. */
#if defined(_WIN32) && !defined(PROVI_STATIC)
#define PROVI_API __declspec(dllimport)
#else
#define PROVI_API
#endif

/* ---- The library ---- */

/* Its version, such as "0.1.0". */
PROVI_API const char *provi_version(void);

/* One line about the cards of this machine, or why there are none: what `provi --version` prints. */
PROVI_API const char *provi_devices(void);

/* The message of the last function that failed on this thread; empty if none did. Functions that succeed leave it alone. It lives until
 * another function fails on this thread, or the thread ends. */
PROVI_API const char *provi_last_error(void);

/* ---- Tables: rows for a formula ---- */

typedef struct provi_table provi_table;

/* A table without columns, to be filled. */
PROVI_API provi_table *provi_table_new(void);

/* A table of a file: CSV, TSV, gzip or Parquet, a folder of them or a pattern. It is read when it is needed, and takes no further
 * columns. */
PROVI_API provi_table *provi_table_read(const char *path);

PROVI_API void provi_table_free(provi_table *table);

/* Each of the next four adds a column. All columns of a table have the same length. Rows with a missing value in a column of the
 * model are left out of a fit, and the summary says how many; with the option "missing": "error" they are refused. */

/* Numbers; NAN is a missing one. */
PROVI_API int provi_table_numbers(provi_table *table, const char *name, const double *values, size_t length);

/* Whole numbers; PROVI_MISSING is a missing one. */
PROVI_API int provi_table_integers(provi_table *table, const char *name, const int64_t *values, size_t length);
#define PROVI_MISSING INT64_MIN

/* Texts: categories, whose levels are sorted; NULL is a missing one. */
PROVI_API int provi_table_texts(provi_table *table, const char *name, const char *const *values, size_t length);

/* Categories by the number of their level, from 0 on; a negative number is a missing one. `ordered` is 1 if the order of the levels
 * means something, as that of ratings. */
PROVI_API int provi_table_levels(provi_table *table, const char *name, const int32_t *codes, size_t length,
                                 const char *const *levels, size_t count, int ordered);

/* The number of rows; a file is read for it. */
PROVI_API int provi_table_rows(const provi_table *table, size_t *rows);

/* ---- Fits ---- */

typedef struct provi_answer provi_answer;

/* Called by the thread that asked for the fit: once before it begins, and then about twenty times a second. The numbers are those of
 * the last step that is known: steps made, steps planned, a noisy estimate of the ELBO, and the proved bound of the gap, NAN where there
 * is none. A result other than 0 asks the fit to stop, and it need not be repeated. A fit that is stopped keeps the answer that it has:
 * that is no error, but an answer whose certificate says less (provi_answer_stopped_early). A fit that has no answer yet goes on for a
 * second, and then fails. */
typedef int (*provi_progress)(uint64_t step, uint64_t steps, double elbo, double gap, void *user);

/* Fits a formula, such as "case ~ age + dose + (1 | clinic)", to a table. `progress` may be NULL; `user` is handed to it. Options: those
 * of a model and a run. */
PROVI_API provi_answer *provi_fit_formula(const provi_table *table, const char *formula, const char *options,
                                          provi_progress progress, void *user);

/* Fits a design of rows * columns numbers, row by row, to a response for each row. A column of ones is the intercept. `names` are
 * those of the columns, or NULL. Options: those of a run, and "family", which is needed ("gaussian", "bernoulli", "probit", "cloglog",
 * "poisson", "negbinomial", "gamma" or "exponential"), "noise_sd", "prior_scale", "scales". Weights, offsets, trials, groups and other
 * families: fit a formula. The answer keeps the design, for exact draws. */
PROVI_API provi_answer *provi_fit_design(size_t rows, size_t columns, const double *design, const double *response,
                                         const char *const *names, const char *options, provi_progress progress,
                                         void *user);

/* The log density and its gradient at n points of d coordinates: n * d numbers in z and gradient, n in log_density; coordinate i of
 * point k is z[k * d + i]. As in provi.h: keep every constant of the density if the evidence is of interest; set -INFINITY or NAN
 * outside the support; return 0, or any other number to end the fit with an error. */
typedef int (*provi_density)(size_t n, size_t d, const double *z, double *log_density, double *gradient, void *user);

/* Fits a log density of `dim` coordinates. It is called by the thread that asks for the fit, unless the option "thread_safe" is true:
 * then several threads may call at once, and only then are "threads" accepted. See "Threads" above for the lock without it. `names` are
 * those of the coordinates, or NULL. Options: those of a run, and "convexity" and "smoothness": bounds of the curvature that hold at
 * every point, convexity * I <= Hessian of -log_density <= smoothness * I. They are declared by you; without convexity nothing is
 * proved. "start": where the search begins. Without "thread_safe", `progress` is called between steps and between draws of the audit, up
 * to twenty times a second. */
PROVI_API provi_answer *provi_fit_density(size_t dim, provi_density density, void *density_user,
                                          const char *const *names, const char *options, provi_progress progress,
                                          void *user);

/* ---- Answers ---- */

PROVI_API void provi_answer_free(provi_answer *answer);

/* The number of coefficients, and the name of one, counted from 0. */
PROVI_API size_t provi_answer_dim(const provi_answer *answer);
PROVI_API const char *provi_answer_name(const provi_answer *answer, size_t index);

/* Mean and covariance of the answer: of the Gaussian or, if scales are integrated over, of the mixture of Gaussians. dim numbers, and
 * dim * dim. What is proved of the posterior's own means and sds: provi_answer_posterior. A covariance of a mixture with sparse factors
 * is made anew at each call, in some dim^3 / 6 operations for each Gaussian. */
PROVI_API int provi_answer_mean(const provi_answer *answer, double *out, size_t length);
PROVI_API int provi_answer_covariance(const provi_answer *answer, double *out, size_t length);

/* On what the errors of a coefficient rest. */
enum provi_grounds {
    PROVI_UNPROVED = 0, /* nothing is proved: the errors are NAN */
    PROVI_PROVED = 1,   /* the posterior's mean and sd are within the errors */
    PROVI_DECLARED = 2, /* they are, if the curvature that you declared is right */
    PROVI_SUMMED = 3    /* they are, as far as the sum over the scales goes: that is refined until it stands still, and not proved */
};

/* A row of the table that every shell prints. Mean and sd are the posterior's own where they were measured, and the answer's elsewhere;
 * each is within its error of the posterior's. The interval is the answer's. */
typedef struct provi_coefficient {
    double mean, mean_error;
    double sd, sd_error;
    double low, high;                /* the ends of the central interval of the probability that was asked for */
    double positive, positive_error; /* the probability of being positive; its error is NAN where nothing is proved of it */
    int grounds;                     /* one of provi_grounds */
} provi_coefficient;

/* Every coefficient: `length` is dim. `level` is the probability of the intervals, such as 0.95. */
PROVI_API int provi_answer_posterior(const provi_answer *answer, double level, provi_coefficient *out, size_t length);

/* The same for a linear expression in the names of the coefficients, such as "a - b" or "0.5*a + b"; `row` is one. */
PROVI_API int provi_answer_contrast(const provi_answer *answer, const char *expression, double level,
                                    provi_coefficient *row);

/* The ELBO and how far it is off: a bound, a standard error, or the last refinement of a sum; fit.json says which. Either may be NULL. */
PROVI_API int provi_answer_elbo(const provi_answer *answer, double *value, double *error);

/* Bounds of the log evidence; -INFINITY and INFINITY where nothing is proved. Either may be NULL. */
PROVI_API int provi_answer_evidence(const provi_answer *answer, double *low, double *high);

/* Upper bounds: of KL(answer || posterior) and of the gap to the best Gaussian, in nats, INFINITY where nothing is proved; of the total
 * variation from the posterior, 1 where nothing is. Also for NULL. */
PROVI_API double provi_answer_kl(const provi_answer *answer);
PROVI_API double provi_answer_gap(const provi_answer *answer);
PROVI_API double provi_answer_tv(const provi_answer *answer);

/* 1 if anything is proved about the distance to the posterior or to the best Gaussian, and 0 if not. */
PROVI_API int provi_answer_is_certified(const provi_answer *answer);

/* 1 if the fit was stopped before its end, by the progress function or a time limit. */
PROVI_API int provi_answer_stopped_early(const provi_answer *answer);

/* The text of fit.json, which holds everything. */
PROVI_API const char *provi_answer_json(const provi_answer *answer);

/* The table, the notes and the certificate, for people. */
PROVI_API const char *provi_answer_summary(const provi_answer *answer);

/* The notes alone: what the answer is conditional on, and warnings about the data, a line each; empty if there are none. */
PROVI_API const char *provi_answer_notes(const provi_answer *answer);

/* Writes fit.json into a folder, which is made if it is not there; the command and Python read it. A folder that holds a fit is refused
 * unless `force` is 1. */
PROVI_API int provi_answer_save(const provi_answer *answer, const char *folder, int force);

/* Reads what provi_answer_save, the command or Python wrote. */
PROVI_API provi_answer *provi_answer_load(const char *folder);

/* ---- Draws ---- */

/* Independent draws of the answer, one a row: `length` is draws * dim. They are a pure function of the seed. */
PROVI_API int provi_answer_sample(const provi_answer *answer, size_t draws, uint64_t seed, double *out, size_t length);

/* The draws with the numbers first, first + 1, ... of the same list, bit for bit: a long one can be made in parts, and left off between
 * them. */
PROVI_API int provi_answer_sample_part(const provi_answer *answer, uint64_t first, size_t draws, uint64_t seed, double *out,
                                       size_t length);

/* Independent draws of the posterior itself. For the answer of a formula `table` holds the rows that it was fitted to; for that of a
 * design it is NULL. Options: "device", "threads", "time_limit", and "tv": where exact draws cost too much, draws whose law is within that
 * total variation of the posterior's. What is proved of it is written to `tv`, unless that is NULL: the rounding alone for exact draws.
 * Scales that are integrated over have no exact draws.
 *
 * `progress` hears the draws made and those asked for as steps, and may stop them, as the time limit does. Those that there are are kept:
 * `made` says how many, from the first row on, and the other rows are NAN. If `made` is NULL, fewer draws than asked for are an error.
 * Being stopped before the first draw is possible may take a second, and may be an error. */
PROVI_API int provi_answer_sample_exact(const provi_answer *answer, const provi_table *table, size_t draws, uint64_t seed,
                                        const char *options, provi_progress progress, void *user, double *out,
                                        size_t length, size_t *made, double *tv);

/* The same for a log density, which is called again: answers keep no function. The draws are of the law of `density`, which is called
 * within this function and not after it; the answer, whose coordinates it has, decides about their cost alone. Options: those above;
 * "convexity", above 0, and "smoothness" are needed, and the law rests on them; "thread_safe" as for a fit. */
PROVI_API int provi_answer_sample_exact_density(const provi_answer *answer, provi_density density, void *density_user,
                                                size_t draws, uint64_t seed, const char *options, provi_progress progress,
                                                void *user, double *out, size_t length, size_t *made, double *tv);

/* ---- Predictions ---- */

/* The mean response at each row of a table, the interval of probability `level`, and a proved bound of the error of the mean, NAN where
 * nothing is proved. Each array may be NULL; `length` is the number of rows. With `new_groups` 1 a group that the fit has not seen
 * has the spread of the groups, with 0 it is refused. Rows with missing values are refused. */
PROVI_API int provi_answer_predict(const provi_answer *answer, const provi_table *table, double level, int new_groups,
                                   double *mean, double *low, double *high, double *error, size_t length);

/* The same at the rows of a design, whose columns are the coefficients. Each array of results has `rows` numbers. */
PROVI_API int provi_answer_predict_design(const provi_answer *answer, size_t rows, size_t columns, const double *design,
                                          double level, double *mean, double *low, double *high, double *error);

/* For times to an event: the probability of each row of a table that its event comes after `time`, as provi_answer_predict has means. */
PROVI_API int provi_answer_predict_survival(const provi_answer *answer, const provi_table *table, double time, double level,
                                            int new_groups, double *mean, double *low, double *high, double *error,
                                            size_t length);

/* The standard deviation and the interval of a new response at each row of a table: the spread of the data and that of the answer
 * together. A row of a binomial model counts the successes of one trial. Each array may be NULL. */
PROVI_API int provi_answer_predict_observations(const provi_answer *answer, const provi_table *table, double level,
                                                int new_groups, double *sd, double *low, double *high, size_t length);

/* Levels of the response, for the families ordered and multinomial: their number, 0 for other families, and the name of one. */
PROVI_API size_t provi_answer_levels(const provi_answer *answer);
PROVI_API const char *provi_answer_level(const provi_answer *answer, size_t index);

/* The probability of each level at each row of a table, and its interval: `length` is rows * levels. */
PROVI_API int provi_answer_predict_levels(const provi_answer *answer, const provi_table *table, double level,
                                          int new_groups, double *mean, double *low, double *high, size_t length);

#ifdef __cplusplus
}
#endif

#endif
