#include "tools/demo/job_request.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "fl_server/json/job_json.h"
#include "scheduler/job/adaptive_clip_rules.h"
#include "scheduler/job/central_noise.h"
#include "scheduler/job/compression_rules.h"
#include "scheduler/job/plan_privacy.h"
#include "scheduler/job/round_release.h"
#include "scheduler/job/scalar_rules.h"
#include "scheduler/job/weight_share.h"
#include "secure/dp/account/calibrate.h"
#include "secure/dp/account/number_words.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/dp/ledger/ledger.h"

namespace coterie {
namespace {

// A round chooses when all devices are there. One that has died and is being started again shall not hold it up for
// long.
constexpr Millis kSelectingMax{5'000};
// Long: on a slow machine a round is as long as training takes. A device that dies is started again at once.
constexpr Millis kCollectingMax{300'000};
// The longest phase of secure aggregation: so many may vanish that the round cannot go on before they are back.
constexpr Millis kPhaseMax{30'000};

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

// How many of the wanted updates must be there.
uint32_t least_of(uint32_t goal, const DemoOptions& options) {
  const auto noisy = static_cast<uint32_t>(std::floor(kNoisySumShare * goal));
  return std::max(2u, is_noise_of_devices(options) ? noisy : goal / 2);
}

RoundSettings rounds_of(const DemoOptions& options) {
  const uint32_t goal = options.goal_count();
  RoundSettings rounds;
  rounds.count = options.rounds;
  rounds.goal_count = goal;
  rounds.goal_count_min = options.security == SecurityLevel::none ? std::max(1u, goal / 2) : least_of(goal, options);
  rounds.pool_min = options.devices;
  rounds.selection = options.selection;
  rounds.selecting_max = kSelectingMax;
  rounds.collecting_max = kCollectingMax;
  if (options.dropout > 0) {  // who is away shall not be waited for
    rounds.over_selection = over_selection(options);
    rounds.pool_min = std::max(goal, static_cast<uint32_t>(options.devices * (1 - options.dropout_share())));
  }
  if (options.is_buffered) {
    rounds.policy = RoundPolicyKind::buffered;
    rounds.concurrency = std::max(options.devices, rounds.ticket_count());
  }
  return rounds;
}

// All but the model, the evaluation data and the noise.
HorizontalSettings settings_of(const DemoOptions& options) {
  HorizontalSettings settings;
  settings.training = training_of(options);
  settings.update.clip_l2 = static_cast<float>(options.clip_l2().value_or(0));
  settings.update.compression = options.compression;
  settings.download.bits = options.download_bits;
  const bool is_quantized = options.compression.is_on() && options.compression.kind == CompressionKind::quantized;
  if (is_quantized) settings.update.weight_max = kCompressedWeightMaxDefault;
  settings.rounds = rounds_of(options);
  settings.strategy = StrategySettings::of(options.strategy->name)
                          .with("server_learning_rate", static_cast<float>(options.server_rate()));
  settings.schedules = options.schedules;
  settings.adaptive_mu = options.adaptive_mu;
  const bool keeps = keeps_state(options.strategy->correction);
  if (keeps) settings.strategy.value_of("population_size") = static_cast<float>(options.devices);
  if (options.alpha) settings.strategy.value_of("alpha") = static_cast<float>(*options.alpha);
  for (const auto& [name, value] : options.strategy_settings) settings.strategy.value_of(name) = value;
  if (keeps || options.strategy->counts_alike) settings.update.weight_max = 1;
  settings.privacy.level = options.security;
  settings.aggregation = options.aggregation;
  if (options.aggregation.keeps_updates()) {
    settings.update.weight_max = 1;
    settings.rounds.goal_count_min = std::max(settings.rounds.goal_count_min, options.aggregation.updates_min());
  }
  settings.update.weight_share_max = default_weight_share_max(settings);
  if (options.security == SecurityLevel::none) return settings;
  settings.privacy.cohort_max = options.cohort_max;
  settings.privacy.dropout_share = options.dropout_share();
  settings.privacy.phase_max = kPhaseMax;
  // How many cohorts there are follows from the settings above, and how many updates each may be sure of from that.
  settings.privacy.cohort_min = least_of(options.goal_count() / cohort_count(settings), options);
  if (options.aggregation.keeps_updates()) {  // it compares as many cohorts as it would updates
    settings.rounds.goal_count_min =
        std::max(settings.rounds.goal_count_min, options.aggregation.updates_min() * settings.privacy.cohort_min);
  }
  return settings;
}

}  // namespace

uint32_t groups_of(const DemoOptions& options) {
  return static_cast<uint32_t>(
      std::ranges::count(scalars_of(settings_of(options)), ScalarKind::group_member, &ScalarRule::kind));
}

namespace {

void add_noise(HorizontalSettings& settings, const DemoOptions& options, double noise_multiplier) {
  settings.update.weight_max = 1;
  settings.update.weight_share_max = 1;
  settings.privacy.noise_multiplier = noise_multiplier;
  settings.privacy.target_delta = options.delta;
  if (options.adaptive_clip) settings.privacy.adaptive_clip = {.quantile = *options.adaptive_clip};
}

// What a round releases at this multiplier, in the terms of its mechanism.
Noise noise_at(const DemoOptions& options, uint64_t value_count, double multiplier) {
  HorizontalSettings settings = settings_of(options);
  add_noise(settings, options, multiplier);
  if (!is_noise_of_devices(options)) {
    const Result<CentralNoise> noise = central_noise_of(settings, value_count);
    return noise ? Noise(DiscreteGaussianNoise{noise->sigma, noise->l2_sensitivity, false}) : GaussianNoise{multiplier};
  }
  // Where there is no such noise the server will say so; a search goes on from what it would cost without a grid.
  const Result<PrivacyRules> rules = privacy_rules_of(settings, value_count);
  if (!rules) return GaussianNoise{multiplier};
  const Result<LedgerRelease> release = release_of(*rules, update_value_count(settings, value_count));
  return release ? noise_of(*release) : Noise(GaussianNoise{multiplier});
}

// What all rounds cost at this multiplier by the account that decides whether a round may begin: the ledger's, which
// charges the samplers' error to delta e^epsilon times. Nothing: the server refuses such a job, and says why.
Result<std::optional<double>> epsilon_at_server(const DemoOptions& options, uint64_t value_count, double multiplier) {
  HorizontalSettings settings = settings_of(options);
  add_noise(settings, options, multiplier);
  if (!is_noise_of_devices(options) && !settings.privacy.has_central_noise()) return std::optional<double>();
  if (is_noise_of_devices(options)) {
    COT_ASSIGN([[maybe_unused]] const PrivacyRules rules, privacy_rules_of(settings, value_count));
  } else {
    COT_ASSIGN([[maybe_unused]] const CentralNoise noise, central_noise_of(settings, value_count));
  }
  COT_ASSIGN(const PrivacyAccount account,
             account_of({{release_of(settings, value_count), options.rounds}}, options.delta));
  if (std::isfinite(account.epsilon)) return std::optional(account.epsilon);
  // Above an epsilon of some 57 nothing is left of delta, and a job would stop half way.
  return Error(ErrorCode::invalid_argument,
               "a noise multiplier of " + number_words(multiplier) + " is so little in " +
                   std::to_string(options.rounds) +
                   " rounds that no epsilon can be told; ask for more noise, fewer rounds, or a "
                   "--target-epsilon of at most 50");
}

// The least multiplier from `found` on, within kTolerance and from above, at which all rounds are within the target by
// the server's account.
Result<double> enough_at_server(const DemoOptions& options, uint64_t value_count, double found) {
  constexpr double kTolerance = 1e-4, kMost = 16;
  const auto is_enough = [&](double multiplier) -> Result<bool> {
    COT_ASSIGN(const std::optional<double> epsilon, epsilon_at_server(options, value_count, multiplier));
    return !epsilon || *epsilon <= *options.target_epsilon;
  };
  COT_ASSIGN(bool enough, is_enough(found));
  if (enough) return found;
  double low = found, high = found;
  for (double step = 0.01; !enough; step *= 2) {
    if (step > kMost) {
      return Error(ErrorCode::invalid_argument,
                   "no noise keeps " + std::to_string(options.rounds) + " rounds within an epsilon of " +
                       number_words(*options.target_epsilon) + "; ask for fewer rounds, or allow more");
    }
    low = high;
    high = found * (1 + step);
    COT_ASSIGN(enough, is_enough(high));
  }
  while (high > low * (1 + kTolerance)) {
    const double middle = (low + high) / 2;
    COT_ASSIGN(enough, is_enough(middle));
    (enough ? high : low) = middle;
  }
  return high;
}

}  // namespace

TrainingSettings training_of(const DemoOptions& options) {
  TrainingSettings training = options.judged_by();
  training.batch_size = options.batch_size;
  training.local_epochs = options.local_epochs;
  training.proximal_mu = static_cast<float>(options.proximal_mu);
  training.augment = options.augment;
  training.storage = options.storage;
  training.early_stopping = options.early_stopping;
  training.personal = options.personal;
  training.widths = options.widths;
  training.watch = options.watch;
  training.qat = options.qat;
  training.freeze = options.freeze;
  training.train_only = options.train_only;
  training.train_last = options.train_last;
  training.lora = options.lora;
  training.optimizer.kind = options.optimizer;
  training.optimizer.learning_rate = static_cast<float>(options.device_rate());
  training.optimizer.weight_decay = static_cast<float>(options.weight_decay);
  training.optimizer.momentum = static_cast<float>(options.momentum);
  return training;
}

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
    COT_ASSIGN(const std::optional<double> epsilon, epsilon_at_server(options, value_count, noise.noise_multiplier));
    noise.epsilon_budget = options.target_epsilon.value_or(std::max(account.epsilon, epsilon.value_or(0)));
  } else {
    COT_ASSIGN(const Calibration found, calibrate_noise(at, *options.target_epsilon, delta));
    COT_ASSIGN(noise.noise_multiplier, enough_at_server(options, value_count, found.noise_multiplier));
    noise.epsilon_budget = *options.target_epsilon;
  }
  return noise;
}

Result<HorizontalSettings> job_settings(const DemoOptions& options, uint64_t value_count) {
  HorizontalSettings settings = settings_of(options);
  if (!options.has_noise()) return settings;
  COT_ASSIGN(const DemoNoise noise, noise_of(options, value_count));
  add_noise(settings, options, noise.noise_multiplier);
  settings.privacy.epsilon_budget = noise.epsilon_budget;
  return settings;
}

Result<JobSettings> demo_job(const DemoOptions& options, uint64_t value_count, const Digest& model,
                             const Digest& evaluation) {
  COT_ASSIGN(HorizontalSettings settings, job_settings(options, value_count));
  settings.model = model;
  settings.evaluation = evaluation;
  JobSettings job{.common = {}, .kind = std::move(settings)};
  const size_t colon = options.data.find(':');
  const bool is_directory = colon == std::string::npos && options.data != "digits";
  job.common.name = is_directory ? "demo-shards" : "demo-" + options.data.substr(0, colon);
  return job;
}

std::string to_text(const JobSettings& job) { return to_json(job).dump(2) + "\n"; }

Result<std::string> job_request(const DemoOptions& options, uint64_t value_count, const Digest& model,
                                const Digest& evaluation) {
  COT_ASSIGN(const JobSettings job, demo_job(options, value_count, model, evaluation));
  return to_text(job);
}

}  // namespace coterie
