/* Two coordinates, N((1, -2), diag(1, 1/4)), with every constant: what provi.h asks for, and a little more. */
#include <math.h>
#include <provi.h>

int provi_abi_version(void) { return PROVI_ABI_VERSION; }

size_t provi_dim(void *model) {
  (void)model;
  return 2;
}

int provi_log_density_gradient(size_t n, size_t d, const double *z, double *log_density, double *gradient, void *model) {
  const double log_2pi = 1.8378770664093454836;
  (void)model;
  for (size_t k = 0; k < n; ++k, z += d, gradient += d) {
    const double a = z[0] - 1.0, b = z[1] + 2.0;
    gradient[0] = -a;
    gradient[1] = -4.0 * b;
    log_density[k] = -0.5 * a * a - 2.0 * b * b - log_2pi + log(2.0);
  }
  return 0;
}

/* No state: several threads may call at once. */
int provi_thread_safe(void *model) {
  (void)model;
  return 1;
}

const char *provi_name(size_t i, void *model) {
  (void)model;
  return i == 0 ? "left" : "right";
}

/* The Hessian of V is diag(1, 4) everywhere. */
int provi_curvature(double *convexity, double *smoothness, void *model) {
  (void)model;
  *convexity = 1.0;
  *smoothness = 4.0;
  return 0;
}
