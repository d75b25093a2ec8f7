#include "device_sdk/runtime/graph_compiler.h"

#include <algorithm>

#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/optimizer_rule.h"
#include "device_sdk/runtime/shape_inference.h"

namespace coterie {
namespace {

struct SumSettings {
  size_t count;
};

void run_sum(const Step& step, const StepContext& context) {
  const auto& [a, b, y] = step.take<3>();
  context.kernels.add(step.as<SumSettings>().count, a, b, y);
}

}  // namespace

Result<CompiledModel> compile(const Model& model, const CompileSettings& settings) {
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
      readers_left_(graph_.tensors.size()),
      saved_(graph_.ops.size()) {}

Result<CompiledModel> GraphCompiler::run() {
  COT_ASSIGN(InferredTypes inferred, infer_types(graph_, settings_.batch_size));
  types_ = std::move(inferred.types);
  CompiledModel compiled;
  if (settings_.purpose == Purpose::train) find_needed_gradients();
  add_stored_tensors(compiled);
  emit_forward();
  compiled.output = values_[graph_.output];
  if (settings_.purpose != Purpose::train) program_.read_after(compiled.output);
  if (settings_.purpose != Purpose::predict) {
    COT_ASSIGN(const TensorType target, target_for_loss(settings_.loss, types_[graph_.output]));
    compiled.target = program_.add_planned(elements(target.shape) * kElementBytes);
    program_.fill_before(compiled.target);
    const BufferId gradient = needs_gradient_[graph_.output] ? new_value(graph_.output) : kNoBuffer;
    gradients_[graph_.output] = gradient;
    emit_loss(program_, settings_.loss, types_[graph_.output], compiled.output, compiled.target, gradient);
  }
  if (settings_.purpose == Purpose::train) emit_backward();
  COT_TRY(program_.plan(settings_.arena_bytes_max));
  compiled.layout.planned_bytes = program_.planned_bytes();
  compiled.program = std::move(program_);
  return compiled;
}

bool GraphCompiler::is_trained(uint32_t tensor) const {
  if (graph_.tensors[tensor].role != TensorRole::parameter) return false;
  return settings_.is_trainable.empty() ? !graph_.tensors[tensor].is_frozen : settings_.is_trainable[tensor];
}

bool GraphCompiler::op_needs_gradient(size_t op_index) const {
  const OpInfo& op = graph_.ops[op_index];
  return std::any_of(op.outputs.begin(), op.outputs.end(),
                     [&](uint32_t tensor) { return tensor != kNoTensor && needs_gradient_[tensor]; });
}

uint64_t GraphCompiler::bytes_of(uint32_t tensor) const { return elements(types_[tensor].shape) * kElementBytes; }

BufferId GraphCompiler::new_value(uint32_t tensor) { return program_.add_planned(bytes_of(tensor)); }

// A tensor needs a gradient if it is a trained parameter or computed from one, in floating point.
void GraphCompiler::find_needed_gradients() {
  for (uint32_t i = 0; i < graph_.tensors.size(); ++i) needs_gradient_[i] = is_trained(i);
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    if (!index_.is_needed[i]) continue;
    const OpInfo& op = graph_.ops[i];
    const bool has_backward = rule_of(op.kind)->backward != nullptr;
    for (const uint32_t tensor : op.inputs) {
      if (tensor == kNoTensor) continue;
      ++readers_left_[tensor];
      if (!needs_gradient_[tensor] || !has_backward) continue;
      for (const uint32_t output : op.outputs) {
        if (output != kNoTensor && types_[output].type == DataType::float32) needs_gradient_[output] = true;
      }
    }
  }
}

// Inputs, parameters, state and constants.
void GraphCompiler::add_stored_tensors(CompiledModel& compiled) {
  const uint64_t bytes = model_.value_count() * sizeof(float);
  compiled.layout.of(Region::parameters) = bytes;
  if (settings_.purpose == Purpose::train) {
    const uint32_t slots = optimizer_slots(settings_.optimizer);
    if (slots > 0) compiled.layout.of(Region::slot0) = bytes;
    if (slots > 1) compiled.layout.of(Region::slot1) = bytes;
  }
  for (uint32_t i = 0; i < graph_.tensors.size(); ++i) {
    const TensorInfo& tensor = graph_.tensors[i];
    if (has_payload(tensor.role)) values_[i] = program_.add_fixed(Region::parameters, tensor.payload_offset);
    if (tensor.role == TensorRole::constant) values_[i] = program_.add_constant(tensor.data);
  }
  for (const uint32_t input : graph_.inputs) {
    values_[input] = new_value(input);
    program_.fill_before(values_[input]);
    compiled.inputs.push_back(values_[input]);
  }
}

void GraphCompiler::emit_forward() {
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    if (!index_.is_needed[i]) continue;
    OpBuild build(*this, i, false);
    rule_of(graph_.ops[i].kind)->forward(build);
  }
}

void GraphCompiler::emit_backward() {
  for (size_t i = graph_.ops.size(); i-- > 0;) {
    const OpInfo& op = graph_.ops[i];
    if (!index_.is_needed[i]) continue;
    const bool has_gradient = std::any_of(op.outputs.begin(), op.outputs.end(), [&](uint32_t tensor) {
      return tensor != kNoTensor && gradients_[tensor] != kNoBuffer;
    });
    if (has_gradient && op_needs_gradient(i)) {
      OpBuild build(*this, i, true);
      rule_of(op.kind)->backward(build);
      settle_gradients();
    }
    for (const uint32_t tensor : op.inputs) {
      if (tensor == kNoTensor) continue;
      --readers_left_[tensor];
      if (is_trained(tensor)) emit_update_if_last(tensor);
    }
  }
}

BufferId GraphCompiler::new_gradient(uint32_t tensor) {
  const BufferId buffer = new_value(tensor);
  contributions_.push_back({tensor, buffer});
  return buffer;
}

void GraphCompiler::add_gradient(uint32_t tensor, BufferId gradient) { contributions_.push_back({tensor, gradient}); }

// The first gradient of a tensor is taken as it is; with each further one a new sum is made, over one of the two where
// the planner finds that nobody else reads it.
void GraphCompiler::settle_gradients() {
  for (const auto& [tensor, gradient] : contributions_) {
    BufferId& sum = gradients_[tensor];
    if (sum == kNoBuffer) {
      sum = gradient;
      continue;
    }
    const BufferId total = new_value(tensor);
    program_.emit(Phase::backward, run_sum, SumSettings{elements(types_[tensor].shape)}, {sum, gradient, total});
    program_.may_share(total, sum);
    program_.may_share(total, gradient);
    sum = total;
  }
  contributions_.clear();
}

void GraphCompiler::emit_update_if_last(uint32_t parameter) {
  if (readers_left_[parameter] != 0 || gradients_[parameter] == kNoBuffer) return;
  const uint64_t offset = graph_.tensors[parameter].payload_offset;
  const uint32_t slots = optimizer_slots(settings_.optimizer);
  const BufferId slot0 = slots > 0 ? program_.add_fixed(Region::slot0, offset) : kNoBuffer;
  const BufferId slot1 = slots > 1 ? program_.add_fixed(Region::slot1, offset) : kNoBuffer;
  emit_update(program_, Phase::backward, settings_.optimizer, elements(types_[parameter].shape),
              gradients_[parameter], values_[parameter], slot0, slot1);
}

}  // namespace coterie
