// aggregation_oracle.json: where federated algorithms end on three quadratics, steps of the server's optimizers, robust
// rules; in double, by others. Each key is compared with what ships, or left out for a reason that stands here.
//
// Device i has f_i(w) = 1/2 (w - c_i)' A_i (w - c_i): the mean squared error of a layer without bias on the two rows of
// R, A = R'R, whose targets are R c. A batch of both is a gradient step of f_i.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "aggregation/robust/aggregation_settings.h"
#include "aggregation/robust/krum_scores.h"
#include "aggregation/robust/registry.h"
#include "device_sdk/agent/normalised_steps.h"
#include "device_sdk/agent/own_training.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/matchers.h"
#include "tests/unit/tools/oracle/oracle_federation.h"
#include "tests/unit/tools/oracle/vector_file.h"

namespace coterie::test {
namespace {

using nlohmann::json;
using Pair = std::vector<double>;
using Matrix = std::vector<std::vector<double>>;

constexpr double kFloatError = 1e-6;  // relative, of paths that hold floats between rounds
constexpr size_t kRoundsMax = 250;

Model two_weights() {
  ModelBuilder build("quadratic", {2}, 1);
  Result<Bytes> file = build.finish(build.dense(build.input(), 1, false));
  EXPECT_OK(file);
  Result<Model> model = Model::load(std::move(*file));
  EXPECT_OK(model);
  return *model;
}

// The rows of R, upper triangular, R'R = A, and R c.
std::vector<StoredOrder::Row> rows_of(const Matrix& a, const Pair& c) {
  const double p = std::sqrt(a[0][0]), q = a[0][1] / p, r = std::sqrt(a[1][1] - q * q);
  return {{{static_cast<float>(p), static_cast<float>(q)}, static_cast<float>(p * c[0] + q * c[1])},
          {{0, static_cast<float>(r)}, static_cast<float>(r * c[1])}};
}

TrainingSettings quadratic_training(float rate) {
  TrainingSettings training;
  training.loss = Loss::mean_squared_error;
  training.target = TargetKind::values;
  training.batch_size = 2;
  training.optimizer.learning_rate = rate;
  return training;
}

class ClosedForms : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<json> file = read_vectors("aggregation_oracle.json");
    if (!file) GTEST_SKIP() << "no reference at " COTERIE_AGGREGATION_VECTORS;
    file_ = *file;
  }

  // Devices with the file's steps a round, or this many.
  std::vector<OracleDevice> devices(Weights weights, uint32_t steps = 0) const {
    const json& problem = file_["problem"];
    std::vector<OracleDevice> all;
    for (size_t i = 0; i < problem["A"].size(); ++i) {
      all.push_back({rows_of(problem["A"][i], problem["c"][i]),
                     weights == Weights::examples ? problem["examples"][i].get<uint32_t>() : 1,
                     steps > 0 ? steps : problem["local_steps"][i].get<uint32_t>()});
    }
    return all;
  }
  OracleFederation federation(const StrategySettings& strategy, const TrainingSettings& training, Weights weights,
                              uint32_t steps = 0) const {
    return OracleFederation(two_weights(), training, strategy, devices(weights, steps));
  }
  void expect(OracleFederation& federation, const std::string& key, double error = kFloatError) const {
    const double got = relative_error(federation.weights(), file_[key].get<Pair>());
    EXPECT_LT(got, error) << key;
    RecordProperty(key, std::to_string(got * 1e6) + "e-6");
  }
  // After so many rounds, or as soon as a round changes nothing.
  void expect_end(OracleFederation&& federation, const std::string& key, double error = kFloatError) const {
    std::vector<float> before;
    for (size_t round = 0; round < kRoundsMax && before != federation.weights(); ++round) {
      before = federation.weights();
      federation.round_of_all();
    }
    expect(federation, key, error);
  }
  void expect_steps(const std::string& key, StrategySettings strategy, std::vector<float> values, float v_start) const {
    strategy.values = std::move(values);
    std::vector<std::vector<float>> carried(strategy.rule->state_vectors, std::vector<float>(2));
    if (carried.size() == 2) carried[1].assign(2, v_start);
    const std::vector<std::span<float>> state(carried.begin(), carried.end());
    std::vector<float> weights(2);
    for (size_t i = 0; i < file_["server_deltas"].size(); ++i) {
      const auto mean = file_["server_deltas"][i].get<std::vector<float>>();
      strategy.rule->apply({.mean = mean, .settings = strategy.values, .state = state, .weights = weights});
      EXPECT_LT(relative_error(weights, file_[key][i].get<Pair>()), 1e-6) << key << ", step " << i + 1;
    }
  }

