// Waiting times with an unknown rate, from a data file of numbers: rate ~ Exponential(1), each time ~ Exponential(rate), in
// the unconstrained coordinate log rate. Exceptions stay on this side of the interface.
#include <provi.h>

#include <cmath>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

struct Model {
  double count = 0.0, total = 0.0;

  explicit Model(const char *data) {
    if (data == nullptr) throw std::invalid_argument("a data file with waiting times is needed");
    std::istringstream numbers(data);
    for (double time; numbers >> time; total += time, count += 1.0) {
      if (!(time > 0.0)) throw std::invalid_argument("waiting time " + std::to_string(time) + " is not positive");
    }
    if (!numbers.eof()) throw std::invalid_argument("the data file holds something that is no number");
  }
};

thread_local std::string message;

// Runs the work; what it throws becomes provi_error's words.
template <typename Work, typename Value>
Value guarded(Value failed, Work work) {
  try {
    return work();
  } catch (const std::exception &error) {
    message = error.what();
  } catch (...) {
    message = "an exception of no known kind";
  }
  return failed;
}

}  // namespace

int provi_abi_version() { return PROVI_ABI_VERSION; }

void *provi_open(const char *data) {
  return guarded(static_cast<void *>(nullptr), [&] { return static_cast<void *>(new Model(data)); });
}

void provi_close(void *model) { delete static_cast<Model *>(model); }

const char *provi_error(void *) { return message.c_str(); }

int provi_thread_safe(void *) { return 1; }

std::size_t provi_dim(void *) { return 1; }

const char *provi_name(std::size_t, void *) { return "log_rate"; }

int provi_log_density_gradient(std::size_t n, std::size_t, const double *z, double *log_density, double *gradient,
                               void *model) {
  return guarded(1, [&] {
    const Model &data = *static_cast<const Model *>(model);
    for (std::size_t k = 0; k < n; ++k) {
      // The last z[k] is the Jacobian of rate = exp z.
      const double rate = std::exp(z[k]);
      log_density[k] = data.count * z[k] - rate * (data.total + 1.0) + z[k];
      gradient[k] = data.count - rate * (data.total + 1.0) + 1.0;
    }
    return 0;
  });
}
