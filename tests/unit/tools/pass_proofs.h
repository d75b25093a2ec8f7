// What proves a pass: a graph in which it fires, and near misses in which it must not.
#pragma once

#include <vector>

#include "base/random.h"
#include "device_sdk/runtime/model_builder.h"

namespace coterie::test {

// A graph under way: sizes that are 0 in a case's shape are drawn.
struct Net {
  ModelBuilder build;
  Prng prng;
  TensorId x;

  Net(Shape shape, uint64_t seed) : build("net", drawn(shape, seed), seed), prng(seed), x(build.input()) {}

  static Shape drawn(Shape shape, uint64_t seed) {
    Prng prng(seed);
    for (int64_t& size : shape) {
      if (size == 0) size = 2 + static_cast<int64_t>(prng.below(5));
    }
    return shape;
  }

  TensorId op(OpKind kind, std::vector<TensorId> inputs, OpAttributes attributes = {}) {
    return build.op(kind, std::move(inputs), std::move(attributes));
  }
  TensorId known(Shape shape, const std::vector<float>& values) {
    return build.constant("c" + std::to_string(++names), std::move(shape), std::span(values));
  }
  TensorId known(float value) { return known({1}, {value}); }
  TensorId rows(const std::vector<int32_t>& values) {
    return build.constant("rows", {static_cast<int64_t>(values.size())}, std::span(values));
  }
  // A parameter of numbers in [.5, 2).
  TensorId stored(Shape shape) {
    std::vector<float> values(elements(shape));
    for (float& value : values) value = static_cast<float>(prng.uniform(.5, 2));
    return build.parameter("p" + std::to_string(++names), std::move(shape), values);
  }
  TensorId transposed(TensorId of, std::vector<int64_t> order) {
    return op(OpKind::transpose, {of}, TransposeAttributes{std::move(order)});
  }
  TensorId clipped(TensorId of, float low, float high) { return op(OpKind::clip, {of}, UnaryAttributes{low, high}); }
  int64_t size(TensorId of, size_t dimension) const { return build.shape(of)[dimension - 1]; }  // of the batch's shape

  int names = 0;
};

using Make = TensorId (*)(Net& net);

struct Proof {
  const char* pass;
  Shape shape;     // of the input
  bool same_bits;  // else up to `bound` of the largest output
  Make fires;
  std::vector<Make> near_misses;
  size_t rewrites = 1;  // at least
  double bound = 1e-5;
};

// One for each pass.
const std::vector<Proof>& proofs();

}  // namespace coterie::test
