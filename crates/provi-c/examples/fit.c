/* Which wells are switched? A logistic regression, its certificate, a prediction and exact draws.
 *
 *     cargo build --release -p provi-c
 *     cc -I crates/provi-c/include -o fit crates/provi-c/examples/fit.c -L target/release -lprovi_c -Wl,-rpath,target/release
 *     ./fit
 *
 * An argument names the device: ./fit cuda:0 */
#include "provi_fit.h"

#include <stdio.h>
#include <stdlib.h>

static const double arsenic[] = {2.36, 0.71, 2.07, 1.15, 1.10, 3.90, 2.97, 3.24, 3.28, 2.52, 0.54, 0.62, 0.85, 0.60, 1.91};
static const double dist[] = {16.8, 47.3, 21.0, 21.5, 40.9, 69.5, 80.7, 55.1, 52.6, 75.1, 30.5, 90.2, 62.1, 44.0, 28.3};
static const int64_t switched[] = {1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1};
enum { ROWS = 15, DRAWS = 1000 };

/* Ends the program with provi's own message, if something failed. */
static void need(int succeeded) {
    if (!succeeded) {
        fprintf(stderr, "provi: %s\n", provi_last_error());
        exit(1);
    }
}

int main(int count, char **words) {
    char options[64];
    snprintf(options, sizeof options, "{\"seed\": 1, \"device\": \"%s\"}", count > 1 ? words[1] : "auto");
    printf("provi %s, %s\n\n", provi_version(), provi_devices());

    provi_table *table = provi_table_new();
    need(provi_table_numbers(table, "arsenic", arsenic, ROWS) == 0);
    need(provi_table_numbers(table, "dist", dist, ROWS) == 0);
    need(provi_table_integers(table, "switch", switched, ROWS) == 0);
    provi_answer *answer = provi_fit_formula(table, "switch ~ arsenic + dist", options, NULL, NULL);
    need(answer != NULL);
    printf("%s\n", provi_answer_summary(answer));

    /* A new well, 30 metres away. */
    const double new_arsenic = 2.0, new_dist = 30.0;
    double mean, low, high, error;
    provi_table *well = provi_table_new();
    need(provi_table_numbers(well, "arsenic", &new_arsenic, 1) == 0);
    need(provi_table_numbers(well, "dist", &new_dist, 1) == 0);
    need(provi_answer_predict(answer, well, 0.95, 0, &mean, &low, &high, &error, 1) == 0);
    printf("switched with probability %.3f (95%%: %.3f to %.3f), proved within %.3f\n", mean, low, high, error);

    /* The slope of arsenic in draws of the posterior itself, not of the Gaussian. */
    size_t dim = provi_answer_dim(answer), positive = 0;
    double *draws = malloc(DRAWS * dim * sizeof *draws), tv;
    need(draws != NULL);
    need(provi_answer_sample_exact(answer, table, DRAWS, 2, NULL, NULL, NULL, draws, DRAWS * dim, NULL, &tv) == 0);
    for (size_t k = 0; k < DRAWS; k++) positive += draws[k * dim + 1] > 0.0;
    printf("arsenic has a positive slope in %zu of %d exact draws\n", positive, DRAWS);

    free(draws);
    provi_answer_free(answer);
    provi_table_free(well);
    provi_table_free(table);
    return 0;
}
