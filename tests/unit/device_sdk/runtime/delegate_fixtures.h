// Delegates for tests: one that computes parts with our own kernels, and does wrong where it is told to.
#pragma once

#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_sdk/runtime/delegate/delegate.h"
#include "device_sdk/runtime/delegate/verification.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/unit/device_sdk/runtime/heap_memory.h"

namespace coterie::test {

enum class Deed {
  none,
  scales_a_little,  // by 1 + 2^-23: what rounding explains
  scales,           // by 1.001
  leaves_unwritten,
  writes_beyond,
  writes_before,
  writes_into_input,
  fails,
  throws,
  fails_later,  // at the third run
  does_not_compile,
};

class ReferenceDelegate final : public Delegate {
 public:
  explicit ReferenceDelegate(const Model& model, Deed deed = Deed::none) : model_(model), deed_(deed) {}

  DelegateTraits traits_ = {.name = "reference", .version = "1", .saved_nanoseconds_per_flop = 1e9};
  std::set<OpKind> refused_kinds;
  std::set<uint32_t> refused_ops;
  HeapMemory heap;

  DelegateTraits traits() const override { return traits_; }
  std::string refusal(const DelegateGraph& model, uint32_t op) const override {
    if (refused_kinds.contains(model.graph.ops[op].kind)) return "the test refuses its kind";
    return refused_ops.contains(op) ? "the test refuses it" : "";
  }
  Result<std::unique_ptr<CompiledPart>> compile(const DelegatePart& part) override {
    if (deed_ == Deed::does_not_compile) return Error(ErrorCode::unavailable, "the test's device is gone");
    auto made = std::make_unique<Part>();
    made->deed = deed_;
    made->inputs = sizes(part, part.inputs);
    made->outputs = sizes(part, part.outputs);
    made->batch = static_cast<uint32_t>(part.model.shape(part.inputs[0])[0]);
    const PlannedPart planned{.ops = part.ops, .inputs = part.inputs, .outputs = part.outputs};
    for (const uint32_t output : part.outputs) {
      COT_ASSIGN(const Model model, model_of_part(model_, planned, output));
      COT_ASSIGN(Predictor predictor, Predictor::create(model, made->batch));
      made->predictors.push_back(std::move(predictor));
    }
    return std::unique_ptr<CompiledPart>(std::move(made));
  }

  DeviceMemory* memory() override { return traits_.domain == MemoryDomain::device ? &heap : nullptr; }

 private:
  struct Part final : CompiledPart {
    Deed deed = Deed::none;
    uint32_t batch = 1;
    int runs = 0;
    std::vector<uint64_t> inputs, outputs;
    std::vector<Predictor> predictors;

    Status run(std::span<void* const> in, std::span<void* const> out) override {
      ++runs;
      std::vector<std::span<const float>> views;
      for (size_t i = 0; i < in.size(); ++i) views.emplace_back(static_cast<const float*>(in[i]), inputs[i]);
      for (size_t i = 0; i < out.size(); ++i) {
        const std::span<float> values(static_cast<float*>(out[i]), outputs[i]);
        COT_TRY(predictors[i].run(views, batch, values));
        if (deed == Deed::fails || (deed == Deed::fails_later && runs == 3)) {
          return Error(ErrorCode::unavailable, "the test's device is gone");
        }
        if (deed == Deed::throws) throw std::runtime_error("the test's bad day");
        const float factor = deed == Deed::scales ? 1.001f : deed == Deed::scales_a_little ? 1.00000012f : 1.0f;
        for (float& value : values) value *= factor;
        if (deed == Deed::leaves_unwritten) std::memset(&values.back(), 0xff, sizeof(float));
        if (deed == Deed::writes_beyond) values.data()[values.size()] = 1;
        if (deed == Deed::writes_before) values.data()[-1] = 1;
      }
      if (deed == Deed::writes_into_input) static_cast<float*>(in[0])[0] += 1;
      return {};
    }
  };

  static std::vector<uint64_t> sizes(const DelegatePart& part, const std::vector<uint32_t>& tensors) {
    std::vector<uint64_t> sizes;
    for (const uint32_t tensor : tensors) sizes.push_back(elements(part.model.shape(tensor)));
    return sizes;
  }

  Model model_;
  Deed deed_;
};

}  // namespace coterie::test
