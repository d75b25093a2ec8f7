// FirstNonFinite: finds the first step of a training that has finite operands and makes a value that is not finite.
//
// It looks at values, gradients, moments, targets and the loss's sum, before and behind each step: one pass over each.
// What steps of one op tell each other (scratch) is not looked at: those bits may be masks and indices. Until something
// is found everything was finite, so that what is not finite in front of a step came in with the example or was there
// before training began.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device_sdk/runtime/step_runner.h"
#include "device_sdk/watch/tensor_statistics.h"

namespace coterie {

class Model;
struct StepView;

enum class NonFiniteCause : uint8_t {
  op,    // a step made it out of finite operands
  data,  // the example has it
  state  // it was there before the first step that was looked at: a parameter, a moment, what is computed of constants
};
constexpr std::string_view to_string(NonFiniteCause cause) {
  constexpr std::string_view kNames[] = {"op", "data", "state"};
  return kNames[static_cast<size_t>(cause)];
}

struct SeenTensor {
  std::string what, type, shape;  // as ListedOperand
  bool is_made = false;           // by the step; else it was there before, and the statistics are of before
  TensorStatistics statistics;
};

struct NonFinite {
  NonFiniteCause cause = NonFiniteCause::op;
  uint64_t step = 0;  // of the training, from 0
  Phase phase = Phase::forward;
  std::string op, op_kind;          // "conv1", "conv2d"; "loss", "update", "clip"
  std::string layer;                // the op; of an update the first op that reads the parameter
  std::string step_name, settings;  // "conv2d.forward"
  // What the step read, then what it made, scratch left out; what is not finite is among them. A weight that it reads
  // as another step of the op has arranged it is there, too.
  std::vector<SeenTensor> tensors;
  // In the data. Exact where what is not finite has a row for each example; else (a gradient of a weight) that of the
  // largest finite value that the step read. None where it read no rows.
  std::optional<uint64_t> example;
  bool is_example_exact = false;
  std::optional<double> loss_sum;       // of the loss
  std::vector<uint32_t> examples = {};  // the micro-batch's
};

class FirstNonFinite final : public StepRunner {
 public:
  // `model` must outlive it.
  explicit FirstNonFinite(const Model& model) : model_(model) {}

  void begin(const BatchMoment& moment) override;
  void run(const Program& program, const Arena& arena, Phase phase, const StepContext& context) override;
  void scaled(std::span<const float> gradients) override;

  // Once something is found, steps are run and no longer looked at.
  const std::optional<NonFinite>& found() const { return found_; }
  void forget() { found_.reset(); }

 private:
  void watch_step(const StepView& view, const Program& program, size_t index, const StepContext& context);
  NonFinite report(NonFiniteCause cause, const StepView& view, std::vector<SeenTensor> seen,
                   const std::vector<size_t>& looked_at) const;
  void name_example(const StepView& view, const std::vector<SeenTensor>& seen, const std::vector<size_t>& wrong,
                    NonFinite& to) const;
  std::optional<uint64_t> example_of(const OperandInfo& operand, uint64_t element) const;
  bool is_data(const OperandInfo& operand) const;

  const Model& model_;
  uint64_t step_ = 0;
  std::vector<uint32_t> examples_;
  std::optional<NonFinite> found_;
};

}  // namespace coterie
