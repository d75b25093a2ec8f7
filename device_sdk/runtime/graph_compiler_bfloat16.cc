// Which values of a step are held as bfloat16 (bfloat16_choice.h).
#include <algorithm>
#include <functional>
#include <map>

#include "device_sdk/runtime/bfloat16_choice.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/left_out.h"

namespace coterie {
namespace {

// Its backward finds the element that was chosen by comparing: where only one side is rounded it finds none.
bool finds_by_comparing(OpKind kind) {
  return kind == OpKind::max_pool2d || kind == OpKind::adaptive_max_pool2d || kind == OpKind::reduce_max ||
         kind == OpKind::reduce_min;
}

}  // namespace

// What forward makes and backward reads, in groups that are rounded together, the largest first. What rules save beside
// (statistics, masks) stays as it is.
std::vector<std::vector<uint32_t>> GraphCompiler::held_tensors() const {
  std::map<BufferId, size_t> group_of;
  std::vector<std::vector<uint32_t>> groups;
  for (uint32_t i = 0; i < values_.size(); ++i) {
    const bool is_float = types_[i].type == DataType::float32;
    if (graph_.tensors[i].role != TensorRole::activation || values_[i] == kNoBuffer || !is_float) continue;
    if (group_of.contains(values_[i]) || !program_.is_held_for_backward(values_[i])) continue;
    group_of[values_[i]] = groups.size();
    groups.push_back({i});
  }
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    const OpInfo& op = graph_.ops[i];
    if (!index_.is_needed[i] || !finds_by_comparing(op.kind) || !op_needs_gradient(i)) continue;
    const auto x = group_of.find(values_[op.inputs[0]]), y = group_of.find(values_[op.outputs[0]]);
    // One side stays exact: so does the other.
    if (x == group_of.end() && y != group_of.end()) groups[y->second].clear();
    if (x != group_of.end() && y == group_of.end()) groups[x->second].clear();
    if (x == group_of.end() || y == group_of.end() || x->second == y->second) continue;
    const size_t into = x->second, from = y->second;
    const bool stays_exact = groups[into].empty() || groups[from].empty();
    groups[into].insert(groups[into].end(), groups[from].begin(), groups[from].end());
    groups[from].clear();
    if (stays_exact) groups[into].clear();
    for (auto& [buffer, group] : group_of) {
      if (group == from) group = into;
    }
  }
  std::erase_if(groups, [](const std::vector<uint32_t>& group) { return group.empty(); });
  const auto bytes = [&](const std::vector<uint32_t>& group) {
    uint64_t sum = 0;
    for (const uint32_t tensor : group) sum += bytes_of(tensor);
    return sum;
  };
  std::ranges::stable_sort(groups, std::greater(), bytes);
  return groups;
}

std::vector<BufferId> GraphCompiler::values_of(std::span<const uint32_t> tensors) const {
  std::vector<BufferId> buffers;
  for (const uint32_t tensor : tensors) buffers.push_back(values_[tensor]);
  return buffers;
}

// The choice is made for one thread and without a limit, whatever the settings: these change no bit.
Result<NarrowedSum> GraphCompiler::narrow_what_is_held() {
  if (!kHasBfloat16) return left_out("storage must be float32", "bf16");
  CompileSettings plain = settings_;
  plain.threads = 1;
  plain.planned_bytes_max = 0;
  GraphCompiler compiler(model_, plain);
  CompiledModel compiled;
  COT_TRY(compiler.emit_all(compiled));
  const std::vector<std::vector<uint32_t>> groups = compiler.held_tensors();
  std::vector<std::vector<BufferId>> buffers;
  for (const auto& group : groups) buffers.push_back(compiler.values_of(group));
  COT_ASSIGN(const NarrowedChoice choice, choose_narrowed(compiler.program_, buffers, settings_.arena_bytes_max));
  std::vector<BufferId> held;
  for (const size_t group : choice.groups) {
    for (const BufferId buffer : values_of(groups[group])) held.push_back(buffer);
  }
  program_.hold_as_bfloat16(held);
  return NarrowedSum{static_cast<uint32_t>(held.size()), choice.bytes_saved};
}

}  // namespace coterie
