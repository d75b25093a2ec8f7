#include "tools/compare_tensors/trace_comparison.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "tools/compare_tensors/align_traces.h"
#include "tools/compare_tensors/axis_order.h"
#include "tools/compare_tensors/compare_values.h"

namespace coterie {
namespace {

ComparedTensor compared_in(AxisOrder order, const TracedTensor& a, const TracedTensor& b, double tolerance) {
  ComparedTensor tensor;
  tensor.shape = tensor.other_shape = b.shape;
  if (order == AxisOrder::same) {
    compare_values(a.values, b.values, tolerance, tensor);
  } else {
    compare_values(moved(a.values, a.shape, order), b.values, tolerance, tensor);
    tensor.notes.insert(tensor.notes.begin(), order == AxisOrder::channels_last
                                                  ? "its channels are compared as the last axis"
                                                  : "its channels are compared as axis 1");
  }
  tensor.shape = a.shape;
  tensor.other_shape = b.shape;
  return tensor;
}

// Layers of two formats may lay their values out in ways of their own, as recurrent ones do: that is no fault.
bool can_be_compared(const TracedTensor& a, const TracedTensor& b, PairedBy by) {
  if (!a.has_numbers || !b.has_numbers) return false;
  if (by == PairedBy::name || by == PairedBy::output || !fitting_orders(a.shape, b.shape).empty()) return true;
  return a.shape.size() == b.shape.size() && a.values.size() != b.values.size();
}

ComparedTensor compared(const TracedTensor& a, const TracedTensor& b, double tolerance) {
  std::optional<ComparedTensor> best;
  const auto distance = [](const ComparedTensor& tensor) {
    return std::tuple(tensor.difference.non_finite_apart, tensor.difference.scaled_max);
  };
  for (const AxisOrder order : fitting_orders(a.shape, b.shape)) {
    ComparedTensor tensor = compared_in(order, a, b, tolerance);
    if (!best || distance(tensor) < distance(*best)) best = std::move(tensor);
  }
  if (best) return std::move(*best);
  ComparedTensor tensor{.name = {}, .other = {}, .kind = {}, .shape = a.shape, .other_shape = b.shape};
  tensor.verdict = TensorVerdict::shape;
  return tensor;
}

}  // namespace

Result<TensorComparison> compare_traces(const TensorTrace& a, const TensorTrace& b, double tolerance,
                                        const OpNotes& notes) {
  if (a.inputs != b.inputs) {
    return Error(ErrorCode::invalid_argument, "the models have not as many inputs: " + std::to_string(a.inputs) +
                                                  " and " + std::to_string(b.inputs));
  }
  TensorComparison comparison{.tolerance = tolerance};
  std::vector<bool> is_apart_a(a.tensors.size()), is_paired_b(b.tensors.size());
  const std::vector<TracePair> pairs = align_traces(a, b);
  auto pair = pairs.begin();
  for (uint32_t i = a.inputs; i < a.tensors.size(); ++i) {
    const TracedTensor& of_a = a.tensors[i];
    const bool is_paired = pair != pairs.end() && pair->a == i;
    const TracePair with = is_paired ? *pair++ : TracePair{};
    const bool reads_apart = std::ranges::any_of(of_a.reads, [&](uint32_t read) { return is_apart_a[read]; });
    const bool has_numbers = is_paired && can_be_compared(of_a, b.tensors[with.b], with.by);
    if (is_paired) is_paired_b[with.b] = true;
    if (!has_numbers) {
      is_apart_a[i] = reads_apart;
      if (!is_paired && of_a.has_numbers) comparison.only_a.push_back(of_a.name);
      continue;
    }
    const TracedTensor& of_b = b.tensors[with.b];
    ComparedTensor& tensor = comparison.tensors.emplace_back(compared(of_a, of_b, tolerance));
    tensor.name = of_a.name;
    if (of_b.name != of_a.name) tensor.other = of_b.name;
    tensor.kind = of_a.kind;
    tensor.paired_by = to_string(with.by);
    is_apart_a[i] = is_apart(tensor.verdict);
    tensor.is_origin = is_apart_a[i] && !reads_apart;
    if (!is_apart_a[i] || !notes) continue;
    for (std::string& note : notes(i, with.b)) tensor.notes.push_back(std::move(note));
  }
  for (uint32_t i = b.inputs; i < b.tensors.size(); ++i) {
    if (!is_paired_b[i] && b.tensors[i].has_numbers) comparison.only_b.push_back(b.tensors[i].name);
  }
  return comparison;
}

}  // namespace coterie
