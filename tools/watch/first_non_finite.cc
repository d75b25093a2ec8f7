#include "tools/watch/first_non_finite.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/shape_inference.h"
#include "device_sdk/watch/step_view.h"
#include "tools/model/step_names.h"

namespace coterie {
namespace {

bool is_looked_at(const OperandInfo& operand, const void* data) {
  return data != nullptr && operand.content.role != BufferRole::scratch && operand.content.type != ElementType::int32;
}

TensorStatistics statistics_of(const OperandInfo& operand, const void* data) {
  return statistics_of(operand.content.type, data, operand.content.elements);
}

// The loss behind a step that computes it: of one of several heads that head's, which has sums of its own.
std::optional<double> loss_behind(const StepView& view, const StepContext& context) {
  if (view.info.origin != kLossOrigin) return std::nullopt;
  for (size_t i = 0; i < view.data.size(); ++i) {
    if (view.info.operands[i].content.type != ElementType::float64) continue;
    HeadSums head;
    std::memcpy(&head, view.data[i], sizeof(head));
    return head.sums.loss;
  }
  return context.sums == nullptr ? std::nullopt : std::optional(context.sums->loss);
}

// The op; for an update the first op that reads what it changes.
std::string layer_of(const ModelGraph& graph, const StepInfo& step, const std::string& op) {
  if (step.origin != kUpdateOrigin) return op;
  for (const OperandInfo& operand : step.operands) {
    if (operand.content.tensor == kNoTensor) continue;
    for (const OpInfo& reader : graph.ops) {
      if (std::ranges::find(reader.inputs, operand.content.tensor) != reader.inputs.end()) return reader.name;
    }
  }
  return op;
}

}  // namespace

void FirstNonFinite::begin(const BatchMoment& moment) {
  step_ = moment.step;
  examples_.assign(moment.examples.begin(), moment.examples.end());
}

void FirstNonFinite::run(const Program& program, const Arena& arena, Phase phase, const StepContext& context) {
  if (found_) return program.run(phase, context);
  const std::vector<StepView> views = view_steps(program, arena, phase);
  for (size_t i = 0; i < views.size(); ++i) {
    if (found_) program.run_step(phase, i, context);
    else watch_step(views[i], program, i, context);
  }
}

void FirstNonFinite::watch_step(const StepView& view, const Program& program, size_t index,
                                const StepContext& context) {
  std::vector<SeenTensor> seen(view.data.size());
  std::vector<size_t> looked_at, wrong;
  for (size_t i = 0; i < view.data.size(); ++i) {
    const OperandInfo& operand = view.info.operands[i];
    if (!is_looked_at(operand, view.data[i])) continue;
    looked_at.push_back(i);
    seen[i].is_made = operand.is_made;
    if (operand.is_made) continue;
    seen[i].statistics = statistics_of(operand, view.data[i]);
    if (!seen[i].statistics.is_finite()) wrong.push_back(i);
  }
  const bool came_in = !wrong.empty();
  program.run_step(view.info.phase, index, context);
  for (const size_t i : looked_at) {
    const OperandInfo& operand = view.info.operands[i];
    const bool may_change = operand.is_made || operand.place == BufferPlace::fixed;
    if (came_in || !may_change) continue;
    const TensorStatistics after = statistics_of(operand, view.data[i]);
    if (operand.is_made) seen[i].statistics = after;
    if (after.is_finite()) continue;
    seen[i].is_made = true;
    seen[i].statistics = after;
    wrong.push_back(i);
  }
  const std::optional<double> loss = loss_behind(view, context);
  const bool is_loss_wrong = loss && !came_in && !std::isfinite(*loss);
  if (wrong.empty() && !is_loss_wrong) return;
  const bool is_of_data =
      came_in && std::ranges::any_of(wrong, [&](size_t i) { return is_data(view.info.operands[i]); });
  const NonFiniteCause cause = is_of_data ? NonFiniteCause::data : came_in ? NonFiniteCause::state : NonFiniteCause::op;
  found_ = report(cause, view, seen, looked_at);
  found_->loss_sum = loss;
  // A loss may be infinite though each gradient is finite: then no tensor says which example it was.
  if (!wrong.empty()) name_example(view, seen, wrong, *found_);
}

void FirstNonFinite::scaled(std::span<const float> gradients) {
  if (found_) return;
  const TensorStatistics statistics = coterie::statistics_of(gradients);
  if (statistics.is_finite()) return;
  NonFinite& clip = found_.emplace();
  clip.step = step_;
  clip.phase = Phase::update;
  clip.op = clip.op_kind = clip.layer = clip.step_name = "clip";
  clip.tensors = {{"all gradients", "float32", std::to_string(gradients.size()), true, statistics}};
}

NonFinite FirstNonFinite::report(NonFiniteCause cause, const StepView& view, std::vector<SeenTensor> seen,
                                 const std::vector<size_t>& looked_at) const {
  NonFinite made;
  made.cause = cause;
  made.step = step_;
  made.phase = view.info.phase;
  made.step_name = view.info.name;
  made.settings = view.info.settings;
  made.examples = examples_;
  const Result<InferredTypes> inferred = infer_types(model_.graph(), static_cast<uint32_t>(examples_.size()));
  if (!inferred) return made;  // the program was compiled of them
  const StepNames names(model_.graph(), inferred->types);
  made.op = names.op(view.info.origin);
  made.op_kind = names.op_kind(view.info.origin);
  made.layer = layer_of(model_.graph(), view.info, made.op);
  const auto add = [&](const OperandInfo& operand, SeenTensor tensor) {
    ListedOperand named = names.operand(operand);
    tensor.what = std::move(named.what);
    tensor.type = std::move(named.type);
    tensor.shape = std::move(named.shape);
    made.tensors.push_back(std::move(tensor));
  };
  for (const size_t i : looked_at) add(view.info.operands[i], std::move(seen[i]));
  for (const auto& [operand, data] : view.arranged) {
    SeenTensor read;
    read.statistics = statistics_of(operand, data);
    add(operand, std::move(read));
  }
  std::ranges::stable_partition(made.tensors, [](const SeenTensor& tensor) { return !tensor.is_made; });
  return made;
}

void FirstNonFinite::name_example(const StepView& view, const std::vector<SeenTensor>& seen,
                                  const std::vector<size_t>& wrong, NonFinite& to) const {
  for (const size_t i : wrong) {
    to.example = example_of(view.info.operands[i], seen[i].statistics.first_non_finite);
    to.is_example_exact = to.example.has_value();
    if (to.example) return;
  }
  double largest = -1;
  for (size_t i = 0; i < seen.size(); ++i) {
    const TensorStatistics& read = seen[i].statistics;
    if (seen[i].is_made || read.largest == TensorStatistics::kNowhere) continue;
    const double magnitude = std::max(std::abs(read.min), std::abs(read.max));
    const std::optional<uint64_t> example = example_of(view.info.operands[i], read.largest);
    if (!example || magnitude <= largest) continue;
    largest = magnitude;
    to.example = example;
  }
}

std::optional<uint64_t> FirstNonFinite::example_of(const OperandInfo& operand, uint64_t element) const {
  const auto& [type, role, tensor, count] = operand.content;
  const bool is_by_example = role == BufferRole::target ||
                             (tensor != kNoTensor && !model_.shape(tensor).empty() && model_.shape(tensor)[0] < 0);
  if (!is_by_example || examples_.empty() || count % examples_.size() != 0) return std::nullopt;
  return examples_[element / (count / examples_.size())];
}

bool FirstNonFinite::is_data(const OperandInfo& operand) const {
  if (operand.content.role == BufferRole::target) return true;
  const std::vector<uint32_t>& inputs = model_.graph().inputs;
  return operand.content.role == BufferRole::value && operand.place == BufferPlace::planned &&
         std::ranges::find(inputs, operand.content.tensor) != inputs.end();
}

}  // namespace coterie
