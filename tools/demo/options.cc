#include "tools/demo/options.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "secure/dp/account/calibrate.h"

namespace coterie {
namespace {

// A round chooses when all devices are there. One that has died and is being started again shall not hold it up for long.
constexpr uint32_t kSelectingMs = 5'000;
// Long: on a slow machine a round is as long as training takes. A device that dies is started again at once.
constexpr uint32_t kCollectingMs = 300'000;
// Of a phase of secure aggregation, at most: so many may vanish that the round cannot go on before they are back.
constexpr uint32_t kPhaseMs = 30'000;
// Devices of a demo are few: more of them vanish at once than their probability says. More than a third never may.
constexpr double kDropoutShareMin = 0.2, kDropoutShareMax = 0.25;
constexpr double kFedAvgRate = 1.0;
constexpr double kFedAdamRate = 0.01;

}  // namespace

uint32_t DemoOptions::goal_count() const {
  const auto rounded = static_cast<uint32_t>(std::lround(fraction * devices));
  return std::clamp<uint32_t>(rounded, 1, devices);
}

double DemoOptions::server_rate() const {
  return server_learning_rate.value_or(strategy == ServerOptimizerKind::fedadam ? kFedAdamRate : kFedAvgRate);
}

double DemoOptions::dropout_share() const { return std::clamp(2 * dropout, kDropoutShareMin, kDropoutShareMax); }

std::string_view to_string(ServerOptimizerKind kind) {
  return kind == ServerOptimizerKind::fedadam ? "fedadam" : "fedavg";
}

Result<DemoNoise> noise_of(const DemoOptions& options) {
  if (!options.clip) return Error(ErrorCode::invalid_argument, "noise needs --clip: it is what the noise has to hide");
  // The server charges its sampler's error to delta, far less than this.
  const double delta = options.delta * (1 - 1e-6);
  const auto at = [&](double multiplier) {
    return Composition{{DiscreteGaussianNoise{multiplier, 1, false}, Sampling::none(), options.rounds}};
  };
  DemoNoise noise;
  if (options.noise_multiplier) {
    noise.noise_multiplier = *options.noise_multiplier;
    COT_ASSIGN(const PrivacyAccount account, account_for(at(noise.noise_multiplier), delta));
    noise.epsilon_budget = options.target_epsilon.value_or(account.epsilon);
  } else {
    COT_ASSIGN(const Calibration found, calibrate_noise(at, *options.target_epsilon, delta));
    noise.noise_multiplier = found.noise_multiplier;
    noise.epsilon_budget = *options.target_epsilon;
  }
  return noise;
}

Result<std::string> job_request(const DemoOptions& options, const std::string& model_digest,
                        const std::string& evaluation_digest) {
  const uint32_t goal = options.goal_count();
  nlohmann::json json = {
      {"name", "demo-" + options.data.substr(0, options.data.find(':'))},
      {"model", model_digest},
      {"evaluation", evaluation_digest},
      {"training",
       {{"loss", "softmax_cross_entropy"},
        {"batch_size", options.batch_size},
        {"local_epochs", options.local_epochs},
        {"optimizer",
         {{"kind", "sgd"}, {"learning_rate", options.learning_rate}, {"momentum", options.momentum}}}}},
      {"rounds",
       {{"count", options.rounds},
        {"goal_count", goal},
        {"goal_count_min", std::max(1u, goal / 2)},
        {"pool_min", options.devices},
        {"selecting_ms_max", kSelectingMs},
        {"collecting_ms_max", kCollectingMs}}},
      {"strategy",
       {{"kind", to_string(options.strategy)}, {"server_learning_rate", options.server_rate()}}},
  };
  if (options.dropout > 0) {  // who is away shall not be waited for
    const double share = options.dropout_share();
    // A roster closes with goal / (1 - share) devices: there must be more of them, or each one that is away holds it up.
    const double over_selection = 1 / ((1 - share) * (1 - options.dropout));
    json["rounds"]["over_selection"] = std::min(over_selection, static_cast<double>(options.devices) / goal);
    json["rounds"]["pool_min"] = std::max(goal, static_cast<uint32_t>(options.devices * (1 - share)));
  }
  if (options.security != SecurityLevel::none) {
    json["rounds"]["goal_count_min"] = std::max(2u, goal / 2);
    json["privacy"] = {{"level", to_string(options.security)},
                       {"cohort_min", std::max(2u, goal / 2)},
                       {"dropout_share", options.dropout_share()},
                       {"phase_ms_max", kPhaseMs}};
  }
  if (options.clip) json["update"]["clip_l2"] = *options.clip;
  if (options.has_noise()) {
    COT_ASSIGN(const DemoNoise noise, noise_of(options));
    json["update"]["weight_max"] = 1;
    json["privacy"] = {{"noise_multiplier", noise.noise_multiplier},
                       {"target_delta", options.delta},
                       {"epsilon_budget", noise.epsilon_budget}};
  }
  return json.dump(2) + "\n";
}

}  // namespace coterie
