#include "device_sdk/runtime/delegate/verification.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "device_sdk/runtime/delegate/rounding.h"
#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/rebuild_model.h"
#include "device_sdk/runtime/shape_inference.h"

namespace coterie {
namespace {

constexpr uint64_t kSeed = 0x64656c6567617465;  // any

using Values = std::vector<float>;
using Views = std::span<const std::span<const float>>;

Result<Values> computed(const Model& model, uint32_t batch_size, Views inputs, uint64_t count) {
  COT_ASSIGN(Predictor predictor, Predictor::create(model, batch_size));
  Values outputs(count);
  COT_TRY(predictor.run(inputs, batch_size, outputs));
  return outputs;
}

// The largest difference where both are finite.
double distance(std::span<const float> a, std::span<const float> b) {
  double apart = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (std::isfinite(difference)) apart = std::max(apart, difference);
  }
  return apart;
}

double largest_of(std::span<const float> values) {
  double largest = 0;
  for (const float value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  return largest;
}

// How far apart two values are; infinite where one of them is no number and the other is another.
double difference_of(float expected, float seen) {
  if (std::isnan(expected) && std::isnan(seen)) return 0;
  if (expected == seen) return 0;
  const double difference = std::fabs(static_cast<double>(expected) - static_cast<double>(seen));
  return std::isfinite(difference) ? difference : INFINITY;
}

class OutputJudge {
 public:
  OutputJudge(const Model& model, const PlannedPart& part, uint32_t batch_size, double rounding, Views inputs)
      : model_(model), part_(part), batch_size_(batch_size), rounding_(rounding), inputs_(inputs) {}

  Result<VerifiedPart> judge(uint32_t output, std::span<const float> seen) const {
    COT_ASSIGN(const Model own, model_of_part(model_, part_, output));
    COT_ASSIGN(const Values expected, computed(own, batch_size_, inputs_, seen.size()));
    VerifiedPart verdict;
    verdict.largest = largest_of(expected);
    COT_ASSIGN(const double moved, largest_change(own, expected));
    verdict.bound = kVerificationSafety * moved + kVerificationFloor * rounding_ * verdict.largest;
    if (verdict.bound > kVerificationBoundMax * verdict.largest) {
      return refused(output, "cannot be verified: rounding alone moves its output by " + short_text(verdict.bound) +
                                 ", and its largest value is " + short_text(verdict.largest));
    }
    size_t worst = 0;
    for (size_t i = 0; i < seen.size(); ++i) {
      const double difference = difference_of(expected[i], seen[i]);
      if (difference <= verdict.difference) continue;
      verdict.difference = difference;
      worst = i;
    }
    if (verdict.difference <= verdict.bound) return verdict;
    return refused(output, "expected " + short_text(static_cast<double>(expected[worst])) + " at element " +
                               std::to_string(worst) + ", seen " + short_text(static_cast<double>(seen[worst])) +
                               ": they differ by " + short_text(verdict.difference) + ", and rounding by at most " +
                               short_text(verdict.bound));
  }

 private:
  Error refused(uint32_t output, const std::string& what) const {
    return {ErrorCode::refused, maker_text(model_.graph(), part_, output) + ", the end of a part of " +
                                    std::to_string(part_.ops.size()) + ": " + what};
  }
  Result<double> largest_change(const Model& own, const Values& expected) const {
    double moved = 0;
    for (uint64_t draw = 0; draw < kVerificationDraws; ++draw) {
      Prng prng = Prng::derived(kSeed, draw);
      std::vector<Values> inputs;
      for (const std::span<const float> input : inputs_) inputs.push_back(changed(input, rounding_, prng));
      const std::vector<std::span<const float>> views(inputs.begin(), inputs.end());
      COT_ASSIGN(const Model other, Model::load(own.file_with(changed(own.parameters(), rounding_, prng))));
      COT_ASSIGN(const Values outputs, computed(other, batch_size_, views, expected.size()));
      moved = std::max(moved, distance(outputs, expected));
    }
    return moved;
  }

  const Model& model_;
  const PlannedPart& part_;
  uint32_t batch_size_;
  double rounding_;
  Views inputs_;
};

// A model file has parameters, and a part may have none (pools, sums). An op that its output does not need then reads
// the whole model's smallest.
void add_some_parameter(ModelGraph& graph) {
  const auto is_stored = [&](uint32_t tensor) {
    return tensor != kNoTensor && has_payload(graph.tensors[tensor].role);
  };
  for (const OpInfo& op : graph.ops) {
    if (std::ranges::any_of(op.inputs, is_stored)) return;
  }
  uint32_t smallest = kNoTensor;
  const auto size = [&](uint32_t tensor) { return elements(graph.tensors[tensor].shape); };
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    if (is_stored(i) && (smallest == kNoTensor || size(i) < size(smallest))) smallest = i;
  }
  if (smallest == kNoTensor) return;
  graph.ops.push_back({.kind = OpKind::identity,
                       .name = "unread",
                       .inputs = {smallest},
                       .outputs = {static_cast<uint32_t>(graph.tensors.size())},
                       .attributes = default_attributes(OpKind::identity)});
  graph.tensors.push_back({.name = "unread"});
}

}  // namespace

Result<Model> model_of_part(const Model& model, const PlannedPart& part, uint32_t output,
                            std::vector<uint32_t>* moved_to) {
  const ModelGraph& whole = model.graph();
  ModelGraph graph;
  graph.name = whole.name;
  graph.tensors = whole.tensors;
  for (const uint32_t op : part.ops) graph.ops.push_back(whole.ops[op]);
  for (const uint32_t input : part.inputs) {
    TensorInfo& tensor = graph.tensors[input];
    if (tensor.role == TensorRole::input) continue;
    const Shape& shape = model.shape(input);
    tensor.role = TensorRole::input;
    tensor.shape.assign(shape.begin() + 1, shape.end());
  }
  add_some_parameter(graph);
  graph.inputs = part.inputs;
  graph.output = output;
  return rebuild_model(std::move(graph), model.parameters(), moved_to);
}

Result<VerifiedPart> verify_part(const Model& model, const PlannedPart& part, uint32_t batch_size, Views inputs,
                                 Views seen) {
  COT_ASSIGN(const InferredTypes inferred, infer_types(model.graph(), batch_size));
  const double rounding = relative_rounding(inferred, model.graph(), part);
  const OutputJudge judge(model, part, batch_size, rounding, inputs);
  VerifiedPart nearest;
  for (size_t i = 0; i < part.outputs.size(); ++i) {
    COT_ASSIGN(const VerifiedPart verdict, judge.judge(part.outputs[i], seen[i]));
    const auto share = [](const VerifiedPart& v) { return v.bound > 0 ? v.difference / v.bound : 0; };
    if (i == 0 || share(verdict) > share(nearest)) nearest = verdict;
  }
  return nearest;
}

}  // namespace coterie
