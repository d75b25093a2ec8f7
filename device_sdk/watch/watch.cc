#include "device_sdk/watch/watch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "device_sdk/runtime/loss_scaling.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/trainer.h"
#include "device_sdk/watch/range_count.h"
#include "device_sdk/watch/series.h"
#include "device_sdk/watch/step_view.h"
#include "device_sdk/watch/watched_steps.h"
#include "device_sdk/watch/watched_tensors.h"

namespace coterie {
namespace {

// In a map: the key, the value, and what the tree has for itself. A pair of check and tensor may be in two.
constexpr uint64_t kEntryBytes = 80;
constexpr uint64_t kHitNameBytes = 2 * 256;  // of the layer and of the tensor
// A watched step of a phase (watched_steps.h), of which a program has a few for each op, and a model two programs.
constexpr uint64_t kStepBytes = 512;
constexpr uint64_t kStepsAnOp = 2 * 4;

constexpr double kSmallRate = 0.01;  // of the largest learning rate so far

uint64_t whole(const WatchedCheck& watched, std::string_view setting) {
  return static_cast<uint64_t>(*watched.values[setting_index(*watched.check, setting)]);
}

bool is_finite(const TensorView& view) {
  if (view.type == ElementType::float32) return all_finite({static_cast<const float*>(view.data), view.count});
  return statistics_of(view.type, view.data, view.count).is_finite();
}

}  // namespace

class Watch::Machine {
 public:
  Machine(const Model& model, WatchPlan plan, const std::vector<bool>& is_trained, uint64_t steps_an_epoch,
          const TrainingSummary& from);

  void begin(const BatchMoment& moment);
  void run(const Program& program, const Arena& arena, Phase phase, const StepContext& context);
  void end_step(const Trainer& trainer);
  bool look_again();
  std::unique_ptr<Machine> restarted(const TrainingSummary& from) const {
    return std::make_unique<Machine>(model_, plan_, is_trained_, steps_an_epoch_, from);
  }
  const WatchPlan& plan() const { return plan_; }
  const WatchHits& hits() const { return hits_; }
  uint64_t looks() const { return looks_; }
  uint64_t bytes_max() const;
  const WatchedCheck* idle_check() const {
    const std::optional<size_t> found = tensors_.idle_check();
    return found ? &plan_.checks[*found] : nullptr;
  }

 private:
  using Steps = std::vector<WatchedStep>;

  const Steps& steps_of(const Program& program, const Arena& arena, Phase phase);
  void begin_look(const Arena& arena);
  void look_at(const MadeTensor& made, const WatchedStep& step);
  void judge_op(const MadeTensor& made, const WatchedStep& step);
  void judge_output(const MadeTensor& made, const TensorStatistics& now);
  void judge_weights(std::span<const float> parameters, bool has_before);
  void judge_labels(const Program& program, const Arena& arena);
  void judge_loss(const TrainingSummary& summary);
  std::span<const float> values_of(uint32_t tensor, std::span<const float> parameters) const;
  template <typename NameOf>
  void judge(size_t check, uint64_t where, const Seen& seen, const NameOf& name_of);

