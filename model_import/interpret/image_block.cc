// DepthToSpace, SpaceToDepth, and LRN.
#include <algorithm>
#include <cmath>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// [batch, channels, height, width] with the blocks of a size as channels on one side, and as rows and columns on the
// other. Calls move(element of the deep one, element of the wide one).
template <typename Move>
Status for_each_block_element(const Call& call, const Array& deep, const Array& wide, int64_t block, Move&& move) {
  const std::string mode = call.node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return unknown_form("mode " + mode);
  const int64_t left = wide.shape[1];
  for_each_index(wide.shape, [&](const Index& index, size_t i) {
    const int64_t row = index[2] % block, column = index[3] % block;
    const int64_t channel =
        mode == "CRD" ? (index[1] * block + row) * block + column : (row * block + column) * left + index[1];
    move(offset_of(deep.shape, {index[0], channel, index[2] / block, index[3] / block}), i);
  });
  return {};
}

Result<int64_t> block_of(const Call& call) {
  const int64_t block = call.node.integer("blocksize", 0);
  if (block < 1 || block > 1 << 10) return bad_form("a blocksize of " + std::to_string(block));
  if (call.operand(0).rank() != 4) return bad_form("an operand that is no image");
  return block;
}

Result<Outputs> compute_depth_to_space(const Call& call) {
  COT_ASSIGN(const int64_t block, block_of(call));
  const Array& x = call.operand(0);
  if (x.shape[1] % (block * block) != 0) return bad_form("channels that are no multiple of the block's");
  COT_ASSIGN(Array y,
             zeros_like(x, {x.shape[0], x.shape[1] / (block * block), x.shape[2] * block, x.shape[3] * block}));
  COT_TRY(for_each_block_element(call, x, y, block, [&](size_t from, size_t to) { y.values[to] = x.values[from]; }));
  return one(std::move(y));
}

Result<Outputs> compute_space_to_depth(const Call& call) {
  COT_ASSIGN(const int64_t block, block_of(call));
  const Array& x = call.operand(0);
  if (x.shape[2] % block != 0 || x.shape[3] % block != 0) return bad_form("a size that is no multiple of the block's");
  COT_ASSIGN(Array y, zeros_like(x, {x.shape[0], x.shape[1] * block * block, x.shape[2] / block, x.shape[3] / block}));
  COT_TRY(for_each_block_element(call, y, x, block, [&](size_t to, size_t from) { y.values[to] = x.values[from]; }));
  return one(std::move(y));
}

// x / (bias + alpha / size * square_sum)^beta; square_sum over channels max(0, c - floor((size - 1) / 2)) to
// min(C - 1, c + ceil((size - 1) / 2)).
Result<Outputs> compute_lrn(const Call& call) {
  const Array& x = call.operand(0);
  const int64_t size = call.node.integer("size", 0);
  if (x.rank() < 2 || size < 1 || size > 1 << 24) return bad_form("no size, or an operand without channels");
  const auto number = [&](const char* key, float absent) { return static_cast<double>(call.node.real(key, absent)); };
  const double alpha = number("alpha", 1e-4f), beta = number("beta", 0.75f), bias = number("bias", 1);
  Array y = x;
  for_each_index(x.shape, [&](const Index& index, size_t i) {
    double sum = 0;
    Index near = index;
    const int64_t from = std::max<int64_t>(0, index[1] - (size - 1) / 2);
    const int64_t to = std::min<int64_t>(x.shape[1] - 1, index[1] + size / 2);
    for (near[1] = from; near[1] <= to; ++near[1]) {
      const double value = x.values[offset_of(x.shape, near)];
      sum += value * value;
    }
    y.values[i] = x.values[i] / std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
  });
  return one(std::move(y));
}

}  // namespace

Operator image_block_operator(const std::string& op) {
  if (op == "DepthToSpace") return compute_depth_to_space;
  if (op == "SpaceToDepth") return compute_space_to_depth;
  return op == "LRN" ? compute_lrn : nullptr;
}

}  // namespace coterie::model_import
