// Loops over tensors whose elements are not all neighbours: what broadcasting, transposing, slicing,
// expanding and reducing have in common. Each operand has a step for every dimension; a step of 0 repeats a
// value (or, in the operand that is written, sums into it).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

namespace coterie::kernels {

inline constexpr size_t kRankMax = 8;

template <size_t kOperands>
struct StridedLoops {
  size_t rank = 1;
  std::array<size_t, kRankMax> size = {1};
  std::array<std::array<ptrdiff_t, kRankMax>, kOperands> stride = {};  // in elements

  size_t count() const {
    size_t product = 1;
    for (size_t d = 0; d < rank; ++d) product *= size[d];
    return product;
  }

  // The same loops over indices [begin, begin + length) of one dimension. offset(k, ...) is how far operand
  // k's pointer moves. A part along a dimension in which the written operand has a step other than 0 is work
  // for another thread.
  StridedLoops part(size_t dimension, size_t length) const {
    StridedLoops loops = *this;
    loops.size[dimension] = length;
    return loops;
  }
  ptrdiff_t offset(size_t operand, size_t dimension, size_t begin) const {
    return stride[operand][dimension] * static_cast<ptrdiff_t>(begin);
  }
};

// The same loops in as few dimensions as possible (at least one): without those of size 1, and neighbours
// joined where every operand steps evenly through both. The order of the elements stays.
template <size_t kOperands>
StridedLoops<kOperands> collapsed(const StridedLoops<kOperands>& loops) {
  StridedLoops<kOperands> result;
  result.rank = 0;
  for (size_t d = 0; d < loops.rank; ++d) {
    if (loops.size[d] == 1) continue;
    bool joins = result.rank > 0;
    for (size_t k = 0; k < kOperands && joins; ++k) {
      joins = result.stride[k][result.rank - 1] == loops.stride[k][d] * static_cast<ptrdiff_t>(loops.size[d]);
    }
    if (!joins) result.size[result.rank++] = 1;
    result.size[result.rank - 1] *= loops.size[d];
    for (size_t k = 0; k < kOperands; ++k) result.stride[k][result.rank - 1] = loops.stride[k][d];
  }
  if (result.rank == 0) {
    result.rank = 1;
    result.size[0] = 1;
    for (auto& stride : result.stride) stride[0] = 1;
  }
  return result;
}

// Goes through the elements of the first `dims` dimensions in row-major order.
template <size_t kOperands>
class StridedWalk {
 public:
  StridedWalk(const StridedLoops<kOperands>& loops, size_t dims) : loops_(loops), dims_(dims) {}

  ptrdiff_t offset(size_t operand) const { return offset_[operand]; }

  // False, and at the beginning again, behind the last element.
  bool next() {
    for (size_t d = dims_; d-- > 0;) {
      const bool more = ++index_[d] < loops_.size[d];
      if (!more) index_[d] = 0;
      for (size_t k = 0; k < kOperands; ++k) {
        const ptrdiff_t back = static_cast<ptrdiff_t>(loops_.size[d]) - 1;
        offset_[k] += more ? loops_.stride[k][d] : -loops_.stride[k][d] * back;
      }
      if (more) return true;
    }
    return false;
  }

 private:
  const StridedLoops<kOperands>& loops_;
  size_t dims_;
  std::array<size_t, kRankMax> index_ = {};
  std::array<ptrdiff_t, kOperands> offset_ = {};
};

// Row-major steps of a dense tensor; of a dimension of size 1 it is 0 when `broadcast`.
inline std::array<ptrdiff_t, kRankMax> dense_strides(std::span<const size_t> dims, bool broadcast) {
  std::array<ptrdiff_t, kRankMax> stride = {};
  ptrdiff_t step = 1;
  for (size_t d = dims.size(); d-- > 0; step *= static_cast<ptrdiff_t>(dims[d])) {
    stride[d] = broadcast && dims[d] == 1 ? 0 : step;
  }
  return stride;
}

// The loops of y = f(inputs...) under NumPy's broadcasting: operands 0 .. kInputs - 1 are the inputs, the
// last is the dense result. Nothing if the shapes do not fit each other or a rank is above kRankMax.
template <size_t kInputs>
std::optional<StridedLoops<kInputs + 1>> broadcast_loops(const std::array<std::span<const size_t>, kInputs>& inputs) {
  StridedLoops<kInputs + 1> loops;
  loops.rank = 0;
  for (const auto& dims : inputs) loops.rank = dims.size() > loops.rank ? dims.size() : loops.rank;
  if (loops.rank > kRankMax) return std::nullopt;
  for (size_t d = 0; d < loops.rank; ++d) loops.size[d] = 1;
  for (size_t k = 0; k < kInputs; ++k) {
    const size_t missing = loops.rank - inputs[k].size();
    const auto stride = dense_strides(inputs[k], true);
    for (size_t d = 0; d < inputs[k].size(); ++d) {
      size_t& size = loops.size[missing + d];
      if (inputs[k][d] != 1 && size != 1 && size != inputs[k][d]) return std::nullopt;
      if (inputs[k][d] != 1) size = inputs[k][d];
      loops.stride[k][missing + d] = stride[d];
    }
  }
  loops.stride[kInputs] = dense_strides(std::span(loops.size).first(loops.rank), false);
  return collapsed(loops);
}

// Operand 0: x[dims], dense. Operand 1: y, x without the dimensions where `reduced` is true, dense.
inline StridedLoops<2> reduction_loops(std::span<const size_t> dims, std::span<const bool> reduced) {
  StridedLoops<2> loops;
  loops.rank = dims.size();
  loops.stride[0] = dense_strides(dims, false);
  ptrdiff_t step = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    loops.size[d] = dims[d];
    loops.stride[1][d] = reduced[d] ? 0 : step;
    if (!reduced[d]) step *= static_cast<ptrdiff_t>(dims[d]);
  }
  return collapsed(loops);
}

// y[i0, i1, ...] = x with dimension order[d] of x at place d (ONNX Transpose, PyTorch permute). Operand 0: x,
// 1: y.
inline StridedLoops<2> transpose_loops(std::span<const size_t> dims, std::span<const size_t> order) {
  StridedLoops<2> loops;
  loops.rank = dims.size();
  const auto stride = dense_strides(dims, false);
  for (size_t d = 0; d < dims.size(); ++d) {
    loops.size[d] = dims[order[d]];
    loops.stride[0][d] = stride[order[d]];
  }
  loops.stride[1] = dense_strides(std::span(loops.size).first(loops.rank), false);
  return collapsed(loops);
}

}  // namespace coterie::kernels
