// The losses of several heads: GraphCompiler's part of loss_heads.h.
#include "base/text/concat.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/loss_rule.h"

namespace coterie {

BufferId GraphCompiler::new_target(const TensorType& type) {
  const BufferId target = program_.add_planned(elements(type.shape) * kElementBytes);
  program_.holds(target, {.type = element_type(type.type), .role = BufferRole::target});
  program_.fill_before(target);
  if (settings_.purpose == Purpose::evaluate) program_.read_after(target);
  return target;
}

// A tensor that others read, too, has the sum of their gradients and its head's.
Status GraphCompiler::emit_losses_of_heads(CompiledModel& compiled) {
  if (!kHasHeads) return left_out("no heads can be computed", "heads");
  COT_ASSIGN(const std::vector<uint32_t> tensors, head_tensors(graph_, settings_.loss));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TrainingHead& asked = settings_.loss.heads[i];
    const TensorType& output = types_[tensors[i]];
    CompiledHead head{.loss = loss_of_head(settings_.loss, i), .weight = asked.weight};
    const Result<TensorType> target = target_for_loss(head.loss, output);
    if (!target) return target.error().with_context(concat({"head ", asked.output}));
    head.target = new_target(*target);
    head.target_elements = elements(target->shape) / settings_.batch_size;
    head.width = static_cast<uint64_t>(output.shape.back());
    head.rows = elements(output.shape) / settings_.batch_size / head.width;
    head.sums = program_.add_planned(sizeof(HeadSums));
    program_.holds(head.sums, {.type = ElementType::float64});
    program_.read_after(head.sums);
    const BufferId gradient = needs_gradient_[tensors[i]] ? new_whole_gradient(tensors[i]) : kNoBuffer;
    gradients_[tensors[i]] = gradient;
    emit_head_loss(program_, head.loss, output, head.weight, {values_[tensors[i]], head.target, gradient}, head.sums);
    compiled.heads.push_back(std::move(head));
  }
  compiled.target = compiled.heads[0].target;
  compiled.target_elements = compiled.heads[0].target_elements;
  return {};
}

}  // namespace coterie
