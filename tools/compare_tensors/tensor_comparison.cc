#include "tools/compare_tensors/tensor_comparison.h"

#include <algorithm>
#include <iterator>

#include "device_sdk/runtime/model.h"
#include "tools/compare_tensors/align_layers.h"
#include "tools/compare_tensors/compare_values.h"
#include "tools/compare_tensors/layer_outputs.h"
#include "tools/compare_tensors/parameter_notes.h"
#include "tools/model/inspect.h"

namespace coterie {
namespace {

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

std::span<const float> values_of(const Model& model, uint32_t tensor) {
  const TensorInfo& info = model.graph().tensors[tensor];
  return model.parameters().subspan(info.payload_offset / sizeof(float), elements(info.shape));
}

// What the two ops do not have in common beside what they read.
std::vector<std::string> notes_of(const Model& a, const OpInfo& of_a, const Model& b, const OpInfo& of_b,
                                  double tolerance) {
  std::vector<std::string> notes;
  if (of_a.attributes != of_b.attributes) notes.push_back("attributes: not the same");
  if (of_a.inputs.size() != of_b.inputs.size()) notes.push_back("operands: not as many");
  for (size_t i = 0; i < std::min(of_a.inputs.size(), of_b.inputs.size()); ++i) {
    const uint32_t x = of_a.inputs[i], y = of_b.inputs[i];
    if (x == kNoTensor || y == kNoTensor) continue;
    const TensorInfo &in_a = a.graph().tensors[x], &in_b = b.graph().tensors[y];
    if (!has_payload(in_a.role) || !has_payload(in_b.role)) continue;
    const std::string note = weight_note(values_of(a, x), in_a.shape, values_of(b, y), in_b.shape, tolerance);
    if (!note.empty()) notes.push_back(in_a.name + ": " + note);
  }
  return notes;
}

// Whether something that is apart is computed from what is apart: per tensor of a.
class Origins {
 public:
  explicit Origins(const ModelGraph& graph) : graph_(graph), is_apart_(graph.tensors.size()) {}

  // In the order of the ops, each once. An op without a verdict passes on what it reads.
  bool add(uint32_t op, std::optional<bool> apart) {
    const OpInfo& info = graph_.ops[op];
    const bool reads_apart =
        std::ranges::any_of(info.inputs, [&](uint32_t input) { return input != kNoTensor && is_apart_[input]; });
    for (const uint32_t output : info.outputs) {
      if (output != kNoTensor) is_apart_[output] = apart.value_or(reads_apart);
    }
    return apart.value_or(false) && !reads_apart;
  }

