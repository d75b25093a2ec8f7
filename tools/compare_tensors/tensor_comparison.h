// Two models on the same inputs, or two files of arrays, tensor by tensor: what agrees, and where it first does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proto/messages/model.h"
#include "tools/compare_tensors/tensor_difference.h"

namespace coterie {

class Model;

// same: the same bits. agrees: no element is off by more than the tolerance times the reference's largest value.
// differs: one is. not_finite: a value is finite in one alone. shape: of other shapes, so nothing is compared.
enum class TensorVerdict : uint8_t { same, agrees, differs, not_finite, shape };
constexpr std::string_view to_string(TensorVerdict verdict) {
  constexpr std::string_view kNames[] = {"same", "agrees", "differs", "not_finite", "shape"};
  return kNames[static_cast<size_t>(verdict)];
}
constexpr bool is_apart(TensorVerdict verdict) { return verdict >= TensorVerdict::differs; }

struct NamedArray {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

struct ComparedTensor {
  std::string name;          // a's
  std::string other;         // b's, if it has another
  std::string kind;          // of the op; empty for arrays
  Shape shape, other_shape;  // the batch included
  TensorVerdict verdict = TensorVerdict::same;
  TensorDifference difference;
  TensorPicture picture;
  // It is apart, and all that its op reads agrees: a cause and no consequence. Among arrays: the first that is apart.
  bool is_origin = false;
  std::string paired_by = {};  // of traces: why the two are held against each other (align_traces.h)
  // How it is apart (compare_values.h), and what is not the same about the op itself: "weight: transposed".
  std::vector<std::string> notes;

  // Its name, and b's where that is another.
  std::string title() const { return other.empty() ? name : name + " / " + other; }
};

struct TensorComparison {
  double tolerance = 0;
  uint64_t examples = 0;                // of models
  std::string inputs = {};              // of graphs: what they were given, in words
  std::vector<ComparedTensor> tensors;  // in the order in which a computes them
  std::vector<std::string> only_a, only_b;

  // The first origin.
  const ComparedTensor* first_apart() const;
};

// b is the reference. Ops are paired by align_layers(). Errors: invalid_argument (other inputs, or inputs that are no
// index), too_large.
Result<TensorComparison> compare_models(const Model& a, const Model& b, const std::vector<std::vector<float>>& inputs,
                                        uint32_t examples, double tolerance);
// Paired by name; one each are a pair, whatever their names.
TensorComparison compare_arrays(const std::vector<NamedArray>& a, const std::vector<NamedArray>& b, double tolerance);

}  // namespace coterie
