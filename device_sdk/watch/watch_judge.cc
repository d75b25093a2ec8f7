#include "device_sdk/watch/watch_judge.h"

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/loss_scaling.h"
#include "device_sdk/watch/range_count.h"

namespace coterie {
namespace {

// In a map: the key, the value, and what the tree has for itself. A pair of check and tensor may be in two.
constexpr uint64_t kEntryBytes = 80;
constexpr uint64_t kHitNameBytes = 2 * 256;  // of the layer and of the tensor

constexpr double kSmallRate = 0.01;  // of the largest learning rate so far

uint64_t whole(const WatchedCheck& watched, std::string_view setting) {
  return static_cast<uint64_t>(*watched.values[setting_index(*watched.check, setting)]);
}

bool is_finite(const TensorView& view) {
  if (view.type == ElementType::float32) return all_finite({static_cast<const float*>(view.data), view.count});
  return statistics_of(view.type, view.data, view.count).is_finite();
}

}  // namespace

WatchJudge::WatchJudge(const Model& model, WatchPlan plan, const std::vector<bool>& is_trained, uint64_t steps_an_epoch,
                       const TrainingSummary& from)
    : model_(model),
      plan_(std::move(plan)),
      tensors_(model, plan_, is_trained),
      hits_(plan_.hits_max),
      compares_weights_(tensors_.has(Subject::weight) || tensors_.has(Subject::update)),
      tracks_finite_(tensors_.has(Subject::op)),
      last_(from) {
  if (compares_weights_) before_.resize(model.value_count());
  if (tracks_finite_) finite_.resize(2 * model.graph().tensors.size());
  for (const size_t c : tensors_.of_training(Subject::loss)) {
    const uint64_t steps = whole(plan_.checks[c], "window_steps");
    losses_.emplace_back(c, LossWindows(steps == 0 ? steps_an_epoch : steps));
  }
  for (const size_t c : tensors_.of_training(Subject::update)) {
    norms_.emplace_back(c, NormHistory(whole(plan_.checks[c], "window_looks")));
  }
  for (const size_t c : tensors_.of_training(Subject::labels)) {
    const auto classes = static_cast<uint64_t>(model.output_shape().back());
    const uint64_t examples = whole(plan_.checks[c], "window_examples");
    label_counts_.emplace_back(c, LabelCounts(classes, examples == 0 ? label_window(classes) : examples));
  }
}

bool WatchJudge::reads_tensors() const {
  return std::ranges::any_of(plan_.checks, [](const WatchedCheck& w) {
    return is_of_tensors(w.check->subject) || w.check->subject == Subject::update;
  });
}

const WatchedCheck* WatchJudge::idle_check() const {
  const std::optional<size_t> found = tensors_.idle_check();
  return found ? &plan_.checks[*found] : nullptr;
}

uint64_t WatchJudge::bytes_max() const {
  uint64_t bytes = before_.size() * sizeof(float) + finite_.size() / 8;
  bytes += model_.graph().tensors.size() * (5 * sizeof(std::vector<size_t>));
  bytes += 2 * tensors_.pairs() * kEntryBytes;
  bytes += hits_.bytes_max(tensors_.pairs() + losses_.size() + norms_.size() + label_counts_.size(), kHitNameBytes);
  for (const auto& [check, history] : norms_) bytes += 2 * whole(plan_.checks[check], "window_looks") * sizeof(double);
  bytes += label_counts_.size() * 2 * static_cast<uint64_t>(model_.output_shape().back()) * sizeof(uint64_t);
  return bytes;
}

void WatchJudge::begin_look(std::span<const float> parameters, bool is_failed) {
  looks_ += 1;
  if (compares_weights_) std::ranges::copy(parameters.first(before_.size()), before_.begin());
  if (tracks_finite_) {
    std::fill(finite_.begin(), finite_.end(), true);
    for (const uint32_t t : tensors_.trained()) finite_[slot_of(t, false)] = all_finite(values_of(t, parameters));
  }
  if (is_failed) judge_weights(parameters, false);
  if (step_ != 0) return;
  for (const uint32_t t : tensors_.trained()) {
    if (tensors_.of_start(t).empty()) continue;
    const Seen seen{.now = statistics_of(values_of(t, parameters))};
    for (const size_t c : tensors_.of_start(t)) {
      judge(c, slot_of(t, false), seen, [&] { return tensors_.name_of_weight(t); });
    }
  }
}

void WatchJudge::before(const WatchedStep& step) {
  for (const auto& [tensor, view] : step.gradients) {
    if (tensors_.of_gradient(tensor).empty()) continue;
    const Seen seen{.tensor = view, .now = statistics_of(view.type, view.data, view.count)};
    for (const size_t c : tensors_.of_gradient(tensor)) {
      judge(c, slot_of(tensor, true), seen, [&, t = tensor] { return tensors_.name_of_gradient(t); });
    }
  }
  if (!tracks_finite_) return;
  for (const auto& [slot, view] : step.data) finite_[slot] = is_finite(view);
}

void WatchJudge::behind(const WatchedStep& step) {
  for (const MadeTensor& made : step.made) look_at(made, step);
}

void WatchJudge::look_at(const MadeTensor& made, const WatchedStep& step) {
  const bool is_read = !made.is_gradient && made.is_first && !tensors_.of_output(made.number).empty();
  const TensorView& tensor = made.tensor;
  TensorStatistics now;
  if (is_read) now = statistics_of(tensor.type, tensor.data, tensor.count);
  if (tracks_finite_ && !(is_read ? now.is_finite() : is_finite(tensor))) judge_op(made, step);
  if (is_read) judge_output(made, now);
}

// Called where it made something that is not finite.
void WatchJudge::judge_op(const MadeTensor& made, const WatchedStep& step) {
  const size_t slot = slot_of(made.number, made.is_gradient);
  finite_[slot] = false;
  if (step.op == kNoOp) return;
  const TensorView& tensor = made.tensor;
  Seen seen{.tensor = tensor, .now = statistics_of(tensor.type, tensor.data, tensor.count)};
  seen.read_finite = std::ranges::all_of(step.reads, [&](size_t read) { return finite_[read]; });
  for (const size_t c : tensors_.of_op(step.op)) {
    judge(c, slot, seen, [&] {
      auto name = made.is_gradient ? tensors_.name_of_gradient(made.number) : tensors_.name_of_output(made.number);
      name.layer = tensors_.name_of_op(step.op);
      return name;
    });
  }
}

void WatchJudge::judge_output(const MadeTensor& made, const TensorStatistics& now) {
  Seen seen{.tensor = made.tensor, .now = now};
  if (made.units > 0) {
    seen.dead_share =
        static_cast<double>(count_dead_units(made.tensor, made.units, alive_)) / static_cast<double>(made.units);
  }
  for (const size_t c : tensors_.of_output(made.number)) {
    judge(c, slot_of(made.number, false), seen, [&] { return tensors_.name_of_output(made.number); });
  }
}

void WatchJudge::end_step(const TrainingSummary& summary, double learning_rate, std::span<const float> parameters) {
  const bool is_skipped = summary.skipped != last_.skipped;
  if (!parameters.empty() && compares_weights_ && !is_skipped) judge_weights(parameters, true);
  judge_loss(summary);
  last_ = summary;
  rate_ = learning_rate;
  rate_max_ = std::max(rate_max_, rate_);
}

// Without a before nothing has moved: a step that failed changes no weight.
void WatchJudge::judge_weights(std::span<const float> parameters, bool has_before) {
  double squares = 0;
  for (const uint32_t t : tensors_.trained()) {
    if (tensors_.of_weight(t).empty() && norms_.empty()) continue;
    Seen seen{.values = values_of(t, parameters), .is_rate_small = rate_ < kSmallRate * rate_max_};
    if (has_before) {
      seen.before = values_of(t, before_);
      seen.change = change_of(seen.values, seen.before);
      squares += seen.change.square_sum;
    }
    if (tensors_.of_weight(t).empty()) continue;
    seen.now = statistics_of(seen.values);
    for (const size_t c : tensors_.of_weight(t)) {
      judge(c, slot_of(t, false), seen, [&] { return tensors_.name_of_weight(t); });
    }
  }
  if (!has_before) return;
  for (auto& [check, history] : norms_) {
    Seen seen{.norm = std::sqrt(squares)};
    const NormHistory::Usual usual = history.add(seen.norm);
    seen.norm_median = usual.median;
    seen.norm_deviation = usual.deviation;
    seen.norms = usual.norms;
    judge(check, 0, seen, [] { return WatchedTensors::Name(); });
  }
}

void WatchJudge::judge_loss(const TrainingSummary& summary) {
  for (auto& [check, windows] : losses_) {
    const auto window = windows.add(summary.loss_sum - last_.loss_sum, summary.examples - last_.examples);
    if (!window) continue;
    const Seen seen{.loss_before = window->before, .loss = window->loss, .loss_first = window->first};
    judge(check, 0, seen, [] { return WatchedTensors::Name(); });
  }
}

void WatchJudge::see_labels(std::span<const int32_t> labels) {
  for (auto& [check, counts] : label_counts_) {
    const std::optional<double> distance = counts.add(labels);
    if (!distance) continue;
    const Seen seen{.label_distance = *distance};
    judge(check, 0, seen, [] { return WatchedTensors::Name(); });
  }
}

std::span<const float> WatchJudge::values_of(uint32_t tensor, std::span<const float> parameters) const {
  const TensorInfo& info = model_.graph().tensors[tensor];
  return parameters.subspan(info.payload_offset / sizeof(float), elements(info.shape));
}

template <typename NameOf>
void WatchJudge::judge(size_t check, uint64_t where, const Seen& seen, const NameOf& name_of) {
  const WatchedCheck& watched = plan_.checks[check];
  if (step_ < watched.from_step) return;
  const std::optional<Firing> firing = watched.check->judge(watched.values, seen);
  if (watched.steps > 0) {
    if (!firing) {
      holds_since_.erase({check, where});
      return;
    }
    const uint64_t since = holds_since_.try_emplace({check, where}, step_).first->second;
    if (step_ - since < watched.steps) return;
  }
  if (!firing) return;
  WatchHit* const hit = hits_.add(check, where, step_, *watched.check, *firing);
  if (hit == nullptr) return;
  WatchedTensors::Name name = name_of();
  hit->layer = std::move(name.layer);
  hit->tensor = std::move(name.tensor);
}

}  // namespace coterie
