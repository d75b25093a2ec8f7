#include "device_sdk/runtime/training_identity.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <map>

#include "base/assert.h"
#include "base/bytes.h"
#include "proto/messages/training_state.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

constexpr size_t kValueBytesMax = 64;

// --- one value as text: the same for equal values and no others, whatever the locale

std::string written(std::integral auto value) { return std::to_string(value); }
std::string written(float value) { return std::to_string(std::bit_cast<uint32_t>(value)); }
std::string written(double value) { return std::to_string(std::bit_cast<uint64_t>(value)); }

template <typename Enum>
  requires std::is_enum_v<Enum>
std::string written(Enum value) {
  return std::to_string(static_cast<uint32_t>(value));
}

// With its length, so that neighbours cannot be mistaken for each other.
std::string written(const std::string& value) { return std::to_string(value.size()) + ":" + value; }

template <typename... Values>
std::string joined(const Values&... values) {
  std::string text;
  ((text += written(values), text += ' '), ...);
  return text;
}

// Each of these takes its struct apart, so it does not compile once a member is added: whoever adds one decides whether
// the training's bits depend on it.
std::string written(const LearningRateSchedule& schedule) {
  const auto& [kind, warmup_steps, period, gamma, min, patience] = schedule;
  return joined(kind, warmup_steps, period, gamma, min, patience);
}

std::string written(const EarlyStopping& stopping) {
  const auto& [validation_share, patience] = stopping;
  return joined(validation_share, patience);
}

std::string written(const TrainingHead& head) {
  const auto& [output, loss, weight] = head;
  return joined(output, loss, weight);
}

std::string written(const LossScaling& scaling) {
  const auto& [start, growth_steps] = scaling;
  return joined(start, growth_steps);
}

std::string written(const QuantisedTraining& quantised) {
  const auto& [parts, weight_bits] = quantised;
  return joined(parts, weight_bits);
}

std::string written(const ParameterGroup& group) {
  const auto& [pattern, learning_rate_scale, weight_decay] = group;
  return joined(pattern, learning_rate_scale, weight_decay);
}

std::string written(const ChannelUpdate& update) {
  const auto& [pattern, first, last, fraction] = update;
  return joined(pattern, first, last, fraction);
}

template <typename T>
std::string written(const std::vector<T>& list) {
  std::string text;
  for (const T& value : list) text += written(value) + ' ';
  return text;
}

ByteView bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)};
}

struct Lines {
  std::string text;

  template <typename T>
  void add(std::string_view name, const T& value) {
    std::string line = written(value);
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
    if (line.size() > kValueBytesMax || !std::all_of(line.begin(), line.end(), is_plain)) {
      line = content_digest(as_bytes(line)).hex();
    }
    text.append(name).append("=").append(line).append("\n");
  }
};

void add(Lines& lines, const LossSettings& loss) {
  const auto& [kind, target, label_smoothing, threshold, class_weights, ignore_label, heads] = loss;
  lines.add("loss", kind);
  lines.add("targets_are_values", target);
  lines.add("label_smoothing", label_smoothing);
  lines.add("loss_threshold", threshold);
  lines.add("class_weights", class_weights);
  if (ignore_label) lines.add("ignore_label", *ignore_label);  // as below: nothing where it says nothing
  if (!heads.empty()) lines.add("heads", heads);
}

void add(Lines& lines, const OptimizerSettings& optimizer) {
  const auto& [kind, learning_rate, momentum, weight_decay, beta1, beta2, epsilon, smoothing, nesterov] = optimizer;
  lines.add("optimizer", kind);
  lines.add("learning_rate", learning_rate);
  lines.add("momentum", momentum);
  lines.add("weight_decay", weight_decay);
  lines.add("beta1", beta1);
  lines.add("beta2", beta2);
  lines.add("epsilon", epsilon);
  lines.add("smoothing", smoothing);
  lines.add("nesterov", nesterov);
}

std::map<std::string_view, std::string_view> values_by_name(std::string_view text) {
  std::map<std::string_view, std::string_view> values;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const size_t equals = line.find('=');
    values[line.substr(0, equals)] = equals == std::string_view::npos ? "" : line.substr(equals + 1);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return values;
}

bool follows_the_end(ScheduleKind kind) { return kind == ScheduleKind::cosine || kind == ScheduleKind::one_cycle; }

}  // namespace

std::string training_identity(const TrainOptions& options, uint64_t steps_in_all, const std::optional<Digest>& data) {
  const auto& [loss, optimizer, schedule, batch_size, micro_batch_size, epochs, steps_max, clip_norm, clip_value,
               freeze, train_only, train_last, channels, groups, proximal_mu, gradient_offset, freeze_statistics,
               threads, part_nanoseconds_min, storage, loss_scaling, seed, arena_bytes_max, checkpoint_cipher,
               planned_bytes_max, joins_steps, runs_waves, optimisation, augment, early_stopping, qat] = options;
  Lines lines;
  add(lines, loss);
  add(lines, optimizer);
  lines.add("schedule", schedule);
  if (follows_the_end(schedule.kind)) lines.add("steps", steps_in_all);
  lines.add("batch_size", batch_size);
  lines.add("micro_batch_size", micro_batch_size == batch_size ? 0 : micro_batch_size);
  lines.add("clip_norm", clip_norm);
  lines.add("clip_value", clip_value);
  lines.add("freeze", freeze);
  lines.add("train_only", train_only);
  lines.add("train_last", train_last);
  lines.add("channels", channels);
  lines.add("groups", groups);
  // Left out where it says nothing: checkpoints of builds that knew none of it go on.
  if (proximal_mu != 0) lines.add("proximal_mu", proximal_mu);
  if (gradient_offset) lines.add("gradient_offset", content_digest(bytes_of(*gradient_offset)).hex());
  if (!augment.empty()) lines.add("augment", augment);
  if (early_stopping) lines.add("early_stopping", *early_stopping);
  if (qat) lines.add("qat", *qat);
  // The levels above have the bits of rounding, and those below of exact.
  if (optimisation < Optimisation::rounding) lines.add("optimise", Optimisation::exact);
  lines.add("freeze_statistics", freeze_statistics);
  lines.add("storage", storage);
  lines.add("loss_scale", loss_scaling);
  if (data) lines.text += "data=" + data->hex() + "\n";
  COT_ASSERT(lines.text.size() <= kTrainingIdentityBytesMax);
  return std::move(lines.text);
}

std::string identity_difference(std::string_view a, std::string_view b) {
  const auto first = values_by_name(a), second = values_by_name(b);
  std::string names;
  const auto add_if_other = [&](std::string_view name, bool is_other) {
    if (is_other) names.append(names.empty() ? "" : ", ").append(name);
  };
  for (const auto& [name, value] : second) {
    const auto found = first.find(name);
    add_if_other(name, found == first.end() || found->second != value);
  }
  for (const auto& [name, value] : first) add_if_other(name, !second.contains(name));
  return names;
}

}  // namespace coterie