  json file_;
};

StrategySettings of(const char* name) { return StrategySettings::of(name); }

TEST_F(ClosedForms, OfFedAvgAndFedProxAreWhereRoundsEnd) {
  const TrainingSettings plain = quadratic_training(0.1f);
  expect_end(federation(of("fedavg"), plain, Weights::examples), "fedavg");
  expect_end(federation(of("fedavg"), plain, Weights::uniform), "fedavg_uniform");
  TrainingSettings prox = plain;
  prox.proximal_mu = 0.5f;
  expect_end(federation(of("fedavg"), prox, Weights::examples), "fedprox_mu0.5");
  prox.optimizer.learning_rate = 0.4f;  // below 2 / (4 + mu): 60 steps are a local optimum
  expect_end(federation(of("fedavg"), prox, Weights::examples, 60), "fedprox_exact_mu0.5");
}

TEST_F(ClosedForms, OfFedNovaAreWhereRoundsEndAndHowFarStepsGo) {
  TrainingSettings nova = quadratic_training(0.1f);
  nova.normalised_steps = 7.6f;  // the mean of the steps by examples
  expect_end(federation(of("fedavg"), nova, Weights::examples), "fednova");
  TrainingSettings momentum;
  momentum.optimizer.momentum = 0.9f;  // which is not 0.9
  EXPECT_NEAR(step_length(momentum, 7), file_["fednova_a1_tau7_rho0.9"].get<double>(), 1e-5);
}

TEST_F(ClosedForms, OfScaffoldAreItsRoundsAndTheOptimum) {
  const StrategySettings scaffold = of("scaffold").with("population_size", 3);
  OracleFederation rounds = federation(scaffold, quadratic_training(0.1f), Weights::examples);
  for (const auto& [until, key] : std::vector<std::pair<size_t, const char*>>{
           {1, "scaffold_opt2_round1"}, {2, "scaffold_opt2_round2"}, {10, "scaffold_opt2_round10"}}) {
    while (rounds.version() < until) rounds.round_of_all();
    expect(rounds, key);
  }
  while (rounds.version() < kRoundsMax) rounds.round_of_all();
  expect(rounds, "scaffold_opt2");
  expect(rounds, "optimum");
  // A job has no weights here, so that the optimum of two of three in each round is that of the plain mean.
  OracleFederation some = federation(scaffold, quadratic_training(0.1f), Weights::uniform);
  for (uint32_t round = 0; round < 2 * kRoundsMax; ++round) some.round({round % 3, (round + 1) % 3});
  expect(some, "uniform_optimum", 2e-6);
}

TEST_F(ClosedForms, OfScaffoldWithGradientsAreItsRoundsAndTheOptimum) {
  const StrategySettings scaffold = of("scaffold").with("population_size", 3).with("option", 1);
  OracleFederation rounds = federation(scaffold, quadratic_training(0.1f), Weights::examples);
  for (const auto& [until, key] : std::vector<std::pair<size_t, const char*>>{
           {1, "scaffold_opt1_round1"}, {2, "scaffold_opt1_round2"}, {10, "scaffold_opt1_round10"}}) {
    while (rounds.version() < until) rounds.round_of_all();
    expect(rounds, key);
  }
  while (rounds.version() < kRoundsMax) rounds.round_of_all();
  expect(rounds, "scaffold_opt1");
}

TEST_F(ClosedForms, OfQfflAreItsOptimaAndWhatDevicesLoseThere) {
  for (const auto& [q, key] :
       std::vector<std::pair<float, std::string>>{{0, "qffl_q0"}, {1, "qffl_q1"}, {5, "qffl_q5"}}) {
    const StrategySettings qffl = of("qffl").with("q", q).with("loss_max", 16);
    OracleFederation rounds = federation(qffl, quadratic_training(0.1f), Weights::uniform, 1);
    for (size_t round = 0; round < 2 * kRoundsMax; ++round) rounds.round_of_all();
    expect(rounds, key, 2e-6);
    const json& problem = file_["problem"];
    for (size_t i = 0; i < problem["A"].size(); ++i) {
      const Matrix a = problem["A"][i];
      const Pair c = problem["c"][i];
      const double x = static_cast<double>(rounds.weights()[0]) - c[0],
                   y = static_cast<double>(rounds.weights()[1]) - c[1];
      const double loss = (a[0][0] * x * x + 2 * a[0][1] * x * y + a[1][1] * y * y) / 2;
      EXPECT_NEAR(loss / file_[key + "_losses"][i].get<double>(), 1, 1e-5) << key << ", device " << i;
    }
  }
}

