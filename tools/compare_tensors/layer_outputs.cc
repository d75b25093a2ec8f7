#include "tools/compare_tensors/layer_outputs.h"

#include <algorithm>
#include <cstring>

#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/shape_inference.h"
#include "device_sdk/watch/step_view.h"

namespace coterie {
namespace {

bool is_output_of(const OpInfo& op, const OperandInfo& operand) {
  return operand.content.role == BufferRole::value && operand.content.type == ElementType::float32 &&
         !op.outputs.empty() && operand.content.tensor == op.outputs[0];
}

}  // namespace

Result<std::vector<LayerOutput>> layer_outputs(const Model& model, const std::vector<std::vector<float>>& inputs,
                                               uint32_t batch) {
  COT_ASSIGN(CompiledModel compiled, compile(model, {.purpose = Purpose::predict,
                                                     .batch_size = batch,
                                                     .arena_bytes_max = limits::kArenaBytesMax,
                                                     .joins_steps = false,
                                                     .optimisation = Optimisation::none}));
  COT_ASSIGN(const InferredTypes inferred, infer_types(model.graph(), batch));
  COT_ASSIGN(Arena arena, Arena::create(compiled.layout, limits::kArenaBytesMax));
  Program& program = compiled.program;
  program.bind(arena);
  const std::span<const float> parameters = model.parameters();
  std::memcpy(arena.region(Region::parameters).data(), parameters.data(), parameters.size_bytes());
  const char* fault = nullptr;
  const StepContext context{.kernels = kernels::kernels(), .fault = &fault};
  const FlushDenormals flush;
  std::vector<LayerOutput> outputs;
  uint64_t bytes = 0;
  for (const Phase phase : {Phase::prepare, Phase::forward}) {
    if (phase == Phase::forward) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        std::memcpy(program.pointer(compiled.inputs[i]), inputs[i].data(), inputs[i].size() * sizeof(float));
      }
    }
    const std::vector<StepView> views = view_steps(program, arena, phase);
    for (size_t step = 0; step < views.size(); ++step) {
      program.run_step(phase, step, context);
      if (fault != nullptr) return Error(ErrorCode::invalid_argument, fault);
      const StepInfo& info = views[step].info;
      if (info.origin >= model.graph().ops.size()) continue;
      for (size_t i = 0; i < info.operands.size(); ++i) {
        const OperandInfo& operand = info.operands[i];
        if (!is_output_of(model.graph().ops[info.origin], operand)) continue;
        const uint32_t tensor = operand.content.tensor;
        bytes += operand.bytes;
        if (bytes > kLayerOutputBytesMax) {
          return Error(ErrorCode::too_large, "the outputs of all layers have more than 1 GiB; take fewer examples");
        }
        const auto* const from = static_cast<const float*>(views[step].data[i]);
        std::erase_if(outputs, [&](const LayerOutput& seen) { return seen.tensor == tensor; });
        outputs.push_back({info.origin, tensor, inferred.types[tensor].shape,
                           std::vector<float>(from, from + operand.content.elements)});
        break;
      }
    }
  }
  std::ranges::stable_sort(outputs, {}, &LayerOutput::op);
  return outputs;
}

}  // namespace coterie
