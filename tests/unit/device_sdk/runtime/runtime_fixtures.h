// Data sets and models that the runtime's tests share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/random.h"
#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/model_builder.h"
#include "proto/codec/codec.h"
#include "tests/support/matchers.h"
#include "tools/model/zoo.h"

namespace coterie::test {

// Random examples in memory. Counts how often each was read.
class Examples : public ExampleSource {
 public:
  Examples(uint64_t count, size_t features, uint32_t classes, uint64_t seed = 3)
      : features_(features), values_(count * features), labels_(count), reads_(count) {
    Prng prng(seed);
    for (float& value : values_) value = static_cast<float>(prng.uniform(-1, 1));
    for (int32_t& label : labels_) label = static_cast<int32_t>(prng.below(classes));
  }

  uint64_t size() const override { return labels_.size(); }
  Status read(uint64_t index, const Example& to) override {
    if (fail_at_ == index) return Error(ErrorCode::unavailable, "the test's disk is gone");
    for (size_t i = 0; i < features_; ++i) to.features()[i] = values_[index * features_ + i];
    to.labels()[0] = labels_[index];
    ++reads_[index];
    return {};
  }

  void fail_at(uint64_t index) { fail_at_ = index; }
  void heal() { fail_at_ = ~0ull; }
  void set_label(uint64_t index, int32_t label) { labels_[index] = label; }
  void set_feature(uint64_t index, size_t feature, float value) { values_[index * features_ + feature] = value; }
  const std::vector<uint32_t>& reads() const { return reads_; }
  const std::vector<float>& values() const { return values_; }
  const std::vector<int32_t>& labels() const { return labels_; }

 private:
  size_t features_;
  std::vector<float> values_;
  std::vector<int32_t> labels_;
  std::vector<uint32_t> reads_;
  uint64_t fail_at_ = ~0ull;
};

inline Model load_or_die(Result<Bytes> file) {
  EXPECT_OK(file);
  Result<Model> model = Model::load(std::move(*file));
  EXPECT_OK(model);
  return *model;
}

inline Model small_cnn() { return load_or_die(make_model(ModelKind::cnn, {8, 8, 1}, 10, 5)); }

// A net with everything: groups, strides, uneven shapes, a residual add, every pool, a reshape, ReLUs that fuse and
// ones that do not, a weight that two layers share.
inline Model tangled_net() {
  ModelBuilder build("tangled", {7, 6, 4}, 11);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 8, .kernel = 3, .pad = 1, .groups = 2}));
  const TensorId left = build.conv2d(x, {.filters = 8, .kernel = 3, .pad = 1, .bias = false});
  x = build.relu(build.add(left, x));
  x = build.average_pool2d(x, {.kernel = 3, .stride = 1, .pad = 1});
  const TensorId wide = build.relu(build.conv2d(x, {.filters = 6, .kernel = 2, .stride = 2, .pad = 1}));
  x = build.max_pool2d(wide, {.kernel = 2, .stride = 1});
  const TensorId flat = build.relu(build.flatten(x));
  const TensorId pooled = build.reshape(build.global_average_pool2d(wide), {6});
  const int64_t size = build.shape(flat)[0];
  const TensorId narrow = build.dense(flat, 6);
  const std::vector<float> values = [&] {
    Prng prng(12);
    std::vector<float> v(36);
    for (float& value : v) value = static_cast<float>(prng.normal() * 0.5);
    return v;
  }();
  EXPECT_GT(size, 6);
  const TensorId shared = build.parameter("shared", {6, 6}, values);
  const TensorId a = build.op(OpKind::dense, {narrow, shared});
  const TensorId b = build.op(OpKind::dense, {pooled, shared});
  x = build.add(build.relu(a), b);
  x = build.add(x, x);
  return load_or_die(build.finish(build.dense(x, 5)));
}

// The same parameters under a changed graph, as a hostile server would send it.
inline Bytes forged(const Model& model, const std::function<void(ModelGraph&)>& change) {
  ModelGraph graph = model.graph();
  change(graph);
  const auto values = model.parameters();
  Bytes file = encode_head(graph, values.size_bytes());
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  file.insert(file.end(), bytes, bytes + values.size_bytes());
  return file;
}

}  // namespace coterie::test