// No reference has it. The game's value is known by what it must be: both groups lose the same, and the gradients of
// their losses, weighed by lambda, cancel.
TEST_F(ClosedForms, OfAflAreWhereGroupsLoseTheSame) {
  const json& problem = file_["problem"];
  std::vector<OracleDevice> all = devices(Weights::examples, 1);
  for (size_t i = 0; i < all.size(); ++i) all[i].group = i < 2 ? 1 : 2;
  const StrategySettings afl = of("afl").with("group_learning_rate", 0.01f).with("loss_max", 100);
  OracleFederation rounds(two_weights(), quadratic_training(0.1f), afl, all);
  for (size_t round = 0; round < 3 * kRoundsMax; ++round) rounds.round_of_all();
  Pair losses = {0, 0}, sizes = {0, 0};
  std::array<Pair, 2> gradients = {Pair{0, 0}, Pair{0, 0}};
  for (size_t i = 0; i < all.size(); ++i) {
    const Matrix a = problem["A"][i];
    const Pair c = problem["c"][i];
    const Pair e = {static_cast<double>(rounds.weights()[0]) - c[0], static_cast<double>(rounds.weights()[1]) - c[1]};
    const size_t g = all[i].group - 1;
    const double examples = problem["examples"][i];
    sizes[g] += examples;
    for (size_t k = 0; k < 2; ++k) {
      const double along = a[k][0] * e[0] + a[k][1] * e[1];
      losses[g] += examples * along * e[k] / 2;
      gradients[g][k] += examples * along;
    }
  }
  EXPECT_NEAR(losses[0] / sizes[0], losses[1] / sizes[1], 1e-4);
  EXPECT_GT(losses[0] / sizes[0], 1) << "they cannot all be served";
  const std::vector<float>& state = rounds.state(0);
  EXPECT_NEAR(state[0] + state[1], 1, 1e-6);
  EXPECT_NEAR(state[2], sizes[0] / 100, 1e-6);
  for (size_t k = 0; k < 2; ++k) {
    const double first = static_cast<double>(state[0]) * gradients[0][k] / sizes[0];
    const double second = static_cast<double>(state[1]) * gradients[1][k] / sizes[1];
    EXPECT_NEAR(first + second, 0, 1e-4) << k;
    EXPECT_GT(std::abs(first), 0.1) << "else nothing is weighed";
  }
}

// No reference has it: each round once more in double, from the paper. Each goes on from where the one before really
// ended, as long steps on quadratics that disagree make much of any difference.
TEST_F(ClosedForms, OfFedExpAreItsRounds) {
  const json& problem = file_["problem"];
  OracleFederation rounds = federation(of("fedexp").with("epsilon", 0.01f), quadratic_training(0.1f), Weights::uniform);
  bool was_longer = false;
  for (size_t round = 0; round < 20; ++round) {
    Pair w(rounds.weights().begin(), rounds.weights().begin() + 2), mean = {0, 0};
    double squares = 0;
    for (size_t i = 0; i < 3; ++i) {
      const Matrix a = problem["A"][i];
      const Pair c = problem["c"][i];
      Pair y = w;
      for (uint32_t step = 0; step < problem["local_steps"][i].get<uint32_t>(); ++step) {
        const Pair e = {y[0] - c[0], y[1] - c[1]};
        for (size_t k = 0; k < 2; ++k) y[k] -= 0.1 * (a[k][0] * e[0] + a[k][1] * e[1]);
      }
      for (size_t k = 0; k < 2; ++k) {
        mean[k] += (y[k] - w[k]) / 3;
        squares += (y[k] - w[k]) * (y[k] - w[k]) / 3;
      }
    }
    const double factor = std::max(1.0, squares / (2 * (mean[0] * mean[0] + mean[1] * mean[1] + 0.01)));
    was_longer = was_longer || factor > 1.5;
    for (size_t k = 0; k < 2; ++k) w[k] += std::min(factor, 10.0) * mean[k];
    rounds.round_of_all();
    EXPECT_LT(relative_error(rounds.weights(), w), 1e-5) << "round " << round + 1;
  }
  EXPECT_TRUE(was_longer) << "else it is FedAvg";
}