 private:
  const ModelGraph& graph_;
  std::vector<bool> is_apart_;
};

Status check_same_inputs(const Model& a, const Model& b) {
  if (a.graph().inputs.size() != b.graph().inputs.size()) {
    return bad("the models have not as many inputs: the first " + std::to_string(a.graph().inputs.size()) +
               ", the second " + std::to_string(b.graph().inputs.size()));
  }
  const auto input_of = [](const Model& model, size_t i) {
    return shape_text(model.input_shape(i)) + " " + std::string(to_string(model.input_type(i)));
  };
  for (size_t i = 0; i < a.graph().inputs.size(); ++i) {
    if (a.input_shape(i) != b.input_shape(i) || a.input_type(i) != b.input_type(i)) {
      return bad("the models do not take the same inputs: the first " + input_of(a, i) + ", the second " +
                 input_of(b, i));
    }
  }
  return {};
}

const LayerOutput* output_of(const std::vector<LayerOutput>& outputs, uint32_t op) {
  const auto found = std::ranges::find(outputs, op, &LayerOutput::op);
  return found == outputs.end() ? nullptr : &*found;
}

}  // namespace

const ComparedTensor* TensorComparison::first_apart() const {
  const auto found = std::ranges::find(tensors, true, &ComparedTensor::is_origin);
  return found == tensors.end() ? nullptr : &*found;
}

Result<TensorComparison> compare_models(const Model& a, const Model& b, const std::vector<std::vector<float>>& inputs,
                                        uint32_t examples, double tolerance) {
  COT_TRY(check_same_inputs(a, b));
  COT_ASSIGN(const std::vector<LayerPair> pairs, align_layers(a.graph(), b.graph()));
  COT_ASSIGN(const std::vector<LayerOutput> outputs_a, layer_outputs(a, inputs, examples));
  COT_ASSIGN(const std::vector<LayerOutput> outputs_b, layer_outputs(b, inputs, examples));
  const std::vector<OpInfo>&ops_a = a.graph().ops, &ops_b = b.graph().ops;
  TensorComparison comparison{.tolerance = tolerance, .examples = examples};
  std::vector<bool> paired_a(ops_a.size()), paired_b(ops_b.size());
  Origins origins(a.graph());
  for (uint32_t op = 0; op < ops_a.size(); ++op) {
    const auto pair = std::ranges::find(pairs, op, &LayerPair::a);
    const LayerOutput* const of_a = output_of(outputs_a, op);
    const LayerOutput* const of_b = pair == pairs.end() ? nullptr : output_of(outputs_b, pair->b);
    if (of_a == nullptr || of_b == nullptr) {
      // Both have it, and nothing to compare: a view of what it reads, or numbers that are no floats.
      if (of_a == nullptr && pair != pairs.end() && output_of(outputs_b, pair->b) == nullptr) {
        paired_a[op] = paired_b[pair->b] = true;
      }
      origins.add(op, std::nullopt);
      continue;
    }
    paired_a[op] = paired_b[pair->b] = true;
    const OpInfo& other = ops_b[pair->b];
    ComparedTensor& compared = comparison.tensors.emplace_back();
    compared.name = ops_a[op].name;
    if (other.name != compared.name) compared.other = other.name;
    compared.kind = std::string(to_string(ops_a[op].kind));
    compared.shape = of_a->shape;
    compared.other_shape = of_b->shape;
    compare_values(of_a->values, of_b->values, tolerance, compared);
    compared.is_origin = origins.add(op, is_apart(compared.verdict));
    if (pair->is_folded_norm) compared.notes.push_back("a batch norm is folded into its layer in one of them");
    else if (is_apart(compared.verdict))
      std::ranges::move(notes_of(a, ops_a[op], b, other, tolerance), std::back_inserter(compared.notes));
  }
  for (size_t i = 0; i < ops_a.size(); ++i) {
    if (!paired_a[i]) comparison.only_a.push_back(ops_a[i].name);
  }
  for (size_t i = 0; i < ops_b.size(); ++i) {
    if (!paired_b[i]) comparison.only_b.push_back(ops_b[i].name);
  }
  return comparison;
}

TensorComparison compare_arrays(const std::vector<NamedArray>& a, const std::vector<NamedArray>& b, double tolerance) {
  TensorComparison comparison{.tolerance = tolerance};
  const bool is_one_pair = a.size() == 1 && b.size() == 1;
  std::vector<bool> is_paired(b.size());
  for (const NamedArray& array : a) {
    const auto other = is_one_pair ? b.begin() : std::ranges::find(b, array.name, &NamedArray::name);
    if (other == b.end()) {
      comparison.only_a.push_back(array.name);
      continue;
    }
    is_paired[static_cast<size_t>(other - b.begin())] = true;
    ComparedTensor& compared = comparison.tensors.emplace_back();
    compared.name = array.name;
    if (other->name != array.name) compared.other = other->name;
    compared.shape = array.shape;
    compared.other_shape = other->shape;
    const bool is_first = comparison.first_apart() == nullptr;
    compare_values(array.values, other->values, tolerance, compared);
    compared.is_origin = is_first && is_apart(compared.verdict);
  }
  for (size_t i = 0; i < b.size(); ++i) {
    if (!is_paired[i]) comparison.only_b.push_back(b[i].name);
  }
  return comparison;
}

}  // namespace coterie
