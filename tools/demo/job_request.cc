#include "tools/demo/job_request.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scheduler/job/job_settings.h"
#include "secure/dp/account/calibrate.h"
#include "secure/dp/distributed/device_noise.h"

namespace coterie {
namespace {

// A round chooses when all devices are there. One that has died and is being started again shall not hold it up for
// long.
constexpr uint32_t kSelectingMs = 5'000;
// Long: on a slow machine a round is as long as training takes. A device that dies is started again at once.
constexpr uint32_t kCollectingMs = 300'000;
// Of a phase of secure aggregation, at most: so many may vanish that the round cannot go on before they are back.
constexpr uint32_t kPhaseMs = 30'000;

// At active_dp noise is sized for the least sum that may be opened: a sum of far fewer than the goal would need far
// more.
constexpr double kNoisySumShare = 0.9;

bool is_noise_of_devices(const DemoOptions& options) { return options.security == SecurityLevel::active_dp; }

// Tickets for each update that closes a round.
double over_selection(const DemoOptions& options) {
  if (options.dropout == 0) return 1;
  // A roster closes with goal / (1 - share) devices: there must be more of them, or each one that is away holds it up.
  const double enough = 1 / ((1 - options.dropout_share()) * (1 - options.dropout));
  return std::min(enough, static_cast<double>(options.devices) / options.goal_count());
}

// Of so many updates that are wanted, those that must be there.
uint32_t least_of(uint32_t goal, const DemoOptions& options) {
  const auto noisy = static_cast<uint32_t>(std::floor(kNoisySumShare * goal));
  return std::max(2u, is_noise_of_devices(options) ? noisy : goal / 2);
}

// What says how many cohorts there are.
JobSettings cohorts_of(const DemoOptions& options) {
  JobSettings spec;
  spec.rounds.goal_count = options.goal_count();
  spec.rounds.over_selection = over_selection(options);
  spec.privacy.dropout_share = options.dropout_share();
  spec.privacy.cohort_max = options.cohort_max;
  return spec;
}

uint32_t cohort_min(const DemoOptions& options) {
  return least_of(options.goal_count() / cohort_count(cohorts_of(options)), options);
}

// What a round releases at this multiplier, in the terms of its mechanism.
Noise noise_at(const DemoOptions& options, uint64_t value_count, double multiplier) {
  if (!is_noise_of_devices(options)) return DiscreteGaussianNoise{multiplier, 1, false};
  const JobSettings spec = cohorts_of(options);
  PrivacyRules rules;
  rules.level = options.security;
  rules.cohort_min = cohort_min(options);
  rules.cohort_max = cohort_goal(spec);
  rules.corrupt_share = spec.privacy.corrupt_share;
  rules.dropout_share = spec.privacy.dropout_share;
  rules.cipher_suite = 1;
  const DeviceNoiseGoal goal{.value_count = value_count,
                             .cohort_count = cohort_count(spec),
                             .clip_norm = *options.clip,
                             .noise_multiplier = multiplier,
                             .delta = options.delta / options.rounds};
  // Where there is no such noise the server will say so; a search goes on from what it would cost without a grid.
  if (!add_device_noise(rules, goal)) return GaussianNoise{multiplier};
  const Result<LedgerRelease> release = release_of(rules, value_count);
  return release ? noise_of(*release) : Noise(GaussianNoise{multiplier});
}

}  // namespace

Result<DemoNoise> noise_of(const DemoOptions& options, uint64_t value_count) {
  if (!options.clip) return Error(ErrorCode::invalid_argument, "noise needs --clip: it is what the noise has to hide");
  // The server charges its sampler's error to delta, far less than this.
  const double delta = options.delta * (1 - 1e-6);
  const auto at = [&](double multiplier) {
    return Composition{{noise_at(options, value_count, multiplier), Sampling::none(), options.rounds}};
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

Result<std::string> job_request(const DemoOptions& options, uint64_t value_count, const std::string& model_digest,
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
        {"optimizer", {{"kind", "sgd"}, {"learning_rate", options.learning_rate}, {"momentum", options.momentum}}}}},
      {"rounds",
       {{"count", options.rounds},
        {"goal_count", goal},
        {"goal_count_min", std::max(1u, goal / 2)},
        {"pool_min", options.devices},
        {"selecting_ms_max", kSelectingMs},
        {"collecting_ms_max", kCollectingMs}}},
      {"privacy", {{"level", to_string(options.security)}}},
      {"strategy", {{"kind", options.strategy->name}, {"server_learning_rate", options.server_rate()}}},
  };
  if (options.dropout > 0) {  // who is away shall not be waited for
    json["rounds"]["over_selection"] = over_selection(options);
    json["rounds"]["pool_min"] = std::max(goal, static_cast<uint32_t>(options.devices * (1 - options.dropout_share())));
  }
  if (options.security != SecurityLevel::none) {
    json["rounds"]["goal_count_min"] = least_of(goal, options);
    json["privacy"].update({{"cohort_min", cohort_min(options)},
                            {"cohort_max", options.cohort_max},
                            {"dropout_share", options.dropout_share()},
                            {"phase_ms_max", kPhaseMs}});
  }
  if (options.clip) json["update"]["clip_l2"] = *options.clip;
  if (options.has_noise()) {
    COT_ASSIGN(const DemoNoise noise, noise_of(options, value_count));
    json["update"]["weight_max"] = 1;
    json["privacy"]["noise_multiplier"] = noise.noise_multiplier;
    json["privacy"]["target_delta"] = options.delta;
    json["privacy"]["epsilon_budget"] = noise.epsilon_budget;
  }
  return json.dump(2) + "\n";
}

}  // namespace coterie
