// What the tests of op rules share: what a model computes from a batch, and the gradient its training follows against
// central differences of the training loss.
//
// The kernels are checked in double where they are; here the wiring is: operands, shapes, which gradient goes where. So
// everything runs in float32, through the Trainer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/central_difference.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {

// As many examples as a batch has, for every input of the model: floats in [low, high), indices below `indices`.
class Batch : public ExampleSource {
 public:
  explicit Batch(const Model& model, uint64_t count, uint64_t seed = 7, double low = -1, double high = 1,
                 uint64_t indices = 4)
      : model_(model), count_(count) {
    Prng prng(seed);
    for (size_t i = 0; i < model.graph().inputs.size(); ++i) {
      floats_.emplace_back(count * elements(model.input_shape(i)));
      ints_.emplace_back(floats_.back().size());
      for (float& value : floats_.back()) value = static_cast<float>(prng.uniform(low, high));
      for (int32_t& value : ints_.back()) value = static_cast<int32_t>(prng.below(indices));
    }
    const auto classes = static_cast<uint64_t>(model.output_shape().back());
    labels_.resize(count);
    for (int32_t& label : labels_) label = static_cast<int32_t>(prng.below(classes));
  }

  std::vector<float>& floats(size_t input = 0) { return floats_[input]; }
  std::vector<int32_t>& ints(size_t input = 0) { return ints_[input]; }

  uint64_t size() const override { return count_; }
  Status read(uint64_t index, const Example& to) override {
    for (size_t i = 0; i < to.input_count(); ++i) {
      const size_t size = to.features(i).size();
      const bool is_float = model_.input_type(i) == DataType::float32;
      const void* from = is_float ? static_cast<const void*>(floats_[i].data() + index * size)
                                  : static_cast<const void*>(ints_[i].data() + index * size);
      std::memcpy(to.features(i).data(), from, size * kElementBytes);
    }
    std::fill(to.labels().begin(), to.labels().end(), labels_[index]);
    return {};
  }

 private:
  Model model_;
  uint64_t count_;
  std::vector<std::vector<float>> floats_;
  std::vector<std::vector<int32_t>> ints_;
  std::vector<int32_t> labels_;
};

// The model's output for the whole batch, as inference computes it. fault: what a step found wrong with the batch.
inline std::vector<float> outputs_of(const Model& model, Batch& batch, std::string* fault = nullptr) {
  const CompileSettings settings{.purpose = Purpose::predict,
                                 .batch_size = static_cast<uint32_t>(batch.size()),
                                 .arena_bytes_max = limits::kArenaBytesMax};
  Result<CompiledModel> compiled = compile(model, settings);
  EXPECT_OK(compiled);
  Result<Arena> arena = Arena::create(compiled->layout, limits::kArenaBytesMax);
  EXPECT_OK(arena);
  compiled->program.bind(*arena);
  const std::span<const float> parameters = model.parameters();
  std::copy(parameters.begin(), parameters.end(), arena->region(Region::parameters).begin());
  const char* seen = nullptr;
  const StepContext context{.kernels = kernels::kernels(), .fault = &seen};
  compiled->program.run(Phase::prepare, context);
  for (uint64_t example = 0; example < batch.size(); ++example) {
    std::vector<Example::Place> places;
    for (size_t i = 0; i < compiled->inputs.size(); ++i) {
      const size_t size = elements(model.input_shape(i));
      places.emplace_back(compiled->program.pointer(compiled->inputs[i]) + example * size, size);
    }
    EXPECT_OK(batch.read(example, Example(places, {})));
  }
  compiled->program.run(Phase::forward, context);
  if (fault != nullptr) *fault = seen == nullptr ? "" : seen;
  else EXPECT_EQ(seen, nullptr) << seen;
  const float* y = compiled->program.pointer(compiled->output);
  return {y, y + elements(at_batch(model.shape(model.graph().output), batch.size()))};
}

// One step of SGD on the batch, learning rate 1; by several threads, every step is cut that can be.
inline Trainer trained_once(const Model& model, Batch& batch, Loss loss, uint32_t threads = 1) {
  TrainOptions options;
  options.loss.kind = loss;
  options.batch_size = static_cast<uint32_t>(batch.size());
  options.optimizer.learning_rate = 1;
  options.threads = threads;
  options.part_nanoseconds_min = 0;
  options.seed = 1;
  Result<Trainer> trainer = Trainer::create(model, options, batch);
  EXPECT_OK(trainer);
  EXPECT_OK(trainer->step());
  return std::move(*trainer);
}

