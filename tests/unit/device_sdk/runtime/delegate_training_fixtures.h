// A delegate for tests that computes parts of a training with our own kernels, and does wrong where it is told to.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "device_sdk/runtime/delegate/delegate.h"
#include "device_sdk/runtime/delegate/part_gradients.h"
#include "device_sdk/runtime/delegate/verification.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/unit/device_sdk/runtime/heap_memory.h"

namespace coterie::test {

enum class TrainingDeed {
  none,
  rounds_gradient,  // by 1 + 2^-23: what rounding explains
  scales_gradient,  // by 1.001
  lies_in_one_element,
  leaves_gradient_unwritten,
  writes_beyond_gradient,
  writes_into_output_gradient,
  writes_into_parameter,
  throws_in_backward,
  throws_in_backward_later,  // in the third batch, which nobody verifies
  fails_in_forward_later,    // likewise
  scales_values,
  does_not_compile,
};

class ReferenceTrainer final : public Delegate {
 public:
  explicit ReferenceTrainer(Model model, TrainingDeed deed = TrainingDeed::none)
      : model_(std::move(model)), deed_(deed) {}

  DelegateTraits traits_ = {
      .name = "reference", .version = "1", .computes_backward = true, .saved_nanoseconds_per_flop = 1e9};
  std::set<OpKind> refused_kinds;
  std::set<uint32_t> refused_ops;
  HeapMemory heap;
  int forwards = 0, backwards = 0;  // of all parts
  std::vector<DelegatePart> parts;  // that were compiled; their models are gone

  DelegateTraits traits() const override { return traits_; }
  std::string refusal(const DelegateGraph& model, uint32_t op) const override {
    if (refused_kinds.contains(model.graph.ops[op].kind)) return "the test refuses its kind";
    return refused_ops.contains(op) ? "the test refuses it" : "";
  }
  Result<std::unique_ptr<CompiledPart>> compile(const DelegatePart&) override {
    return Error(ErrorCode::unavailable, "it only trains");
  }
  Result<std::unique_ptr<TrainingPart>> compile_training(const DelegatePart& part) override {
    if (deed_ == TrainingDeed::does_not_compile) return Error(ErrorCode::unavailable, "the test's device is gone");
    parts.push_back(part);
    const PlannedPart planned{.ops = part.ops,
                              .inputs = part.inputs,
                              .outputs = part.outputs,
                              .parameters = part.parameters,
                              .output_gradients = part.output_gradients,
                              .gradients = part.gradients};
    const auto batch = static_cast<uint32_t>(part.model.shape(part.inputs[0])[0]);
    COT_ASSIGN(PartGradients gradients, PartGradients::create(model_, planned, batch));
    auto made = std::make_unique<Part>(Part{*this, planned, batch, std::move(gradients)});
    for (const std::vector<uint32_t>* list :
         {&part.inputs, &part.parameters, &part.outputs, &part.output_gradients, &part.gradients}) {
      for (const uint32_t tensor : *list) made->sizes[tensor] = elements(part.model.shape(tensor));
    }
    return std::unique_ptr<TrainingPart>(std::move(made));
  }

  DeviceMemory* memory() override { return traits_.domain == MemoryDomain::device ? &heap : nullptr; }

 private:
  struct Part final : TrainingPart {
    ReferenceTrainer& owner;
    PlannedPart part;
    uint32_t batch;
    PartGradients ours;
    int runs = 0;
    std::map<uint32_t, uint64_t> sizes = {};  // per tensor

    Part(ReferenceTrainer& trainer, PlannedPart planned, uint32_t batch_size, PartGradients gradients)
        : owner(trainer), part(std::move(planned)), batch(batch_size), ours(std::move(gradients)) {}

    std::vector<std::span<const float>> views(const std::vector<uint32_t>& tensors,
                                              std::span<void* const> buffers) const {
      std::vector<std::span<const float>> all;
      for (size_t i = 0; i < tensors.size(); ++i) {
        all.emplace_back(static_cast<const float*>(buffers[i]), sizes.at(tensors[i]));
      }
      return all;
    }
    std::vector<float> present(const TrainingBuffers& buffers) const {
      std::vector<float> values(owner.model_.parameters().begin(), owner.model_.parameters().end());
      for (size_t i = 0; i < part.parameters.size(); ++i) {
        const uint64_t offset = owner.model_.graph().tensors[part.parameters[i]].payload_offset / sizeof(float);
        std::memcpy(values.data() + offset, buffers.parameters[i], sizes.at(part.parameters[i]) * sizeof(float));
      }
      return values;
    }

    Status forward(const TrainingBuffers& buffers) override {
      ++runs;
      ++owner.forwards;
      if (owner.deed_ == TrainingDeed::fails_in_forward_later && runs == 3) {
        return Error(ErrorCode::unavailable, "the test's device is gone");
      }
      COT_ASSIGN(const Model whole, Model::load(owner.model_.file_with(present(buffers))));
      const std::vector<std::span<const float>> inputs = views(part.inputs, buffers.inputs);
      for (size_t i = 0; i < part.outputs.size(); ++i) {
        COT_ASSIGN(const Model own, model_of_part(whole, part, part.outputs[i]));
        COT_ASSIGN(Predictor predictor, Predictor::create(own, batch));
        const std::span<float> values(static_cast<float*>(buffers.outputs[i]), sizes.at(part.outputs[i]));
        COT_TRY(predictor.run(inputs, batch, values));
        if (owner.deed_ != TrainingDeed::scales_values) continue;
        for (float& value : values) value *= 1.001f;
      }
      if (owner.deed_ == TrainingDeed::writes_into_parameter) static_cast<float*>(buffers.parameters[0])[0] += 1;
      return {};
    }

    Status backward(const TrainingBuffers& buffers) override {
      ++owner.backwards;
      const TrainingDeed deed = owner.deed_;
      std::vector<std::span<float>> gradients;
      for (size_t i = 0; i < part.gradients.size(); ++i) {
        gradients.emplace_back(static_cast<float*>(buffers.gradients[i]), sizes.at(part.gradients[i]));
      }
      COT_TRY(ours.run(present(buffers), views(part.inputs, buffers.inputs),
                       views(part.output_gradients, buffers.output_gradients), gradients));
      if (deed == TrainingDeed::throws_in_backward || (deed == TrainingDeed::throws_in_backward_later && runs == 3)) {
        throw std::runtime_error("the test's bad day");
      }
      const std::span<float> last = gradients.back();
      const float factor = deed == TrainingDeed::scales_gradient   ? 1.001f
                           : deed == TrainingDeed::rounds_gradient ? 1.00000012f
                                                                   : 1.0f;
      for (float& value : last) value *= factor;
      if (deed == TrainingDeed::lies_in_one_element) last[last.size() / 2] += 0.01f;
      if (deed == TrainingDeed::leaves_gradient_unwritten) std::memset(&last.back(), 0xff, sizeof(float));
      if (deed == TrainingDeed::writes_beyond_gradient) last.data()[last.size()] = 1;
      if (deed == TrainingDeed::writes_into_output_gradient) static_cast<float*>(buffers.output_gradients[0])[0] += 1;
      return {};
    }
  };

  Model model_;
  TrainingDeed deed_;
};

}  // namespace coterie::test
