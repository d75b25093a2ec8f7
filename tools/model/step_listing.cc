#include "tools/model/step_listing.h"

#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/shape_inference.h"

namespace coterie {
Result<StepListing> list_steps(const Model& model, uint32_t batch_size) {
  COT_ASSIGN(const CompiledModel compiled,
             compile(model, {.batch_size = batch_size, .arena_bytes_max = limits::kArenaBytesMax}));
  COT_ASSIGN(const InferredTypes inferred, infer_types(model.graph(), batch_size));
  const StepNames names(model.graph(), inferred.types);
  StepListing listing{
      .model = model.graph().name, .batch_size = batch_size, .planned_bytes = compiled.program.planned_bytes()};
  for (StepInfo& info : compiled.program.steps()) {
    ListedStep& step = listing.steps.emplace_back();
    step.op = names.op(info.origin);
    for (const OperandInfo& operand : info.operands) step.operands.push_back(names.operand(operand));
    step.info = std::move(info);
  }
  return listing;
}

}  // namespace coterie