  const Model& model_;
  WatchPlan plan_;
  std::vector<bool> is_trained_;
  uint64_t steps_an_epoch_;
  WatchedTensors tensors_;
  WatchHits hits_;
  bool compares_weights_, tracks_finite_, reads_tensors_;
  uint64_t step_ = 0, looks_ = 0;
  bool is_look_ = false, is_first_batch_ = false;
  bool is_again_ = false;           // a step that failed, run once more to be looked at
  double rate_ = 0, rate_max_ = 0;  // of learning: of the step that runs; the largest so far
  TrainingSummary last_;
  std::vector<float> before_;   // parameters in front of the step
  std::vector<bool> finite_;    // by 2 * tensor: its values; and one: its gradient
  std::vector<uint8_t> alive_;  // scratch
  std::map<std::pair<const Program*, Phase>, Steps> steps_;
  std::map<const Program*, std::span<const int32_t>> labels_;
  std::map<std::pair<size_t, uint64_t>, uint64_t> holds_since_;  // by check and tensor: the step
  std::vector<std::pair<size_t, LossWindows>> losses_;           // by check
  std::vector<std::pair<size_t, NormHistory>> norms_;
  std::vector<std::pair<size_t, LabelCounts>> label_counts_;
};

Watch::Machine::Machine(const Model& model, WatchPlan plan, const std::vector<bool>& is_trained,
                        uint64_t steps_an_epoch, const TrainingSummary& from)
    : model_(model),
      plan_(std::move(plan)),
      is_trained_(is_trained),
      steps_an_epoch_(steps_an_epoch),
      tensors_(model, plan_, is_trained),
      hits_(plan_.hits_max),
      compares_weights_(tensors_.has(Subject::weight) || tensors_.has(Subject::update)),
      tracks_finite_(tensors_.has(Subject::op)),
      reads_tensors_(std::ranges::any_of(plan_.checks,
                                         [](const WatchedCheck& w) {
                                           return is_of_tensors(w.check->subject) ||
                                                  w.check->subject == Subject::update;
                                         })),
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

uint64_t Watch::Machine::bytes_max() const {
  const ModelGraph& graph = model_.graph();
  uint64_t bytes = before_.size() * sizeof(float) + finite_.size() / 8;
  bytes += graph.ops.size() * kStepsAnOp * kStepBytes + graph.tensors.size() * (5 * sizeof(std::vector<size_t>));
  bytes += 2 * tensors_.pairs() * kEntryBytes;
  bytes += hits_.bytes_max(tensors_.pairs() + losses_.size() + norms_.size() + label_counts_.size(), kHitNameBytes);
  for (const auto& [check, history] : norms_) bytes += 2 * whole(plan_.checks[check], "window_looks") * sizeof(double);
  bytes += label_counts_.size() * 2 * static_cast<uint64_t>(model_.output_shape().back()) * sizeof(uint64_t);
  return bytes;
}

void Watch::Machine::begin(const BatchMoment& moment) {
  is_first_batch_ = looks_ == 0 || moment.step != step_ || !is_look_;
  step_ = moment.step;
  is_look_ = reads_tensors_ && (is_again_ || step_ % plan_.every == plan_.first);
}

bool Watch::Machine::look_again() {
  if (!reads_tensors_ || is_look_ || is_again_) return false;
  is_again_ = true;
  return true;
}

void Watch::Machine::run(const Program& program, const Arena& arena, Phase phase, const StepContext& context) {
  if (phase == Phase::forward && !label_counts_.empty() && !is_again_) judge_labels(program, arena);
  if (phase == Phase::forward && is_look_ && is_first_batch_) begin_look(arena);
  if (!is_look_ || (!is_first_batch_ && phase != Phase::update)) return program.run(phase, context);
  const Steps& steps = steps_of(program, arena, phase);
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const auto& [tensor, view] : steps[i].gradients) {
      Seen seen{.tensor = view, .now = statistics_of(view.type, view.data, view.count)};
      for (const size_t c : tensors_.of_gradient(tensor)) {
        judge(c, slot_of(tensor, true), seen, [&, t = tensor] { return tensors_.name_of_gradient(t); });
      }
    }
    for (const auto& [slot, view] : steps[i].data) finite_[slot] = is_finite(view);
    program.run_step(phase, i, context);
    for (const MadeTensor& made : steps[i].made) look_at(made, steps[i]);
  }
}

// Before anything of the step has run.
void Watch::Machine::begin_look(const Arena& arena) {
  looks_ += 1;
  const std::span<const float> parameters = arena.region(Region::parameters);
  if (compares_weights_) std::ranges::copy(parameters.first(before_.size()), before_.begin());
  if (tracks_finite_) {
    std::fill(finite_.begin(), finite_.end(), true);
    for (const uint32_t t : tensors_.trained()) finite_[slot_of(t, false)] = all_finite(values_of(t, parameters));
  }
  if (is_again_) judge_weights(parameters, false);
  if (step_ != 0) return;
  for (const uint32_t t : tensors_.trained()) {
    if (tensors_.of_start(t).empty()) continue;
    const Seen seen{.now = statistics_of(values_of(t, parameters))};
    for (const size_t c : tensors_.of_start(t)) {
      judge(c, slot_of(t, false), seen, [&] { return tensors_.name_of_weight(t); });
    }
  }
}

void Watch::Machine::look_at(const MadeTensor& made, const WatchedStep& step) {
  const bool is_read = !made.is_gradient && made.is_first && !tensors_.of_output(made.number).empty();
  const TensorView& tensor = made.tensor;
  TensorStatistics now;
  if (is_read) now = statistics_of(tensor.type, tensor.data, tensor.count);
  if (tracks_finite_ && !(is_read ? now.is_finite() : is_finite(tensor))) judge_op(made, step);
  if (is_read) judge_output(made, now);
}

