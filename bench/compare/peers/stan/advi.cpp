// Stan's full-rank ADVI with its own step-size search and stopping rule, as a function that hands back m and C.
//
// Compiled together with the C++ that stanc makes of a model.

#include <stan/callbacks/logger.hpp>
#include <stan/callbacks/writer.hpp>
#include <stan/io/json/json_data.hpp>
#include <stan/model/model_base.hpp>
#include <stan/services/util/create_rng.hpp>
#include <stan/variational/advi.hpp>

#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>

stan::model::model_base& new_model(stan::io::var_context& data, unsigned int seed, std::ostream* words);

namespace {
using Family = stan::variational::normal_fullrank;
using Random = decltype(stan::services::util::create_rng(0, 1));
// Stan's default: candidates 100, 10, 1, 0.1, 0.01, each for so many steps.
constexpr int ADAPTATION_STEPS = 50;
// Steps between two looks at the ELBO, and the draws of one look: Stan's defaults.
constexpr int STEPS_A_LOOK = 100, DRAWS_A_LOOK = 100;
}  // namespace

// Runs ADVI once. `mean` has room for d numbers, `factor` for d*d, row by row; returns processor seconds from the first
// step of the adaptation to the end, or a negative number if Stan failed, with its words on stderr.
extern "C" double provi_compare_advi(const char* data_file, int draws, int iterations, double tolerance,
                                     unsigned int seed, double* mean, double* factor) {
  try {
    std::ifstream file(data_file);
    stan::json::json_data data(file);
    std::unique_ptr<stan::model::model_base> model(&new_model(data, seed, &std::cerr));
    Random random = stan::services::util::create_rng(seed, 1);
    // As Stan starts: uniform on (-2, 2) in every unconstrained coordinate.
    std::mt19937_64 dice(seed);
    std::uniform_real_distribution<double> uniform(-2, 2);
    Eigen::VectorXd start(static_cast<Eigen::Index>(model->num_params_r()));
    for (auto& x : start) x = uniform(dice);
    stan::callbacks::logger quiet;
    stan::callbacks::writer nowhere;
    stan::variational::advi<stan::model::model_base, Family, Random> advi(*model, start, random, draws,
                                                                         DRAWS_A_LOOK, STEPS_A_LOOK, 1);
    const std::clock_t begin = std::clock();
    Family q(start);
    const double step = advi.adapt_eta(q, ADAPTATION_STEPS, quiet);
    advi.stochastic_gradient_ascent(q, step, tolerance, iterations, quiet, nowhere);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    const Eigen::Index d = start.size();
    Eigen::Map<Eigen::VectorXd>(mean, d) = q.mu();
    Eigen::Map<Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(factor, d, d) = q.L_chol();
    return seconds;
  } catch (const std::exception& error) {
    std::cerr << "stan: " << error.what() << '\n';
    return -1;
  }
}
