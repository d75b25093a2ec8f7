#include "device_sdk/runtime/training_identity.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <initializer_list>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/text/concat.h"
#include "proto/messages/training_state.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

constexpr size_t kValueBytesMax = 64;

// --- one value as text: the same for equal values and no others, whatever the locale

template <typename T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
TextPiece number(T value) {
  if constexpr (std::signed_integral<T> && !std::same_as<T, bool>) return TextPiece(static_cast<int64_t>(value));
  else return TextPiece(static_cast<uint64_t>(value));
}
TextPiece number(float value) { return TextPiece(std::bit_cast<uint32_t>(value)); }
TextPiece number(double value) { return TextPiece(std::bit_cast<uint64_t>(value)); }

// With its length, so that neighbours cannot be mistaken for each other.
std::string written(const std::string& value) { return concat({value.size(), ":", value}); }

std::string joined(std::initializer_list<TextPiece> values) {
  std::string text;
  for (const TextPiece& value : values) {
    value.append_to(text);
    text += ' ';
  }
  return text;
}

// Each of these takes its struct apart, so it does not compile once a member is added: whoever adds one decides whether
// the training's bits depend on it.
std::string written(const LearningRateSchedule& schedule) {
  const auto& [kind, warmup_steps, period, gamma, min, patience] = schedule;
  return joined({number(kind), number(warmup_steps), number(period), number(gamma), number(min), number(patience)});
}

std::string written(const EarlyStopping& stopping) {
  const auto& [validation_share, patience] = stopping;
  return joined({number(validation_share), number(patience)});
}

std::string written(const TrainingHead& head) {
  const auto& [output, loss, weight] = head;
  return joined({written(output), number(loss), number(weight)});
}

std::string written(const LossScaling& scaling) {
  const auto& [start, growth_steps] = scaling;
  return joined({number(start), number(growth_steps)});
}

std::string written(const QuantisedTraining& quantised) {
  const auto& [parts, weight_bits] = quantised;
  return joined({number(parts), number(weight_bits)});
}

std::string written(const ParameterGroup& group) {
  const auto& [pattern, learning_rate_scale, weight_decay] = group;
  return joined({written(pattern), number(learning_rate_scale), number(weight_decay)});
}

std::string written(const ChannelUpdate& update) {
  const auto& [pattern, first, last, fraction] = update;
  return joined({written(pattern), number(first), number(last), number(fraction)});
}

std::string written(float value) { return concat({number(value)}); }

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

  void add(std::string_view name, TextPiece value) { text += concat({name, "=", value, "\n"}); }
  void add_text(std::string_view name, const std::string& value) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
    const bool is_as_it_is = value.size() <= kValueBytesMax && std::all_of(value.begin(), value.end(), is_plain);
    add(name, is_as_it_is ? value : content_digest(as_bytes(value)).hex());
  }
};

void add(Lines& lines, const LossSettings& loss) {
  const auto& [kind, target, label_smoothing, threshold, class_weights, ignore_label, heads] = loss;
  lines.add("loss", number(kind));
  lines.add("targets_are_values", number(target));
  lines.add("label_smoothing", number(label_smoothing));
  lines.add("loss_threshold", number(threshold));
  lines.add_text("class_weights", written(class_weights));
  if (ignore_label) lines.add("ignore_label", number(*ignore_label));  // as below: nothing where it says nothing
  if (!heads.empty()) lines.add_text("heads", written(heads));
}

void add(Lines& lines, const OptimizerSettings& optimizer) {
  const auto& [kind, learning_rate, momentum, weight_decay, beta1, beta2, epsilon, smoothing, nesterov] = optimizer;
  lines.add("optimizer", number(kind));
  lines.add("learning_rate", number(learning_rate));
  lines.add("momentum", number(momentum));
  lines.add("weight_decay", number(weight_decay));
  lines.add("beta1", number(beta1));
  lines.add("beta2", number(beta2));
  lines.add("epsilon", number(epsilon));
  lines.add("smoothing", number(smoothing));
  lines.add("nesterov", number(nesterov));
}

std::string_view name_of(std::string_view line) { return line.substr(0, line.find('=')); }

void put_in_order(std::vector<std::string_view>& sorted, std::string_view line) {
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), line), line);
}

// By the alphabet.
std::vector<std::string_view> sorted_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    put_in_order(lines, line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return lines;
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
  lines.add_text("schedule", written(schedule));
  if (follows_the_end(schedule.kind)) lines.add("steps", number(steps_in_all));
  lines.add("batch_size", number(batch_size));
  lines.add("micro_batch_size", number(micro_batch_size == batch_size ? 0 : micro_batch_size));
  lines.add("clip_norm", number(clip_norm));
  lines.add("clip_value", number(clip_value));
  lines.add_text("freeze", written(freeze));
  lines.add_text("train_only", written(train_only));
  lines.add("train_last", number(train_last));
  lines.add_text("channels", written(channels));
  lines.add_text("groups", written(groups));
  // Left out where it says nothing: checkpoints of builds that knew none of it go on.
  if (proximal_mu != 0) lines.add("proximal_mu", number(proximal_mu));
  if (gradient_offset) {
    lines.add_text("gradient_offset", written(content_digest(bytes_of(*gradient_offset)).hex()));
  }
  if (!augment.empty()) lines.add_text("augment", written(augment));
  if (early_stopping) lines.add_text("early_stopping", written(*early_stopping));
  if (qat) lines.add_text("qat", written(*qat));
  // The levels above have the bits of rounding, and those below of exact.
  if (optimisation < Optimisation::rounding) lines.add("optimise", number(Optimisation::exact));
  lines.add("freeze_statistics", number(freeze_statistics));
  lines.add("storage", number(storage));
  lines.add_text("loss_scale", written(loss_scaling));
  if (data) lines.text += "data=" + data->hex() + "\n";
  COT_ASSERT(lines.text.size() <= kTrainingIdentityBytesMax);
  return std::move(lines.text);
}

std::string identity_difference(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> first = sorted_lines(a), second = sorted_lines(b);
  std::vector<std::string_view> names;
  for (const auto& [lines, others] : {std::pair(&first, &second), std::pair(&second, &first)}) {
    for (const std::string_view line : *lines) {
      if (!std::binary_search(others->begin(), others->end(), line)) put_in_order(names, name_of(line));
    }
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && names[i] == names[i - 1]) continue;
    if (!text.empty()) text += ", ";
    text += names[i];
  }
  return text;
}

}  // namespace coterie