// With one step of all examples a round is a step of SGD with momentum on the mean of all.
TEST_F(ClosedForms, OfMimeLiteWithOneStepAreThoseOfMomentum) {
  const json& problem = file_["problem"];
  OracleFederation rounds =
      federation(of("mime_lite").with("momentum", 0.75f), quadratic_training(0.1f), Weights::examples, 1);
  Pair w = {0, 0}, m = {0, 0};
  for (size_t round = 0; round < 30; ++round) {
    Pair gradient = {0, 0};
    for (size_t i = 0; i < 3; ++i) {
      const Matrix a = problem["A"][i];
      const Pair c = problem["c"][i];
      const double share = problem["examples"][i].get<double>() / 100;
      for (size_t k = 0; k < 2; ++k) gradient[k] += share * (a[k][0] * (w[0] - c[0]) + a[k][1] * (w[1] - c[1]));
    }
    for (size_t k = 0; k < 2; ++k) {
      m[k] = 0.75 * m[k] + gradient[k];
      w[k] -= 0.1 * m[k];
    }
    rounds.round_of_all();
    EXPECT_LT(relative_error(rounds.weights(), w), 5e-6) << "round " << round + 1;
  }
}

TEST_F(ClosedForms, OfFedDynAreTheOptimum) {
  expect_end(federation(of("feddyn").with("population_size", 3).with("alpha", 0.5f), quadratic_training(0.4f),
                        Weights::uniform, 60),
             "feddyn_exact_a0.5");
}

// Each device's own model ends between the optimum of its own examples and the model that is shared, wherever it stood.
TEST_F(ClosedForms, OfDittoAreTheDevicesOwnModels) {
  Plan plan;
  plan.training = quadratic_training(0.2f);
  plan.training.local_epochs = 40;
  plan.training.personal = PersonalSettings{.kind = PersonalKind::model, .lambda = 0.5f};
  const std::vector<OracleDevice> all = devices(Weights::uniform);
  const auto shared = file_["optimum"].get<std::vector<float>>();
  const Model model = two_weights();
  std::vector<float> padded(model.value_count());
  std::ranges::copy(shared, padded.begin());
  const Result<Model> given = Model::load(model.file_with(padded));
  ASSERT_OK(given);
  plan.update.value_count = model.value_count();
  const Result<UpdateLayout> layout = UpdateLayout::of(*given, model.value_count(), plan);
  ASSERT_OK(layout);
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<float> kept;
    for (int round = 0; round < 4; ++round) {
      const Result<OwnTraining> own = own_training(*given, *layout, plan.training, 1, kept);
      ASSERT_OK(own);
      StoredOrder examples(all[i].rows);
      Result<Trainer> trainer = Trainer::create(own->model, own->options, examples);
      ASSERT_OK(trainer);
      while (!trainer->finished()) ASSERT_OK(trainer->step());
      kept = own_values(*layout, *trainer);
    }
    kept.resize(shared.size());
    EXPECT_LT(relative_error(kept, file_["ditto_lam0.5_v"][i].get<Pair>()), kFloatError) << "device " << i;
  }
}

TEST_F(ClosedForms, OfServersAreTheirSteps) {
  constexpr float kTauSquared = 1e-6f;
  expect_steps("server_fedavgm", of("fedavgm"), {.1f, .9f}, 0);
  expect_steps("server_adam", of("fedadam"), {.1f, .9f, .99f, .001f}, kTauSquared);
  expect_steps("server_adam_v0=0", of("fedadam"), {.1f, .9f, .99f, .001f}, 0);
  expect_steps("server_yogi", of("fedyogi"), {.1f, .9f, .99f, .001f}, kTauSquared);
  expect_steps("server_lion", of("fedlion"), {.1f, .9f, .99f}, 0);
  expect_steps("server_adagrad_b1=0_v0=0", of("fedadagrad"), {.1f, 0, .001f}, 0);
}

