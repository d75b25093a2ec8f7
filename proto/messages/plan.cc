#include "proto/messages/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/text/concat.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/group_weights.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/quantized_lanes.h"
#include "proto/messages/state_kind.h"
#include "proto/messages/training_rules.h"
#include "proto/messages/watch_lanes.h"
#include "proto/messages/watch_noise.h"

namespace coterie {
namespace {

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"plan: ", what})); }

constexpr std::array<std::string_view, 11> kLossNames = {"softmax_cross_entropy",
                                                         "mean_squared_error",
                                                         "binary_cross_entropy",
                                                         "binary_cross_entropy_of_probabilities",
                                                         "negative_log_likelihood",
                                                         "kl_divergence",
                                                         "l1",
                                                         "huber",
                                                         "smooth_l1",
                                                         "cosine_embedding",
                                                         "triplet_margin"};
constexpr std::array<std::string_view, 10> kOptimizerNames = {"sgd",      "adam", "adamw", "adagrad", "rmsprop",
                                                              "adadelta", "lamb", "lion",  "muon",    "shampoo"};
constexpr std::array<std::string_view, 2> kTargetNames = {"labels", "values"};  // from 0
constexpr std::array<std::string_view, 2> kStorageNames = {"float32", "bf16"};  // likewise

// The values of both enums count from 1.
template <typename Names, typename Value>
std::string_view name_of(const Names& names, Value value) {
  const size_t index = static_cast<size_t>(value) - 1;
  return index < names.size() ? names[index] : "unknown";
}

template <typename Names, typename Value>
std::string_view name_from_0(const Names& names, Value value) {
  const auto index = static_cast<size_t>(value);
  return index < names.size() ? names[index] : "unknown";
}

template <typename Value, typename Names>
std::optional<Value> from_name(const Names& names, std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Value>(i + 1);
  }
  return std::nullopt;
}

bool in_range(float value, float low, float high) { return std::isfinite(value) && value >= low && value <= high; }

// ADR 137 says why no mask goes over such an update.
Status validate_eden(const Plan& plan) {
  const QuantizationRules& rules = plan.update.quantization;
  if (rules.bits < 1 || rules.bits > kEdenBitsMax) return bad("eden: bits must be in [1, 4]");
  if (rules.rotated || rules.contributors_max != 0) return bad("eden: quantization must have bits alone");
  if (plan.update.value_count < kEdenValuesMin) {
    return bad(concat({"eden: value_count must be at least ", kEdenValuesMin}));
  }
  if (plan.privacy.level != SecurityLevel::none) return bad("eden: level must be none: each update has its own scale");
  return {};
}

Status validate_top_k(const Plan& plan) {
  const TopKRules& rules = plan.update.top_k;
  if (plan.update.encoding != UpdateEncoding::top_k) {
    return rules == TopKRules{} ? Status() : bad("top_k must be absent with another encoding");
  }
  if (!is_top_k_bits(rules.bits)) return bad("top_k: bits must be 32 or in [2, 16]");
  const uint64_t values = plan.update.value_count;
  if (rules.sent_count < 1 || rules.sent_count > values || values / rules.sent_count >= kTopKSparsityMax) {
    return bad("top_k: sent_count must be at most value_count, and at least 1 of 65535 values");
  }
  if (plan.privacy.level != SecurityLevel::none)
    return bad("top_k: level must be none: devices send other values each");
  if (!rules.has_error_feedback) return {};
  if (plan.update.clip_l2 > 0) return bad("top_k: clip_l2 must be 0 with error feedback");
  // A device keeps one vector of a job.
  if (state_kind(plan.training) != StateKind::none) {
    return bad("top_k: correction and personal must be absent with error feedback");
  }
  return {};
}

Status validate_quantization(const Plan& plan) {
  const QuantizationRules& rules = plan.update.quantization;
  if (plan.update.encoding == UpdateEncoding::eden) return validate_eden(plan);
  if (plan.update.encoding != UpdateEncoding::quantized) {
    return rules == QuantizationRules{} ? Status() : bad("quantization must be absent with another encoding");
  }
  COT_TRY(validate(rules));
  if (!(plan.update.clip_l2 > 0)) return bad("clip_l2 must be > 0 with quantized updates: their grid is made for it");
  if (plan.privacy.level == SecurityLevel::active_dp) {
    return bad("encoding must be float32 where devices add noise");
  }
  const bool is_masked = plan.privacy.level != SecurityLevel::none;
  if (is_masked != (rules.contributors_max > 0)) {
    return bad("quantized: contributors_max must be there behind masks, and nowhere else");
  }
  if (is_masked && rules.contributors_max < plan.privacy.cohort_min) {
    return bad("quantized: contributors_max must be at least cohort_min");
  }
  return {};
}

