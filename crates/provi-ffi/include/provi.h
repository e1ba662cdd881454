/* A log density for provi, from any language that can export C functions.
 *
 * Build a shared library with the three required functions and hand it over:
 *
 *     cc -O2 -shared -fPIC -o density.so density.c
 *     provi fit --library density.so
 *
 * All numbers are doubles and all arrays contiguous. A point is a row: coordinate i of point k is z[k * d + i].
 * The library never keeps a pointer past a call, and is never unloaded. The arrays for results are filled with NaN before a call: a number
 * that the call leaves unwritten stays NaN, and the point counts as outside the support. */
#ifndef PROVI_H
#define PROVI_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define PROVI_EXPORT __declspec(dllexport)
#else
#define PROVI_EXPORT __attribute__((visibility("default")))
#endif

/* The version of this file. */
#define PROVI_ABI_VERSION 1

/* ---- Required ---- */

/* Returns PROVI_ABI_VERSION. */
PROVI_EXPORT int provi_abi_version(void);

/* The number of coordinates, at least 1. `model` is what provi_open returned, or NULL if there is no provi_open. */
PROVI_EXPORT size_t provi_dim(void *model);

/* The log density and its gradient at n points of d coordinates: n * d numbers in z and gradient, n in log_density.
 *
 * Keep every constant of the density if the evidence is of interest. If a point is outside the support, or the computation
 * fails there, set its log density to -INFINITY or NAN: such points are counted, and steps are shortened before
 * them. Return 0; any other number means that the evaluation itself failed, and ends the run with provi_error's message. */
PROVI_EXPORT int provi_log_density_gradient(size_t n, size_t d, const double *z, double *log_density, double *gradient,
                                            void *model);

/* ---- Optional: leave out what you do not have ---- */

/* Makes a model from the contents of the data file, zero-terminated; `data` is NULL if no file was given. Returns NULL if it
 * fails. Without this function, data are refused. */
PROVI_EXPORT void *provi_open(const char *data);

/* Frees what provi_open made; called once for each model, also if the model is refused because of its sizes or names. */
PROVI_EXPORT void provi_close(void *model);

/* Why the last call failed: a zero-terminated text that stays readable until the next call on the same thread, or NULL.
 * `model` is NULL after a provi_open that failed. */
PROVI_EXPORT const char *provi_error(void *model);

/* Returns 1 if several threads may call at once with the same model. Without it, calls come one at a time,
 * among all such libraries of a process, and none comes from inside another. */
PROVI_EXPORT int provi_thread_safe(void *model);

/* The name of coordinate i, zero-terminated; it stays readable as long as the model. */
PROVI_EXPORT const char *provi_name(size_t i, void *model);

/* Bounds of the curvature that hold at every point: for V = -log_density,
 * convexity * I <= Hessian of V <= smoothness * I, with INFINITY for a smoothness that is not known. They are
 * declared by you, and compared with every evaluation: a certificate that rests on them says so. Returns 0 if there are any. */
PROVI_EXPORT int provi_curvature(double *convexity, double *smoothness, void *model);

/* The Hessian of the log density at z, d * d numbers. Returns 0 if it was computed. */
PROVI_EXPORT int provi_hessian(size_t d, const double *z, double *hessian, void *model);

#ifdef __cplusplus
}
#endif

#endif
