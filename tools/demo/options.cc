#include "tools/demo/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"
#include "tools/model/default_learning_rate.h"

namespace coterie {
namespace {

// Devices of a demo are few: more of them vanish at once than their probability says. More than a third never may.
constexpr double kDropoutShareMin = 0.2, kDropoutShareMax = 0.25;

// What updates in few bits are clipped to where the user says nothing.
constexpr double kCompressedClip = 4;

// The rate of sgd where targets are numbers.
constexpr double kRateOfNumbers = 0.01;

}  // namespace

uint32_t DemoOptions::goal_count() const {
  const auto rounded = static_cast<uint32_t>(std::lround(fraction * devices));
  return std::clamp<uint32_t>(rounded, 1, devices);
}

TrainingSettings DemoOptions::judged_by() const {
  const bool has_labels = target == TargetKind::labels;
  TrainingSettings training;
  training.loss = loss.value_or(has_labels ? Loss::softmax_cross_entropy : Loss::mean_squared_error);
  if (!heads.empty()) training.loss = heads[0].loss;
  training.heads = heads;
  training.target = target;
  training.ignore_label = ignore_label;
  return training;
}

double DemoOptions::server_rate() const { return server_learning_rate.value_or(strategy->learning_rate_advised); }

double DemoOptions::device_rate() const {
  // A step along a distance grows with the distance: at the rate that classes take, a network diverges on numbers.
  if (target == TargetKind::values && optimizer == OptimizerKind::sgd) return learning_rate.value_or(kRateOfNumbers);
  // By way of its shortest text, so that the job says 0.001 and not the float next to it.
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, default_learning_rate(optimizer)).ptr;
  double rate = 0;
  std::from_chars(text, end, rate);
  return learning_rate.value_or(rate);
}

std::optional<double> DemoOptions::clip_l2() const {
  const bool needs_clip = compression.is_on() && compression.kind == CompressionKind::quantized;
  return clip || !needs_clip ? clip : kCompressedClip;
}

double DemoOptions::dropout_share() const { return std::clamp(2 * dropout, kDropoutShareMin, kDropoutShareMax); }

uint64_t device_seed(uint64_t seed, uint32_t device) { return seed * 1'000'003 + device; }

Bytes device_key(uint64_t seed, uint32_t device) {
  DomainFields fields("coterie/v1/demo-device");
  fields.add(seed).add(uint64_t{device});
  const Digest key = sha256(fields.view());
  return Bytes(key.bytes.begin(), key.bytes.end());
}

std::vector<std::string> device_policy(const DemoOptions& options) {
  std::vector<std::string> words = {"--security-level-min", std::string(to_string(options.security)), "--cohort-min",
                                    "2"};
  // Every device is in every round: one that is lost after its sum was opened is tried again by the same.
  words.insert(words.end(), {"--openings-max", "1000"});
  if (options.security != SecurityLevel::active_dp) return words;
  // Attempts that fail cost delta as well: a hundred times the whole job's is a limit that no demo meets.
  const double delta_max = std::clamp(100 * options.delta, 1e-5, 0.9);
  char text[32];
  const std::string delta(text, std::to_chars(text, text + sizeof text, delta_max).ptr);
  words.insert(words.end(), {"--epsilon-round-max", "inf", "--epsilon-total-max", "inf", "--delta-max", delta});
  return words;
}

}  // namespace coterie
