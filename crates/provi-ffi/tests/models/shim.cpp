// The BridgeStan C interface over a model that stanc has translated.
//
// Written for tests from the public header of BridgeStan 2 (BSD-3-Clause, https://github.com/roualdes/bridgestan), so that
// genuine Stan models can be compiled from any package that carries stanc and Stan's headers. It holds what provi calls.

#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include <stan/io/empty_var_context.hpp>
#include <stan/io/json/json_data.hpp>
#include <stan/math.hpp>
#include <stan/model/model_base.hpp>
#include <stan/services/util/create_rng.hpp>
#include <stan/version.hpp>

#define EXPORTED extern "C" __attribute__((visibility("default")))

// Defined by the translated model.
stan::model::model_base& new_model(stan::io::var_context& data, unsigned int seed, std::ostream* messages);

namespace {

using Vector = Eigen::VectorXd;

char* copied(const std::string& text) {
  char* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out != nullptr) std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

// Runs a piece of work; an exception becomes a message and a code.
template <typename Work>
int guarded(char** message, Work work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    if (message != nullptr) *message = copied(error.what());
  } catch (...) {
    if (message != nullptr) *message = copied("an exception that is no std::exception");
  }
  return -1;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out;
}

}  // namespace

struct bs_model {
  stan::model::model_base* model;
  std::string name, info, unconstrained;
  std::string names[4];

  bs_model(const char* data, unsigned int seed) {
    const std::string text(data == nullptr ? "" : data);
    if (text.empty()) {
      stan::io::empty_var_context nothing;
      model = &new_model(nothing, seed, nullptr);
    } else {
      std::istringstream stream(text);
      stan::json::json_data json(stream);
      model = &new_model(json, seed, nullptr);
    }
    name = model->model_name();
    info = "Stan version: " + stan::MAJOR_VERSION + "." + stan::MINOR_VERSION + "." + stan::PATCH_VERSION;
#ifdef STAN_THREADS
    info += "\nStan C++ Defines:\n\tSTAN_THREADS=true\n";
#else
    info += "\nStan C++ Defines:\n\tSTAN_THREADS=false\n";
#endif
    std::vector<std::string> words;
    model->unconstrained_param_names(words, false, false);
    unconstrained = joined(words);
    for (int which = 0; which < 4; ++which) {
      words.clear();
      model->constrained_param_names(words, which & 1, which & 2);
      names[which] = joined(words);
    }
  }
  ~bs_model() { delete model; }

  template <typename Scalar>
  Scalar density(bool propto, bool jacobian, Eigen::Matrix<Scalar, -1, 1>& point) const {
    if (propto) return jacobian ? model->log_prob_propto_jacobian(point, nullptr) : model->log_prob_propto(point, nullptr);
    return jacobian ? model->log_prob_jacobian(point, nullptr) : model->log_prob(point, nullptr);
  }
};

struct bs_rng {
  stan::rng_t generator;
};

EXPORTED const int bs_major_version;
EXPORTED const int bs_minor_version;
EXPORTED const int bs_patch_version;
const int bs_major_version = 2;
const int bs_minor_version = 9;
const int bs_patch_version = 0;

EXPORTED bs_model* bs_model_construct(const char* data, unsigned int seed, char** message) {
  bs_model* out = nullptr;
  guarded(message, [&] { out = new bs_model(data, seed); });
  return out;
}

EXPORTED void bs_model_destruct(bs_model* m) { delete m; }

EXPORTED void bs_free_error_msg(char* message) { std::free(message); }

EXPORTED const char* bs_name(const bs_model* m) { return m->name.c_str(); }

EXPORTED const char* bs_model_info(const bs_model* m) { return m->info.c_str(); }

EXPORTED const char* bs_param_names(const bs_model* m, bool tp, bool gq) { return m->names[tp + 2 * gq].c_str(); }

EXPORTED const char* bs_param_unc_names(const bs_model* m) { return m->unconstrained.c_str(); }

EXPORTED int bs_param_num(const bs_model* m, bool tp, bool gq) {
  std::vector<std::string> words;
  m->model->constrained_param_names(words, tp, gq);
  return static_cast<int>(words.size());
}

EXPORTED int bs_param_unc_num(const bs_model* m) { return static_cast<int>(m->model->num_params_r()); }

EXPORTED int bs_param_constrain(const bs_model* m, bool tp, bool gq, const double* free, double* out, bs_rng* rng,
                                char** message) {
  return guarded(message, [&] {
    if (gq && rng == nullptr) throw std::invalid_argument("generated quantities need a random number generator");
    stan::rng_t unused(0, 1, 0, 0);
    Vector point = Eigen::Map<const Vector>(free, m->model->num_params_r());
    Vector values;
    m->model->write_array(rng == nullptr ? unused : rng->generator, point, values, tp, gq, nullptr);
    Vector::Map(out, values.size()) = values;
  });
}

EXPORTED int bs_param_unconstrain_json(const bs_model* m, const char* json, double* out, char** message) {
  return guarded(message, [&] {
    std::istringstream stream(json);
    stan::json::json_data values(stream);
    Vector point;
    m->model->transform_inits(values, point, nullptr);
    Vector::Map(out, point.size()) = point;
  });
}

EXPORTED int bs_log_density(const bs_model* m, bool propto, bool jacobian, const double* free, double* value,
                            char** message) {
  return guarded(message, [&] {
    static thread_local stan::math::ChainableStack stack;
    stan::math::nested_rev_autodiff nested;
    Eigen::Matrix<stan::math::var, -1, 1> point = Eigen::Map<const Vector>(free, m->model->num_params_r());
    *value = m->density(propto, jacobian, point).val();
  });
}

EXPORTED int bs_log_density_gradient(const bs_model* m, bool propto, bool jacobian, const double* free, double* value,
                                     double* gradient, char** message) {
  return guarded(message, [&] {
    // The tape of this thread.
    static thread_local stan::math::ChainableStack stack;
    const Vector point = Eigen::Map<const Vector>(free, m->model->num_params_r());
    Vector slope;
    auto density = [&](auto& z) { return m->density(propto, jacobian, z); };
    stan::math::gradient([&](const auto& z) { auto copy = z; return density(copy); }, point, *value, slope);
    Vector::Map(gradient, slope.size()) = slope;
  });
}

EXPORTED bs_rng* bs_rng_construct(unsigned int seed, char** message) {
  bs_rng* out = nullptr;
  guarded(message, [&] { out = new bs_rng{stan::services::util::create_rng(seed, 0)}; });
  return out;
}

EXPORTED void bs_rng_destruct(bs_rng* rng) { delete rng; }
