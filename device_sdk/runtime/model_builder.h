// ModelBuilder: makes model files, layer by layer.
//
//   ModelBuilder build("digits", {8, 8, 1}, /*seed=*/1);
//   TensorId x = build.conv2d(build.input(), {.filters = 16, .kernel = 3, .pad = 1});
//   x = build.dense(build.flatten(build.relu(x)), 10);
//   COT_ASSIGN(Bytes file, build.finish(x));
//
// Weights are He-normal (He et al. 2015: standard deviation sqrt(2 / fan-in)), biases zero. The first mistake (a layer
// that does not fit) is remembered and reported by finish(); until then every call is harmless.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"
#include "device_sdk/runtime/op_rule.h"
#include "proto/messages/model.h"

namespace coterie {

using TensorId = uint32_t;  // index into ModelGraph::tensors

struct ConvLayer {
  uint32_t filters = 1;
  uint32_t kernel = 3;
  uint32_t stride = 1;
  uint32_t pad = 0;
  uint32_t groups = 1;
  bool bias = true;
};

struct PoolLayer {
  uint32_t kernel = 2;
  uint32_t stride = 2;
  uint32_t pad = 0;
};

class ModelBuilder {
 public:
  // `input_shape` is one example's, NHWC without N.
  ModelBuilder(std::string name, Shape input_shape, uint64_t seed, DataType input_type = DataType::float32);

  TensorId input() const { return 0; }
  // One more input; the models' readers fill them in the order in which they were made.
  TensorId input(std::string name, Shape shape, DataType type = DataType::float32);
  // Shape for one example: the batch dimension is left out.
  Shape shape(TensorId tensor) const;
  const ModelGraph& graph() const { return graph_; }

  // --- layers that make their own parameters
  TensorId dense(TensorId x, uint32_t units, bool bias = true);
  TensorId conv2d(TensorId x, const ConvLayer& layer);
  TensorId batch_norm(TensorId x, const NormAttributes& attributes = {});
  TensorId layer_norm(TensorId x, const NormAttributes& attributes = {});
  // Looks up indices below `rows`; the table is normal with standard deviation 1, as PyTorch's.
  TensorId embedding(TensorId indices, uint32_t rows, uint32_t features);

  // --- ops
  TensorId max_pool2d(TensorId x, const PoolLayer& layer);
  TensorId average_pool2d(TensorId x, const PoolLayer& layer);
  TensorId global_average_pool2d(TensorId x) { return op(OpKind::global_average_pool2d, {x}); }
  TensorId relu(TensorId x) { return op(OpKind::relu, {x}); }
  TensorId add(TensorId a, TensorId b) { return op(OpKind::add, {a, b}); }
  TensorId flatten(TensorId x) { return op(OpKind::flatten, {x}); }
  TensorId reshape(TensorId x, Shape shape) { return op(OpKind::reshape, {x}, batched(std::move(shape))); }

  // --- parts, for graphs the layers do not cover: shared weights, given values
  TensorId parameter(std::string name, Shape shape, std::vector<float> values) {
    return stored(TensorRole::parameter, std::move(name), std::move(shape), std::move(values));
  }
  // A parameter drawn uniformly from [-bound, bound].
  TensorId uniform(std::string name, Shape shape, double bound);
  TensorId state(std::string name, Shape shape, std::vector<float> values) {
    return stored(TensorRole::state, std::move(name), std::move(shape), std::move(values));
  }
  TensorId constant(std::string name, Shape shape, std::span<const float> values);
  TensorId constant(std::string name, Shape shape, std::span<const int32_t> values);
  // Attributes default to the kind's, the name to the kind and a number. The first output of several.
  TensorId op(OpKind kind, std::vector<TensorId> inputs, OpAttributes attributes = {}, std::string name = "") {
    return outputs(kind, std::move(inputs), std::move(attributes), std::move(name))[0];
  }
  // All of them.
  std::vector<TensorId> outputs(OpKind kind, std::vector<TensorId> inputs, OpAttributes attributes = {},
                                std::string name = "");
  void property(const std::string& key, const std::string& value) { graph_.properties[key] = value; }

  // The model file, its parameters each at the next multiple of 64 bytes. Errors: the first mistake made, as
  // Model::load would report it.
  // `further`: outputs beside it (model_outputs.h), at most 15.
  Result<Bytes> finish(TensorId output, std::span<const TensorId> further = {});

 private:
  Result<std::vector<TensorType>> infer(OpInfo op) const;
  TensorId stored(TensorRole role, std::string name, Shape shape, std::vector<float> values);
  TensorId constant(std::string name, DataType type, Shape shape, ByteView data);
  template <typename Draw>
  TensorId drawn(std::string name, Shape shape, const Draw& draw);
  TensorId normal(std::string name, Shape shape, double deviation);
  TensorId he_normal(std::string name, Shape shape, uint64_t fan_in);
  static ShapeAttributes batched(Shape shape);
  std::string next_name(const std::string& kind) { return kind + std::to_string(++names_[kind]); }

  ModelGraph graph_;
  std::vector<TensorType> types_;  // at kBatch examples
  std::vector<float> payload_;
  std::map<std::string, int> names_;
  Prng prng_;
  std::optional<Error> mistake_;
};

}  // namespace coterie