Status validate_clip(const Plan& plan) {
  const UpdateRules& update = plan.update;
  if (!update.has_clip_bit())
    return update.clip == ClipRules{} ? Status() : bad("clip must be absent with another encoding");
  if (update.value_count < 2) return bad("value_count must be at least 2 with clip bits: one of them is the bit");
  if (!(update.clip.clip_norm >= kClipNormMin && update.clip.clip_norm <= kClipNormMax)) {
    return bad("clip_norm must be in [1e-12, 1e12]");
  }
  if (!(update.clip_l2 > 0 && update.clip_l2 <= update.fixed_point.value_abs_max)) {
    return bad("clip_l2 must be > 0 with clip bits, and at most value_abs_max");
  }
  if (!(update.clip.bit > 0 && update.clip.bit <= update.clip_l2)) return bad("bit must be in (0, clip_l2]");
  if (plan.privacy.level != SecurityLevel::none && plan.privacy.level != SecurityLevel::active_dp) {
    return bad("encoding must be another one at this level: clip bits need noise");
  }
  if (plan.training.correction != DriftCorrection{}) {
    return bad("correction must be absent with clip bits: it moves by what a device sends");
  }
  return {};
}

// How many values are trained is known by who has the model.
Status validate_trained(const Plan& plan) {
  const UpdateRules& update = plan.update;
  if (update.whole_value_count > (1ull << 32)) return bad("whole_value_count must be at most 2^32");
  if (plan.training.lora) {
    return update.has_trained_alone() ? Status() : bad("whole_value_count must be above 0 with lora");
  }
  const std::optional<PersonalSettings>& personal = plan.training.personal;
  if (personal && personal->kind == PersonalKind::part && !update.has_trained_alone()) {
    return bad("whole_value_count must be above 0 with a personal part: it is in no update");
  }
  if (!update.has_trained_alone()) return {};
  const uint64_t others = update.control_value_count + (update.has_clip_bit() ? 1 : 0) + update.scalars.size();
  if (update.value_count <= others || update.value_count - others > update.whole_value_count) {
    return bad("value_count must be that of at most whole_value_count values");
  }
  return {};
}

// Which of the two parts a value is of is known by its place alone.
Status validate_control(const Plan& plan) {
  const UpdateRules& update = plan.update;
  const std::string name(to_string(plan.training.correction.kind));
  if (!has_control(plan.training.correction.kind)) {
    if (update.control_value_count != 0) return bad("control_value_count must be 0: there is no such correction");
    const bool may_be_there = group_count(update) > 0;  // of groups it has the weights
    return plan.control && !may_be_there ? bad("control must be absent: there is no such correction") : Status();
  }
  if (update.control_value_count == 0 || update.vector_value_count() != 2 * update.control_value_count) {
    return bad(concat({"control_value_count must be half of value_count, scalars aside, with ", name}));
  }
  if (update.encoding != UpdateEncoding::float32 && update.encoding != UpdateEncoding::float32_pooled) {
    return bad(concat(
        {"encoding must be float32 or float32_pooled with ", name, ": its control moves by what a device sends"}));
  }
  if (plan.privacy.level == SecurityLevel::active_dp) {
    return bad(concat({"level must be another one with ", name, ": its control would keep the noise of all rounds"}));
  }
  return {};
}

bool is_known(ScalarKind kind) { return to_string(kind) != "unknown"; }

// Scalars of that kind are so many, of bound 1, and none is of another kind beside them.
Status validate_members(const UpdateRules& update, ScalarKind kind, size_t count, const char* of_each) {
  const auto members = static_cast<size_t>(std::ranges::count(update.scalars, kind, &ScalarRule::kind));
  const std::string name(to_string(kind));
  if (members != count || (members > 0 && members != update.scalars.size())) {
    return bad(concat({"scalars must be one ", name, " for each ", of_each, ", and no others with those"}));
  }
  for (const ScalarRule& scalar : update.scalars) {
    if (members > 0 && scalar.bound != 1) return bad(concat({"the bound of ", name, " must be 1"}));
  }
  return {};
}

