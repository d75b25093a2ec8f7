#include "device_sdk/runtime/graph_compiler.h"

#include <cstring>

#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/optimizer_rule.h"

namespace coterie {
namespace {

// Floats of one gradient: so many for each example, or a parameter's.
struct SumSettings {
  size_t per_example, fixed;

  size_t count(const StepContext& context) const { return context.batch * per_example + fixed; }
};

void run_accumulate(const Step& step, const StepContext& context) {
  context.kernels.accumulate(step.as<SumSettings>().count(context), step.buffers[0], step.buffers[1]);
}

void run_copy(const Step& step, const StepContext& context) {
  std::memcpy(step.buffers[1], step.buffers[0], step.as<SumSettings>().count(context) * sizeof(float));
}

}  // namespace

Result<Program> compile(const Model& model, const CompileSettings& settings) {
  return GraphCompiler(model, settings).run();
}

GraphCompiler::GraphCompiler(const Model& model, const CompileSettings& settings)
    : model_(model),
      graph_(model.graph()),
      settings_(settings),
      index_(graph_),
      fusions_(find_fusions(graph_, index_)),
      values_(graph_.tensors.size(), kNoBuffer),
      gradients_(graph_.tensors.size(), kNoBuffer),
      needs_gradient_(graph_.tensors.size()),
      readers_left_(graph_.tensors.size()) {}

Result<Program> GraphCompiler::run() {
  COT_ASSIGN(const uint64_t outputs, outputs_for_loss(model_, settings_.loss));
  const bool training = settings_.optimizer.has_value();
  if (training) find_needed_gradients();
  add_parameters();
  values_[graph_.input] = new_value(graph_.input);
  program_.set_input(values_[graph_.input]);
  emit_forward();
  if (training && needs_gradient_[graph_.output]) gradients_[graph_.output] = new_value(graph_.output);
  emit_loss(program_, settings_.loss, outputs, values_[graph_.output], gradients_[graph_.output]);
  program_.mark_second_half();
  if (training) emit_backward();
  COT_TRY(program_.finish(settings_.arena_bytes_max));
  return std::move(program_);
}

bool GraphCompiler::is_parameter(uint32_t tensor) const {
  return graph_.tensors[tensor].role == TensorRole::parameter;
}

uint64_t GraphCompiler::values_of(uint32_t tensor) const {
  return elements(model_.shape(tensor)) * (is_parameter(tensor) ? 1 : settings_.batch_size);
}

BufferId GraphCompiler::new_value(uint32_t tensor) { return program_.add_planned(values_of(tensor) * sizeof(float)); }

// A tensor needs a gradient if it is a parameter or computed from one.
void GraphCompiler::find_needed_gradients() {
  for (uint32_t i = 0; i < graph_.tensors.size(); ++i) needs_gradient_[i] = is_parameter(i);
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    if (!index_.is_needed[i]) continue;
    for (const uint32_t tensor : graph_.ops[i].inputs) {
      if (needs_gradient_[tensor]) needs_gradient_[graph_.ops[i].outputs[0]] = true;
      ++readers_left_[tensor];
    }
  }
}

void GraphCompiler::add_parameters() {
  const uint64_t bytes = model_.value_count() * sizeof(float);
  program_.reserve_region(Region::parameters, bytes);
  const uint32_t slots = settings_.optimizer ? optimizer_slots(*settings_.optimizer) : 0;
  if (slots > 0) program_.reserve_region(Region::slot0, bytes);
  if (slots > 1) program_.reserve_region(Region::slot1, bytes);
  for (uint32_t i = 0; i < graph_.tensors.size(); ++i) {
    if (is_parameter(i)) values_[i] = program_.add_fixed(Region::parameters, graph_.tensors[i].payload_offset);
  }
}

void GraphCompiler::emit_forward() {
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    if (!index_.is_needed[i]) continue;
    OpBuild build(*this, i);
    rule_of(graph_.ops[i].kind).forward(build);
  }
}

void GraphCompiler::emit_backward() {
  for (size_t i = graph_.ops.size(); i-- > 0;) {
    const OpInfo& op = graph_.ops[i];
    if (!index_.is_needed[i]) continue;
    if (needs_gradient_[op.outputs[0]]) {
      gradient_was_passed_ = false;
      OpBuild build(*this, i);
      rule_of(op.kind).backward(build);
      for (const PendingSum& sum : pending_) emit_sum(run_accumulate, sum.tensor, sum.part, gradients_[sum.tensor]);
      pending_.clear();
    }
    for (const uint32_t tensor : op.inputs) {
      --readers_left_[tensor];
      if (is_parameter(tensor)) emit_update_if_last(tensor);
    }
  }
}

// The first gradient of a tensor is written in place; a further one goes to its own buffer and is added after the op.
BufferId GraphCompiler::begin_gradient(uint32_t tensor) {
  if (!needs_gradient_[tensor]) return kNoBuffer;
  const BufferId buffer = new_value(tensor);
  if (gradients_[tensor] == kNoBuffer) gradients_[tensor] = buffer;
  else pending_.push_back({tensor, buffer});
  return buffer;
}

// The gradient of the op's output becomes `tensor`'s as it is. Each buffer has one owner, who may change it: the first
// taker gets the buffer itself, others a copy.
void GraphCompiler::adopt_gradient(uint32_t tensor, size_t from_op) {
  if (!needs_gradient_[tensor]) return;
  const BufferId from = gradients_[graph_.ops[from_op].outputs[0]];
  if (gradients_[tensor] != kNoBuffer) {
    emit_sum(run_accumulate, tensor, from, gradients_[tensor]);
  } else if (!gradient_was_passed_) {
    gradients_[tensor] = from;
    gradient_was_passed_ = true;
  } else {
    gradients_[tensor] = new_value(tensor);
    emit_sum(run_copy, tensor, from, gradients_[tensor]);
  }
}

void GraphCompiler::emit_sum(StepFunction function, uint32_t tensor, BufferId from, BufferId to) {
  const size_t count = elements(model_.shape(tensor));
  const SumSettings settings = is_parameter(tensor) ? SumSettings{0, count} : SumSettings{count, 0};
  program_.emit(function, settings, {from, to});
}

void GraphCompiler::emit_update_if_last(uint32_t parameter) {
  if (readers_left_[parameter] != 0 || gradients_[parameter] == kNoBuffer) return;
  const uint64_t offset = graph_.tensors[parameter].payload_offset;
  const uint32_t slots = optimizer_slots(*settings_.optimizer);
  const BufferId slot0 = slots > 0 ? program_.add_fixed(Region::slot0, offset) : kNoBuffer;
  const BufferId slot1 = slots > 1 ? program_.add_fixed(Region::slot1, offset) : kNoBuffer;
  emit_update(program_, *settings_.optimizer, elements(model_.shape(parameter)), gradients_[parameter],
              values_[parameter], slot0, slot1);
}

}  // namespace coterie