// By tensor, what training changed it by, as Trainer::delta gives it.
inline std::map<std::string, std::vector<float>> changes_of(const Model& model, const Trainer& trainer) {
  std::vector<float> delta(model.value_count());
  trainer.delta(delta);
  std::map<std::string, std::vector<float>> changes;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (!has_payload(tensor.role)) continue;
    const auto from = delta.begin() + static_cast<ptrdiff_t>(tensor.payload_offset / sizeof(float));
    changes[tensor.name] = {from, from + static_cast<ptrdiff_t>(elements(tensor.shape))};
  }
  return changes;
}

inline double training_loss(const Model& model, const std::vector<float>& parameters, Batch& batch, Loss loss) {
  const Model moved = load_or_die(model.file_with(parameters));
  return trained_once(moved, batch, loss).summary().loss_sum / static_cast<double>(batch.size());
}

// Every step of the training program says what it is: it has a name, and its settings are one line.
inline void expect_steps_are_told(const Model& model, Loss loss) {
  LossSettings settings;
  settings.kind = loss;
  const Result<CompiledModel> compiled =
      compile(model, {.loss = settings, .batch_size = 2, .arena_bytes_max = limits::kArenaBytesMax});
  ASSERT_OK(compiled);
  for (const StepInfo& step : compiled->program.steps()) {
    EXPECT_FALSE(step.operands.empty());
    EXPECT_GT(step.bytes(), 0u);
#ifndef COTERIE_NO_STEP_TEXT
    EXPECT_FALSE(step.name.empty());
    EXPECT_EQ(step.settings.find_first_of("\n\t"), std::string::npos) << step.settings;
#endif
  }
}

// Checks some eight elements of every trained parameter but the dense layers' (autodiff_test.cc has those), and that at
// least one gradient of each tensor is far from zero; what is frozen stays.
inline void expect_gradient_is_numerical(const Model& model, Batch& batch, Loss loss = Loss::softmax_cross_entropy) {
  expect_steps_are_told(model, loss);
  std::vector<float> delta(model.value_count());
  trained_once(model, batch, loss).delta(delta);
  std::vector<float> delta_of_three(model.value_count());
  trained_once(model, batch, loss, 3).delta(delta_of_three);
  EXPECT_EQ(std::memcmp(delta.data(), delta_of_three.data(), delta.size() * sizeof(float)), 0)
      << "three threads train another model than one";
  std::vector<float> parameters(model.parameters().begin(), model.parameters().end());
  for (uint32_t tensor = 0; tensor < model.graph().tensors.size(); ++tensor) {
    const TensorInfo& info = model.graph().tensors[tensor];
    if (info.role != TensorRole::parameter || info.name.starts_with("dense")) continue;
    double largest = 0;
    const size_t first = info.payload_offset / sizeof(float), count = elements(info.shape);
    for (size_t i = first; i < first + count; i += std::max<size_t>(1, count / 8)) {
      if (info.is_frozen) {
        EXPECT_EQ(delta[i], 0) << info.name;
        continue;
      }
      const double gradient =
          central_difference(parameters[i], 5e-3f, [&] { return training_loss(model, parameters, batch, loss); });
      largest = std::max(largest, std::fabs(gradient));
      // The loss is rounded to some 1e-7 of itself before it is divided by 1e-2.
      ASSERT_NEAR(-delta[i], gradient, 2e-4 + 4e-3 * std::fabs(gradient)) << info.name << " " << i - first;
    }
    if (!info.is_frozen) {
      EXPECT_GT(largest, 2e-3) << info.name << " has no influence";
    }
  }
}

// Values that differ, within [low, high], the same for the same seed.
inline std::vector<float> random_values(size_t count, uint64_t seed, double low = -1, double high = 1) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.uniform(low, high));
  return values;
}

// x plus a parameter of its shape: so that the gradient of the op behind by its input is a gradient of a parameter.
inline TensorId shifted(ModelBuilder& build, TensorId x, double low = -0.3, double high = 0.3) {
  const Shape shape = build.shape(x);
  const std::string name = "shift" + std::to_string(x);
  return build.add(x, build.parameter(name, shape, random_values(elements(shape), 5 + x, low, high)));
}

// The model that computes x; with a parameter, because every model must have one.
inline Model computing(ModelBuilder& build, TensorId x) {
  build.parameter("unused", {1}, {0});
  return load_or_die(build.finish(x));
}

// The model that ends in three scores computed from x.
inline Model scored(ModelBuilder& build, TensorId x) {
  return load_or_die(build.finish(build.dense(build.flatten(x), 3)));
}

}  // namespace coterie::test
