// Golden ONNX models (tests/golden/onnx), and what the tests compute with them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/os/file.h"
#include "device_sdk/runtime/predictor.h"
#include "device_sdk/runtime/trainer.h"
#include "model_import/onnx/import_onnx.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"

namespace coterie::test {

inline std::string golden_path(const std::string& name) { return source_dir() + "/tests/golden/onnx/" + name; }

inline Bytes read_or_die(const std::string& path) {
  Result<Bytes> bytes = os::read_file(path, 1 << 30);
  EXPECT_OK(bytes);
  return *bytes;
}

// Empty where this build was made without an op that the model has (-DCOTERIE_OPS_FROM).
inline std::optional<Model> imported_file(const std::string& path) {
  Result<model_import::ImportedModel> import = model_import::import_onnx(read_or_die(path));
  EXPECT_OK(import);
  if (!import) return std::nullopt;
  Result<Model> model = Model::load(std::move(import->model));
  if (!model && model.error().message().find("this build has no") != std::string::npos) return std::nullopt;
  EXPECT_OK(model);
  return model ? std::optional<Model>(*model) : std::nullopt;
}

inline std::optional<Model> imported(const std::string& name) { return imported_file(golden_path(name + ".onnx")); }

// One record of a golden file; integers are kept as the bytes of int32.
struct GoldenTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

inline std::map<std::string, GoldenTensor> golden_file(const std::string& path) {
  const Bytes bytes = read_or_die(path);
  std::map<std::string, GoldenTensor> tensors;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = bytes[at++];
    const std::string key(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                          bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length + 1;  // the type: both have four bytes
    GoldenTensor tensor;
    size_t count = 1;
    for (size_t rank = bytes[at++]; rank > 0; --rank, at += 4) {
      int32_t dimension;
      std::memcpy(&dimension, &bytes[at], 4);
      tensor.shape.push_back(dimension);
      count *= static_cast<size_t>(dimension);
    }
    tensor.values.resize(count);
    std::memcpy(tensor.values.data(), &bytes[at], 4 * count);
    at += 4 * count;
    tensors[key] = std::move(tensor);
  }
  return tensors;
}

inline std::map<std::string, GoldenTensor> read_golden(const std::string& name) {
  return golden_file(golden_path(name + ".golden"));
}

// NCHW to NHWC.
inline GoldenTensor channels_last(const GoldenTensor& x) {
  const auto n = static_cast<size_t>(x.shape[0]), c = static_cast<size_t>(x.shape[1]);
  const auto pixels = static_cast<size_t>(x.shape[2] * x.shape[3]);
  GoldenTensor result{{x.shape[0], x.shape[2], x.shape[3], x.shape[1]}, std::vector<float>(x.values.size())};
  for (size_t b = 0; b < n; ++b) {
    for (size_t p = 0; p < pixels; ++p) {
      for (size_t k = 0; k < c; ++k) result.values[(b * pixels + p) * c + k] = x.values[(b * c + k) * pixels + p];
    }
  }
  return result;
}

inline bool is_nhwc(const Model& model, const char* property, size_t i = 0) {
  const auto found = model.graph().properties.find(property);
  if (found == model.graph().properties.end()) return false;
  std::string words = found->second;
  for (; i > 0; --i) words = words.substr(words.find(',') + 1);
  return words.starts_with("nhwc");
}

inline std::vector<GoldenTensor> inputs_for(const Model& model, const std::map<std::string, GoldenTensor>& golden) {
  std::vector<GoldenTensor> inputs;
  for (size_t i = 0; i < model.graph().inputs.size(); ++i) {
    const GoldenTensor& input = golden.at("input:" + std::to_string(i));
    inputs.push_back(is_nhwc(model, "input_layout", i) ? channels_last(input) : input);
  }
  return inputs;
}

inline std::vector<float> predicted(const Model& model, const std::vector<GoldenTensor>& inputs, uint64_t batch) {
  Result<Predictor> predictor = Predictor::create(model, static_cast<uint32_t>(batch));
  EXPECT_OK(predictor);
  std::vector<std::span<const float>> views;
  for (const GoldenTensor& input : inputs) views.emplace_back(input.values);
  size_t count = batch;
  for (const int64_t dimension : model.output_shape()) count *= static_cast<size_t>(dimension);
  std::vector<float> output(count);
  EXPECT_OK(predictor->run(views, batch, output));
  return output;
}

// The largest difference, as a part of the largest value (at least 1).
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 1, apart = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max<double>(largest, std::fabs(b[i]));
    apart = std::max<double>(apart, std::fabs(a[i] - b[i]));
    if (std::isnan(a[i])) return INFINITY;
  }
  return apart / largest;
}

class OneBatch : public ExampleSource {
 public:
  OneBatch(std::vector<GoldenTensor> inputs, const std::vector<float>& labels)
      : inputs_(std::move(inputs)), labels_(labels.size()) {
    std::memcpy(labels_.data(), labels.data(), labels.size() * sizeof(float));
  }
  uint64_t size() const override { return labels_.size(); }
  Status read(uint64_t index, const Example& to) override {
    for (size_t i = 0; i < to.input_count(); ++i) {
      const size_t size = to.features(i).size();
      std::memcpy(to.features(i).data(), inputs_[i].values.data() + index * size, size * sizeof(float));
    }
    std::fill(to.labels().begin(), to.labels().end(), labels_[index]);
    return {};
  }

 private:
  std::vector<GoldenTensor> inputs_;
  std::vector<int32_t> labels_;
};

inline std::vector<float> expected_output(const Model& model, const std::map<std::string, GoldenTensor>& golden) {
  const GoldenTensor& output = golden.at("output");
  return is_nhwc(model, "output_layout") ? channels_last(output).values : output.values;
}

// The gradients of one batch's cross-entropy, each within `tolerance` of the tensor's largest; those of every
// parameter.
inline void expect_gradients(const Model& model, const std::map<std::string, GoldenTensor>& golden, double tolerance) {
  OneBatch batch(inputs_for(model, golden), golden.at("labels").values);
  const TrainingSettings settings{.loss = Loss::softmax_cross_entropy,
                                  .batch_size = static_cast<uint32_t>(batch.size()),
                                  .local_epochs = 1,
                                  .optimizer = {.learning_rate = 1}};
  Result<Trainer> trainer = Trainer::create(model, settings, batch, 1);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);
  double overall = 0;  // the largest gradient of all: what is far below it is noise
  for (const auto& [name, tensor] : golden) {
    for (const float value : tensor.values)
      overall = std::max<double>(overall, name.starts_with("gradient:") ? std::fabs(value) : 0);
  }
  size_t compared = 0;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    const auto found = golden.find("gradient:" + tensor.name);
    ASSERT_NE(found, golden.end()) << tensor.name;
    const std::vector<float>& expected = found->second.values;
    ASSERT_EQ(expected.size(), *element_count(tensor.shape)) << tensor.name;
    ++compared;
    double largest = 0;
    for (const float value : expected) largest = std::max<double>(largest, std::fabs(value));
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(-delta[tensor.payload_offset / sizeof(float) + i], expected[i],
                  tolerance * largest + 1e-6 * (1 + overall))
          << tensor.name << " " << i;
    }
  }
  EXPECT_EQ(compared, static_cast<size_t>(std::ranges::count_if(
                          golden, [](const auto& entry) { return entry.first.starts_with("gradient:"); })));
}

}  // namespace coterie::test