// As the finalizer asks for it.
std::vector<float> robust_result(const AggregationSettings& settings, const std::vector<std::vector<float>>& points) {
  const std::vector<std::span<const float>> rows(points.begin(), points.end());
  std::vector<double> shares;
  if (settings.rule->needs_distances()) {
    UpdateDistances distances(points.size());
    distances.add(0, rows);
    shares.resize(points.size());
    settings.rule->choose(distances, std::vector<double>(points.size(), 1), settings.values, shares);
  }
  std::vector<float> result(points[0].size());
  make_result(*settings.rule, {.rows = rows, .shares = shares, .settings = settings.values, .result = result});
  return result;
}

TEST_F(ClosedForms, OfRobustRulesAreWhatTheyMakeOfPoints) {
  const auto points = file_["points"].get<std::vector<std::vector<float>>>();
  const auto rule = [](const char* name) { return AggregationSettings::of(name); };
  const auto expect_result = [&](const std::string& key, const AggregationSettings& settings) {
    EXPECT_LT(relative_error(robust_result(settings, points), file_[key].get<Pair>()), 1e-6) << key;
  };
  expect_result("coordinate_median", rule("median"));
  expect_result("trimmed_mean_b3", rule("trimmed_mean").with("liars_max", 3));
  expect_result("rfa_3_iters", rule("geometric_median").with("iterations", 3));
  expect_result("geometric_median", rule("geometric_median").with("iterations", 300));
  expect_result("multikrum_m8", rule("multi_krum").with("liars_max", 3));
  expect_result("centered_clip_tau1_3iters_from0", rule("centred_clip"));
  const std::vector<std::span<const float>> rows(points.begin(), points.end());
  UpdateDistances distances(points.size());
  distances.add(0, rows);
  const std::vector<double> scores = robust::krum_scores(distances, robust::all_of(distances), 3);
  const Pair expected = file_["krum_scores_f3"];
  ASSERT_EQ(scores.size(), expected.size());
  for (size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i] / expected[i], 1, 1e-6) << i;
  EXPECT_EQ(robust_result(rule("krum").with("liars_max", 3), points), points[file_["krum_index_f3"].get<size_t>()]);
}

TEST_F(ClosedForms, AreAllComparedOrLeftOutForAReason) {
  const char* const kPeers = "a fault of a peer, written down to be known again: no algorithm";
  expect_all_named(file_,
                   {"optimum",
                    "fedavg",
                    "fedavg_uniform",
                    "fedprox_mu0.5",
                    "fedprox_exact_mu0.5",
                    "fednova",
                    "fednova_a1_tau7_rho0.9",
                    "scaffold_opt1",
                    "scaffold_opt1_round1",
                    "scaffold_opt1_round2",
                    "scaffold_opt1_round10",
                    "scaffold_opt2",
                    "scaffold_opt2_round1",
                    "scaffold_opt2_round2",
                    "scaffold_opt2_round10",
                    "uniform_optimum",
                    "qffl_q0",
                    "qffl_q0_losses",
                    "qffl_q1",
                    "qffl_q1_losses",
                    "qffl_q5",
                    "qffl_q5_losses",
                    "feddyn_exact_a0.5",
                    "ditto_lam0.5_v",
                    "server_fedavgm",
                    "server_adam",
                    "server_adam_v0=0",
                    "server_yogi",
                    "server_lion",
                    "server_adagrad_b1=0_v0=0",
                    "coordinate_median",
                    "trimmed_mean_b3",
                    "rfa_3_iters",
                    "geometric_median",
                    "krum_scores_f3",
                    "krum_index_f3",
                    "multikrum_m8",
                    "centered_clip_tau1_3iters_from0"},
                   {{"problem", "what is computed"},
                    {"server_deltas", "the same"},
                    {"points", "the same"},
                    {"scaffold_opt2_2of3", "with weights by examples, which a job refuses; by uniform_optimum instead"},
                    {"scaffold_sign_inverted_200rounds", kPeers},
                    {"pfl_literal_opt1_T50", kPeers},
                    {"pfl_literal_opt1_T500", kPeers},
                    {"pfl_literal_opt2_T50", kPeers},
                    {"pfl_literal_opt2_T500", kPeers}});
}

}  // namespace
}  // namespace coterie::test