// Which width a device trained is told by all but the narrowest, whose part all have.
Status validate_widths(const Plan& plan) {
  const std::vector<uint32_t>& widths = plan.training.widths;
  const size_t told = widths.empty() ? 0 : widths.size() - 1;
  COT_TRY(validate_members(plan.update, ScalarKind::width_holder, told, "width but the narrowest"));
  if (!widths.empty() && plan.training.correction != DriftCorrection{}) {
    return bad("correction must be absent with widths: what a device keeps of it is of one width");
  }
  return {};
}

// A slot for each cluster, and a scalar for each that says which one is filled.
Status validate_clusters(const Plan& plan) {
  const UpdateRules& update = plan.update;
  const uint32_t count = cluster_count(plan.training);
  COT_TRY(validate_members(update, ScalarKind::cluster_member, count > 1 ? count : 0, "cluster"));
  if (count == 1) return {};
  const bool are_slots = update.vector_value_count() % count == 0 && update.whole_value_count % count == 0;
  return are_slots ? Status() : bad("value_count and whole_value_count must be so many values for each cluster");
}

// First whether the device is in each group, then what it loses in each.
Status validate_groups(const Plan& plan) {
  const std::vector<ScalarRule>& scalars = plan.update.scalars;
  const auto count = static_cast<uint64_t>(std::ranges::count(scalars, ScalarKind::group_member, &ScalarRule::kind));
  if (count == 0 && std::ranges::find(scalars, ScalarKind::group_loss, &ScalarRule::kind) == scalars.end()) return {};
  const std::string groups = "[" + std::to_string(kGroupsMin) + ", " + std::to_string(kGroupsMax) + "]";
  if (count < kGroupsMin || count > kGroupsMax || scalars.size() - watch_lanes_of(scalars) != 2 * count) {
    return bad(concat({"scalars must be a group_member and a group_loss for each of ", groups,
                       " groups, and none but those of a watch"}));
  }
  for (size_t i = 0; i < count; ++i) {
    const ScalarRule &member = scalars[i], &loss = scalars[count + i];
    if (member != ScalarRule{ScalarKind::group_member, 1})
      return bad("the first half must be group_member, of bound 1");
    if (loss != ScalarRule{ScalarKind::group_loss, scalars[count].bound}) {
      return bad("the second half must be group_loss, of one bound");
    }
  }
  if (scalars[count].bound > kFairLossMax) return bad("the bound of group_loss must be in (0, 1e6]");
  if (plan.training.correction != DriftCorrection{}) return bad("correction must be absent with groups");
  return plan.training.personal ? bad("personal must be absent with groups") : Status();
}

// A watch's lanes are behind all other scalars, as many as its checks come to.
Status validate_watch(const Plan& plan) {
  const std::vector<ScalarRule>& scalars = plan.update.scalars;
  const size_t found = watch_lanes_of(scalars);
  if (!plan.training.watch) return found == 0 ? Status() : bad("scalars must have no watch_hit without a watch");
  const WatchSettings& watch = *plan.training.watch;
  for (const std::string& check : watch.checks) {
    if (find_job_check(check) == nullptr) return bad("watch: its checks must be names that this version knows");
  }
  const size_t lanes = watch_lane_count(watch);
  if (found != lanes || watch_lanes_of(std::span(scalars).last(std::min(lanes, scalars.size()))) != lanes) {
    return bad(concat({"scalars must end with the watch's ", lanes, " of kind watch_hit"}));
  }
  for (const ScalarRule& scalar : std::span(scalars).last(lanes)) {
    if (!(scalar.bound >= 1) || scalar.bound != scalars.back().bound) {
      return bad("the bound of watch_hit must be 1, or one above it for all where noise covers them");
    }
  }
  if (has_noisy_watch(plan.update) && scalars.size() != lanes) return bad("scalars must be a watch's alone with noise");
  return {};
}