// Called where it made something that is not finite.
void Watch::Machine::judge_op(const MadeTensor& made, const WatchedStep& step) {
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

void Watch::Machine::judge_output(const MadeTensor& made, const TensorStatistics& now) {
  Seen seen{.tensor = made.tensor, .now = now};
  if (made.units > 0) {
    seen.dead_share =
        static_cast<double>(count_dead_units(made.tensor, made.units, alive_)) / static_cast<double>(made.units);
  }
  for (const size_t c : tensors_.of_output(made.number)) {
    judge(c, slot_of(made.number, false), seen, [&] { return tensors_.name_of_output(made.number); });
  }
}

void Watch::Machine::end_step(const Trainer& trainer) {
  const TrainingSummary summary = trainer.summary();
  if (is_look_ && compares_weights_ && summary.skipped == last_.skipped) judge_weights(trainer.parameters(), true);
  judge_loss(summary);
  last_ = summary;
  rate_ = trainer.learning_rate();
  rate_max_ = std::max(rate_max_, rate_);
  is_again_ = false;
}

// Without a before nothing has moved: a step that failed changes no weight.
void Watch::Machine::judge_weights(std::span<const float> parameters, bool has_before) {
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

void Watch::Machine::judge_loss(const TrainingSummary& summary) {
  for (auto& [check, windows] : losses_) {
    const auto window = windows.add(summary.loss_sum - last_.loss_sum, summary.examples - last_.examples);
    if (!window) continue;
    Seen seen{.loss_before = window->before, .loss = window->loss, .loss_first = window->first};
    judge(check, 0, seen, [] { return WatchedTensors::Name(); });
  }
}

void Watch::Machine::judge_labels(const Program& program, const Arena& arena) {
  const auto [entry, is_new] = labels_.try_emplace(&program);
  if (is_new) {
    for (const StepView& view : view_steps(program, arena, Phase::forward)) {
      for (size_t i = 0; i < view.data.size(); ++i) {
        const BufferContent& content = view.info.operands[i].content;
        if (content.role != BufferRole::target || content.type != ElementType::int32) continue;
        entry->second = {static_cast<const int32_t*>(view.data[i]), content.elements};
      }
    }
  }
  if (entry->second.empty()) return;
  for (auto& [check, counts] : label_counts_) {
    const std::optional<double> distance = counts.add(entry->second);
    if (!distance) continue;
    const Seen seen{.label_distance = *distance};
    judge(check, 0, seen, [] { return WatchedTensors::Name(); });
  }
}

std::span<const float> Watch::Machine::values_of(uint32_t tensor, std::span<const float> parameters) const {
  const TensorInfo& info = model_.graph().tensors[tensor];
  return parameters.subspan(info.payload_offset / sizeof(float), elements(info.shape));
}

template <typename NameOf>
void Watch::Machine::judge(size_t check, uint64_t where, const Seen& seen, const NameOf& name_of) {
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

const Watch::Machine::Steps& Watch::Machine::steps_of(const Program& program, const Arena& arena, Phase phase) {
  const auto [entry, is_new] = steps_.try_emplace({&program, phase});
  if (is_new) entry->second = find_watched_steps(program, arena, phase, {model_, plan_, tensors_, tracks_finite_});
  return entry->second;
}

Watch::Watch(const Model& model, WatchPlan plan, const std::vector<bool>& is_trained, uint64_t steps_an_epoch,
             const TrainingSummary& from)
    : machine_(std::make_unique<Machine>(model, std::move(plan), is_trained, steps_an_epoch, from)) {}

Watch::~Watch() = default;

void Watch::end_step(const Trainer& trainer) { machine_->end_step(trainer); }

bool Watch::look_again() { return machine_->look_again(); }

void Watch::restart(const TrainingSummary& from) { machine_ = machine_->restarted(from); }

const WatchPlan& Watch::plan() const { return machine_->plan(); }

uint64_t Watch::bytes_max() const { return machine_->bytes_max(); }

const WatchHits& Watch::hits() const { return machine_->hits(); }

uint64_t Watch::looks() const { return machine_->looks(); }

const WatchedCheck* Watch::idle_check() const { return machine_->idle_check(); }

void Watch::begin(const BatchMoment& moment) { machine_->begin(moment); }

void Watch::run(const Program& program, const Arena& arena, Phase phase, const StepContext& context) {
  machine_->run(program, arena, phase, context);
}

}  // namespace coterie
