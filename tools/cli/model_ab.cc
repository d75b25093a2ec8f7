#include "tools/cli/model_ab.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "base/random.h"
#include "fl_server/json/json_reader.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/rollout/paired_scores.h"

namespace coterie {
namespace {

constexpr const char* kAb = "model ab";
constexpr uint64_t kScoreBytesMax = 1ull << 30;

RolloutTrial trial_of(const RolloutSettings& settings, const std::vector<PairedScore>& scores) {
  RolloutTrial trial(settings);
  for (const PairedScore& score : scores) trial.observe(score.harm());
  return trial;
}

// A version that is as good as the one before, at the same devices: by chance, the two change places at each.
double alarm_rate(const ModelAbOptions& options, const std::vector<PairedScore>& scores) {
  uint32_t alarms = 0;
  for (uint32_t i = 0; i < options.null_rollouts; ++i) {
    Prng chance = Prng::derived(options.seed, i);
    RolloutTrial trial(options.settings);
    for (const PairedScore& score : scores) trial.observe(chance.chance(0.5) ? score.harm() : -score.harm());
    alarms += trial.verdict() == RolloutVerdict::harmful;
  }
  return static_cast<double>(alarms) / std::max(1u, options.null_rollouts);
}

// What a verdict is about where harms are clipped.
std::string clip_of(const RolloutSettings& settings) {
  if (settings.harm_max >= 1) return "";
  return ", with differences clipped at " + format_fixed(100 * settings.harm_max, 2) + " points";
}

std::string sentence_of(const RolloutTrial& trial, const RolloutSettings& settings) {
  switch (trial.verdict()) {
    case RolloutVerdict::harmful: return "the new version is worse" + clip_of(settings) + ": roll back";
    case RolloutVerdict::harmless:
      return "the new version is not worse by " + format_fixed(100 * settings.margin, 2) + " points" +
             clip_of(settings) + ": release";
    case RolloutVerdict::undecided: return "neither is shown, and no more devices are to be asked";
    case RolloutVerdict::open: break;
  }
  return "neither is shown yet: more devices are needed";
}

}  // namespace

ExitCode judge_model_ab(const ModelAbOptions& options) {
  if (const Problems problems = validate(options.settings); !problems.empty()) {
    return fail_on_input(kAb, Error(ErrorCode::invalid_argument, listed(problems)));
  }
  const Result<Bytes> file = os::read_file(options.file, kScoreBytesMax);
  if (!file) return fail_on_input(kAb, file.error());
  const Result<std::vector<PairedScore>> scores = parse_paired_scores(as_text(*file));
  if (!scores) return fail_on_input(kAb, scores.error().with_context(options.file));
  const RolloutTrial trial = trial_of(options.settings, *scores);
  const double rate = alarm_rate(options, *scores);
  // As probabilities would be: the smallest alpha with which the trial would have ended so by now.
  const double harm = std::min(1.0, std::exp(-trial.log_evidence_of_harm()));
  const double harmless = std::min(1.0, std::exp(-trial.log_evidence_of_harmlessness()));
  if (options.as_json) {
    nlohmann::ordered_json json = {{"schema", "coterie.model_ab.v1"},
                                   {"verdict", to_string(trial.verdict())},
                                   {"devices", trial.devices()},
                                   {"devices_recorded", scores->size()},
                                   {"mean_harm", trial.mean_harm()},
                                   {"mean_clipped_harm", trial.mean_clipped_harm()},
                                   {"harm_max", options.settings.harm_max},
                                   {"p_harmful", harm},
                                   {"p_harmless", harmless}};
    if (options.null_rollouts > 0) json["null_alarm_rate"] = rate;
    std::printf("%s\n", json.dump().c_str());
  } else {
    std::printf("verdict   %s: %s\n", std::string(to_string(trial.verdict())).c_str(),
                sentence_of(trial, options.settings).c_str());
    std::printf("devices   %u of %zu recorded ones were heard until then\n", trial.devices(), scores->size());
    std::printf("harm      %s points of accuracy, the mean over these devices\n",
                format_fixed(100 * trial.mean_harm(), 2).c_str());
    if (options.settings.harm_max < 1) {
      std::printf("clipped   %s points, the mean of differences clipped at %s: the verdict is about it\n",
                  format_fixed(100 * trial.mean_clipped_harm(), 2).c_str(),
                  format_fixed(100 * options.settings.harm_max, 2).c_str());
    }
    std::printf("evidence  p %s that it is worse, p %s that it is not by the margin\n", format_fixed(harm, 4).c_str(),
                format_fixed(harmless, 4).c_str());
    if (options.null_rollouts > 0) {
      std::printf("alarms    %s %% of %u rollouts of a version that is as good\n", format_fixed(100 * rate, 1).c_str(),
                  options.null_rollouts);
    }
  }
  return trial.verdict() == RolloutVerdict::harmful ? ExitCode::failure : ExitCode::ok;
}

}  // namespace coterie
