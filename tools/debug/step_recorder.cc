#include "tools/debug/step_recorder.h"

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/program.h"
#include "device_sdk/watch/step_view.h"

namespace coterie {
namespace {

// Each check asks for the tensors of its subject.
WatchPlan plan_of_everything() {
  WatchPlan plan;
  for (const Check& check : all_checks()) plan.checks.emplace_back(check);
  return plan;
}

ByteView bytes_of(const TensorView& view) {
  return {static_cast<const uint8_t*>(view.data), view.count * size_of(view.type)};
}

std::vector<RecordedInput> find_inputs(const Model& model, const Program& program, const Arena& arena) {
  std::vector<RecordedInput> found;
  for (const StepView& step : view_steps(program, arena, Phase::forward)) {
    for (size_t i = 0; i < step.data.size(); ++i) {
      const auto& [type, role, tensor, count] = step.info.operands[i].content;
      const std::vector<uint32_t>& inputs = model.graph().inputs;
      const bool is_input = role == BufferRole::value && std::ranges::find(inputs, tensor) != inputs.end();
      if ((!is_input && role != BufferRole::target) || step.data[i] == nullptr) continue;
      const uint32_t number = is_input ? tensor : kNoTensor;
      if (std::ranges::find(found, number, &RecordedInput::tensor) != found.end()) continue;
      found.push_back({number, {type, step.data[i], count}});
    }
  }
  return found;
}

}  // namespace

StepRecorder::StepRecorder(const Model& model, const std::vector<bool>& is_trained, uint64_t bytes_max)
    : model_(model),
      everything_(plan_of_everything()),
      tensors_(model, everything_, is_trained),
      bytes_max_(bytes_max) {}

Result<std::optional<StepRecord>> StepRecorder::step(Trainer& trainer) {
  const TrainingSummary from = trainer.summary();
  record_ = StepRecord();
  record_.step = from.steps;
  record_.from = from;
  record_.learning_rate = trainer.learning_rate();
  bytes_ = batches_ = 0;
  const Status stepped = trainer.step(this);
  if (!stepped && batches_ == 0) return stepped.error();
  record_.summary = trainer.summary();
  if (stepped && record_.summary.steps == from.steps) return std::optional<StepRecord>();
  record_.next_learning_rate = trainer.learning_rate();
  if (stepped) {
    const auto examples = static_cast<double>(record_.summary.examples - from.examples);
    record_.loss = (record_.summary.loss_sum - from.loss_sum) / examples;
    TensorView behind{ElementType::float32, trainer.parameters().data(), model_.value_count()};
    if (keep(behind)) record_.behind = {static_cast<const float*>(behind.data), behind.count};
  } else {
    record_.loss = NAN;
    record_.error = stepped.error().message();
  }
  return std::optional(std::move(record_));
}

void StepRecorder::begin(const BatchMoment& moment) {
  batches_ += 1;
  if (batches_ == 1) record_.examples.assign(moment.examples.begin(), moment.examples.end());
}

void StepRecorder::run(const Program& program, const Arena& arena, Phase phase, const StepContext& context) {
  if (batches_ > 1 && phase != Phase::update) return program.run(phase, context);
  const Asked& asked = asked_of(program, arena, phase);
  if (phase == Phase::forward) {
    TensorView before{ElementType::float32, arena.region(Region::parameters).data(), model_.value_count()};
    if (keep(before)) record_.before = {static_cast<const float*>(before.data), before.count};
    keep_inputs(asked);
  }
  for (size_t i = 0; i < asked.steps.size(); ++i) {
    WatchedStep& to = record_.program.emplace_back();
    keep_before(asked.steps[i], to);
    program.run_step(phase, i, context);
    keep_behind(asked.steps[i], to);
  }
}

const StepRecorder::Asked& StepRecorder::asked_of(const Program& program, const Arena& arena, Phase phase) {
  const auto [entry, is_new] = asked_.try_emplace({&program, phase});
  if (!is_new) return entry->second;
  entry->second.steps = find_watched_steps(program, arena, phase, {model_, everything_, tensors_, true});
  if (phase == Phase::forward) entry->second.inputs = find_inputs(model_, program, arena);
  return entry->second;
}

bool StepRecorder::keep(TensorView& view) {
  const ByteView bytes = bytes_of(view);
  if (bytes.size() > bytes_max_ - bytes_) {
    record_.left_out += 1;
    return false;
  }
  bytes_ += bytes.size();
  view.data = record_.blocks.emplace_back(bytes.begin(), bytes.end()).data();
  return true;
}

void StepRecorder::keep_inputs(const Asked& asked) {
  for (RecordedInput input : asked.inputs) {
    if (keep(input.values)) record_.inputs.push_back(input);
  }
}

void StepRecorder::keep_before(const WatchedStep& from, WatchedStep& to) {
  to.op = from.op;
  to.reads = from.reads;
  for (const auto& [slot, view] : from.data) {  // an input, which is there already
    const auto input = std::ranges::find(record_.inputs, static_cast<uint32_t>(slot / 2), &RecordedInput::tensor);
    if (input != record_.inputs.end()) to.data.emplace_back(slot, input->values);
  }
  for (auto [tensor, view] : from.gradients) {
    if (keep(view)) to.gradients.emplace_back(tensor, view);
  }
}

void StepRecorder::keep_behind(const WatchedStep& from, WatchedStep& to) {
  for (MadeTensor made : from.made) {
    const bool is_again = !made.is_gradient && !made.is_first;
    if (!is_again && keep(made.tensor)) to.made.push_back(made);
  }
}

}  // namespace coterie
