// Parts of the graph that something else computes (external_part.h): their steps among the others.
#include <algorithm>
#include <cstring>

#include "device_sdk/runtime/external_part.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/left_out.h"

namespace coterie {
namespace {

struct ExternalSettings {
  std::shared_ptr<ExternalStep> step;
  size_t ops;
};

void describe_external(const ExternalSettings& s, SettingsText& text) { text.add("ops", s.ops); }

// Behind a fault there is nothing right to compute with, nor to verify.
void run_external(const Step& step, const StepContext& context) {
  if (context.fault != nullptr && *context.fault != nullptr) return;
  const char* const fault = step.as<ExternalSettings>().step->run(step.buffers);
  if (fault != nullptr && context.fault != nullptr) *context.fault = fault;
}

constexpr StepKindOf<ExternalSettings> kExternalStep{"external.run", run_external, describe_external};
constexpr StepKindOf<ExternalSettings> kExternalBackward{"external.backward", run_external, describe_external};

struct ZeroSettings {
  size_t bytes;
};

void run_zero(const Step& step, const StepContext&) { std::memset(step.buffers[0], 0, step.as<ZeroSettings>().bytes); }

constexpr StepKindOf<ZeroSettings> kZeroStep{"gradient.zero", run_zero};

}  // namespace

Status check_has_delegates() {
  if (!kHasDelegates) return left_out("no delegate can compute parts of a model", "delegates");
  return {};
}

// What crosses a part's border has a reader or a maker that no fusion may take for its own.
void GraphCompiler::keep_borders() {
  if (!kHasDelegates || settings_.external == nullptr) return;
  for (const ExternalPart& part : settings_.external->parts) {
    for (const auto* border : {&part.inputs, &part.outputs}) {
      for (const uint32_t tensor : *border) index_.consumers[tensor].push_back(kNoOp);
    }
  }
}

// In a training, who computes it keeps something for backward: it runs once a batch, whatever is run again to save
// memory.
void GraphCompiler::emit_external(const ExternalPart& part) {
  program_.set_origin(part.ops.front());
  std::vector<BufferId> buffers;
  for (const auto* given : {&part.inputs, &part.parameters}) {
    for (const uint32_t tensor : *given) buffers.push_back(values_[tensor]);
  }
  for (const uint32_t tensor : part.outputs) buffers.push_back(values_[tensor] = new_value(tensor));
  program_.emit(Phase::forward, kExternalStep, ExternalSettings{part.step, part.ops.size()}, buffers);
  if (part.backward != nullptr) program_.last_changes_state(Phase::forward);
}

void GraphCompiler::emit_external_backward(const ExternalPart& part) {
  const auto has_gradient = [&](uint32_t tensor) { return gradients_[tensor] != kNoBuffer; };
  if (part.backward == nullptr || std::ranges::none_of(part.output_gradients, has_gradient)) return;
  program_.set_origin(part.ops.front());
  std::vector<BufferId> buffers;
  for (const auto* given : {&part.inputs, &part.parameters, &part.outputs}) {
    for (const uint32_t tensor : *given) buffers.push_back(values_[tensor]);
  }
  for (const uint32_t tensor : part.output_gradients) {
    if (!has_gradient(tensor)) {  // the loss does not depend on it
      gradients_[tensor] = new_whole_gradient(tensor);
      program_.emit(Phase::backward, kZeroStep, ZeroSettings{bytes_of(tensor)}, {gradients_[tensor]});
    }
    buffers.push_back(gradients_[tensor]);
  }
  for (const uint32_t tensor : part.gradients) buffers.push_back(new_gradient(tensor));
  program_.emit(Phase::backward, kExternalBackward, ExternalSettings{part.backward, part.ops.size()}, buffers);
  program_.last_changes_state(Phase::backward);
  settle_gradients();
}

}  // namespace coterie