// Scalars are told as they are: what rounds, noises or delays an update would make other numbers of them.
Status validate_scalars(const Plan& plan) {
  const UpdateRules& update = plan.update;
  const FairWeight& fair = update.fair;
  bool has_fair_step = false;
  COT_TRY(validate_watch(plan));
  if (update.scalars.size() - watch_lanes_of(update.scalars) > kScalarsMax) {
    return bad(concat({"scalars must be at most ", kScalarsMax, " beside those of a watch"}));
  }
  if (update.value_count <= update.scalars.size()) return bad("value_count must be above that of the scalars");
  for (size_t i = 0; i < update.scalars.size(); ++i) {
    const ScalarRule& scalar = update.scalars[i];
    if (!is_known(scalar.kind)) return bad("a scalar's kind is none that this version knows");
    if (!in_range(scalar.bound, 0, kScalarBoundMax) || scalar.bound == 0) {
      return bad("a scalar's bound must be in (0, 1e12]");
    }
    for (size_t j = 0; j < i; ++j) {
      const bool may_repeat = scalar.kind != ScalarKind::squared_norm && scalar.kind != ScalarKind::fair_step;
      if (update.scalars[j].kind == scalar.kind && !may_repeat) return bad("scalars must be of different kinds");
    }
    has_fair_step = has_fair_step || scalar.kind == ScalarKind::fair_step;
  }
  if (!in_range(fair.q, 0, kFairPowerMax) || !in_range(fair.loss_max, 0, kFairLossMax)) {
    return bad("fair weights must have a q in [0, 10] and a loss_max in [0, 1e6]");
  }
  COT_TRY(validate_clusters(plan));
  COT_TRY(validate_groups(plan));
  COT_TRY(validate_widths(plan));
  if (has_fair_step != fair.is_on() || (!fair.is_on() && fair.q != 0)) {
    return bad("fair weights and the scalar fair_step must be there together");
  }
  if (fair.is_on() && plan.training.personal) return bad("personal must be absent with fair weights");
  if (fair.is_on() && update.fixed_point.weight_max != 1) return bad("weight_max must be 1 with fair weights");
  if (update.scalars.empty()) return {};
  if (plan.staleness.has_later_rounds()) return bad("staleness must be absent with scalars");
  // Lanes that are made for noise have what noise has to hide bounded, as clip bits have.
  if (has_noisy_watch(update)) {
    const bool may_be = update.encoding == UpdateEncoding::float32 || update.has_clip_bit();
    if (!may_be) return bad("encoding must be float32 or float32_clip_bit with a watch that noise covers");
    const SecurityLevel level = plan.privacy.level;
    const bool has_noise = level == SecurityLevel::none || level == SecurityLevel::active_dp;
    return has_noise ? Status() : bad("the bound of watch_hit must be 1 at this level: there is no noise");
  }
  if (update.encoding != UpdateEncoding::float32 && update.encoding != UpdateEncoding::float32_pooled) {
    return bad("encoding must be float32 or float32_pooled with scalars");
  }
  if (plan.privacy.level == SecurityLevel::active_dp) return bad("level must be another one with scalars");
  return {};
}

// What leads to a round's model. Whether the deltas follow one another is not looked at: where each leads is known by
// its file alone, and whoever goes that way looks at what comes of it (delta_download.h).
Status validate_download(const DownloadRules& download) {
  if (!download.has_deltas())
    return download.deltas.empty() ? Status() : bad("deltas must be absent: they have no bits");
  if (download.bits < kDeltaBitsMin || download.bits > kDeltaBitsMax) return bad("download must have 2 to 8 bits");
  if (download.deltas.size() > kDeltaChainMax) {
    return bad(concat({"download must have at most ", kDeltaChainMax, " deltas"}));
  }
  for (const DeltaFile& delta : download.deltas) {
    if (delta.bytes < 1 || delta.bytes > kDeltaBytesMax) return bad("a delta must have 1 to 2^34 bytes");
  }
  return {};
}

// A table is summed as it is: what scales, rounds or keeps an update would make another of it.
Status validate_analytics(const Plan& plan) {
  if (!plan.analytics) return {};
  if (const Status good = validate(*plan.analytics); !good) return bad(concat({"analytics: ", good.error().message()}));
  const auto refuse = [](const char* with) { return bad(concat({"analytics do not go with ", with})); };
  if (plan.training != TrainingSettings{}) return refuse("a training");
  if (plan.update.encoding != UpdateEncoding::float32) return refuse("another encoding than float32");
  if (plan.update.control_value_count > 0 || plan.control) return refuse("a control part");
  if (!plan.update.scalars.empty()) return refuse("scalars");
  if (plan.update.has_trained_alone()) return refuse("trained values alone");
  if (plan.update.fixed_point.weight_max != 1) return refuse("weights of devices");
  if (plan.staleness != StalenessRules{}) return refuse("staleness");
  if (plan.download != DownloadRules{}) return refuse("deltas");
  if (plan.update.value_count != lane_count(*plan.analytics)) return bad("value_count must be the table's lanes");
  if (plan.update.clip_l2 != clip_of(*plan.analytics)) return bad("clip_l2 must be what a device may add to the table");
  return {};
}

}  // namespace

