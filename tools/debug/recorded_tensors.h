// RecordedTensors: the tensors of a StepRecord by name, op by op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/debug/step_record.h"

namespace coterie {

class Model;

enum class TensorKind : uint8_t { input, target, parameter, before, output, gradient };
constexpr std::string_view to_string(TensorKind kind) {
  constexpr std::string_view kNames[] = {"input", "target", "parameter", "before", "output", "gradient"};
  return kNames[static_cast<size_t>(kind)];
}

struct NamedTensor {
  std::string name;  // "conv1.weight"; ".grad" behind it of a gradient, ".before" of a parameter in front of the step
  std::string op;    // that made it, or reads the parameter first; empty: none
  TensorKind kind = TensorKind::output;
  uint32_t tensor = kNoTensor;  // of the graph; kNoTensor: the target
  Shape shape;                  // the batch included
  TensorView values;
};

class RecordedTensors {
 public:
  // Keeps views into `record`. Names are printable, and each is there once: "#2" stands behind the second of a name.
  RecordedTensors(const Model& model, const StepRecord& record);

  // Inputs and target; then of each op its parameters and what it made, gradients behind what they are of.
  const std::vector<NamedTensor>& all() const { return all_; }
  std::vector<const NamedTensor*> matching(std::string_view pattern) const;
  // The one of this name, or the only one that the pattern matches. Errors: not_found, with what was meant;
  // invalid_argument: several match.
  Result<const NamedTensor*> find(std::string_view name) const;

 private:
  std::vector<NamedTensor> all_;
};

// Each value as a double, whatever it is stored as.
std::vector<double> values_of(const TensorView& tensor);
double value_at(const TensorView& tensor, uint64_t element);

}  // namespace coterie