std::span<const std::string_view> loss_names() { return kLossNames; }
std::span<const std::string_view> optimizer_names() { return kOptimizerNames; }
std::span<const std::string_view> target_names() { return kTargetNames; }
std::span<const std::string_view> storage_names() { return kStorageNames; }
std::string_view to_string(TargetKind kind) { return name_from_0(kTargetNames, kind); }
std::string_view to_string(Storage storage) { return name_from_0(kStorageNames, storage); }
std::string_view to_string(Loss loss) { return name_of(kLossNames, loss); }
std::string_view to_string(OptimizerKind kind) { return name_of(kOptimizerNames, kind); }
std::optional<Loss> loss_from(std::string_view name) { return from_name<Loss>(kLossNames, name); }
std::optional<OptimizerKind> optimizer_from(std::string_view name) {
  return from_name<OptimizerKind>(kOptimizerNames, name);
}

Status validate(const Plan& plan) {
  if (plan.job.value().empty() || plan.job.value().size() > 64) return bad("job must have 1 to 64 characters");
  if (const Problems problems = problems_of(plan.training); !problems.empty()) {
    const Problem& first = problems.front();
    return bad(concat({first.pointer.substr(first.pointer.rfind('/') + 1), " ", first.detail}));
  }
  if (plan.update.encoding < UpdateEncoding::float32 || plan.update.encoding > UpdateEncoding::eden) {
    return bad("encoding must be float32, float32_pooled, quantized, float32_clip_bit, top_k or eden");
  }
  // What noise has to hide is the norm of all coordinates, and the clip leaves pooled statistics out.
  if (plan.update.encoding == UpdateEncoding::float32_pooled && plan.privacy.level == SecurityLevel::active_dp) {
    return bad("encoding must be float32 where devices add noise");
  }
  if (plan.update.value_count < 1 || plan.update.value_count > (1ull << 32)) {
    return bad("value_count must be in [1, 2^32]");
  }
  COT_TRY(validate_scalars(plan));  // in front of what counts the values without them
  COT_TRY(validate_trained(plan));
  if (!in_range(plan.update.clip_l2, 0, 1e9f)) return bad("clip_l2 must be in [0, 1e9]");
  COT_TRY(validate(plan.update.fixed_point));
  COT_TRY(validate_quantization(plan));
  COT_TRY(validate_top_k(plan));
  COT_TRY(validate_clip(plan));
  COT_TRY(validate_control(plan));
  if ((plan.ledger.records == 0) != (plan.ledger.head == Digest{})) {
    return bad("ledger must have a head if it has records, and none if it has none");
  }
  if (plan.log && (plan.log->head.size < 1 || plan.log->head.size > plan.ledger.records)) {
    return bad("log must have 1 to so many records as the ledger that it is a part of");
  }
  if (const Status good = validate(plan.device_requirements); !good) {
    return bad(concat({"device_requirements: ", good.error().message()}));
  }
  if (plan.staleness.versions_max > kStalenessMax || !in_range(plan.staleness.exponent, 0, 10)) {
    return bad(concat({"staleness must have at most ", kStalenessMax, " versions and an exponent in [0, 10]"}));
  }
  // What a release with noise or a correction promises is of one round. And from level active on devices count on one
  // model from which all of a session have trained (ADR 127).
  const bool may_be_late = plan.privacy.level <= SecurityLevel::masked && plan.privacy.epsilon_round == 0 &&
                           state_kind(plan.training) == StateKind::none;
  if (plan.staleness.has_later_rounds() && !may_be_late) {
    return bad("staleness goes with levels none and masked, without noise and without a state of the device's");
  }
  const bool is_of_one_round =
      plan.update.encoding == UpdateEncoding::top_k || plan.update.encoding == UpdateEncoding::eden;
  if (plan.staleness.has_later_rounds() && is_of_one_round) return bad("staleness does not go with this encoding");
  COT_TRY(validate_download(plan.download));
  COT_TRY(validate_analytics(plan));
  return validate(plan.privacy);
}

}  // namespace coterie
