// Rows of strided loops, and sums over them. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_STRIDED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_STRIDED_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_STRIDED_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_STRIDED_INL_H_
#endif

#include <array>
#include <cmath>

#include "train_kernels/simd/math_inl.h"
#include "train_kernels/simd/sum_inl.h"
#include "train_kernels/strided_loops.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// A row of an operand: one value repeated, values, or none at all (zeros).
struct RowInput {
  const float* p;
  bool repeats;

  template <class Lanes>
  HWY_INLINE Vector load(size_t i, const Lanes& lanes) const {
    if (p == nullptr) return hn::Zero(Tag());
    return repeats ? splat(*p) : lanes.load(p + i);
  }
};

// body(offset of each operand) for every row, a row being the last dimension.
template <size_t kOperands, class Body>
HWY_INLINE void for_each_row(const StridedLoops<kOperands>& loops, const Body& body) {
  const size_t outer = loops.rank < 2 ? 0 : loops.rank - 2, rows = loops.rank < 2 ? 1 : loops.size[outer];
  StridedWalk<kOperands> walk(loops, outer);
  do {
    std::array<ptrdiff_t, kOperands> at;
    for (size_t k = 0; k < kOperands; ++k) at[k] = walk.offset(k);
    for (size_t row = 0; row < rows; ++row) {
      body(at);
      for (size_t k = 0; k < kOperands; ++k) at[k] += loops.stride[k][outer];
    }
  } while (walk.next());
}

inline constexpr size_t kSourceFloats = 1024;

struct AddToColumns {
  const float* from;
  ptrdiff_t step;
  size_t rows;
  float* to;
  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    Vector sum = lanes.load(to + i);
    for (size_t r = 0; r < rows; ++r) sum = hn::Add(sum, lanes.load(from + static_cast<ptrdiff_t>(r) * step + i));
    lanes.store(sum, to + i);
  }
};

struct RunTerm {
  const float* x;
  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, size_t i, Vector* sum) const {
    *sum = hn::Add(*sum, lanes.load(x + i));
  }
};

// What is done to a sum: divided, or its root taken.
struct FinishSum {
  double divisor = 1;
  bool root = false;
  HWY_INLINE float operator()(double sum) const { return static_cast<float>(root ? std::sqrt(sum) : sum / divisor); }
};

// The terms of a sum: call(source, at, rows, row dimension, n, buffer, &step) returns n values of each of
// some rows, `step` apart, from element `at` of every operand on: in place, or in the buffer (rows n <=
// kSourceFloats). Called through a pointer, once for many values: the loops below exist once, not once for
// each kind of terms.
template <size_t kOperands>
struct TermSource {
  using At = std::array<ptrdiff_t, kOperands>;
  const void* source;
  const float* (*call)(const void* source, const At& at, size_t rows, size_t row_dim, size_t n, float* buffer,
                       ptrdiff_t* step);
};
template <size_t kOperands, class Source>
const float* call_source(const void* source, const std::array<ptrdiff_t, kOperands>& at, size_t rows, size_t row_dim,
                         size_t n, float* buffer, ptrdiff_t* step) {
  return (*static_cast<const Source*>(source))(at, rows, row_dim, n, buffer, step);
}

// out = finish(sum of the terms over the dimensions in which `operand` steps by 0), everywhere in out.
template <size_t kOperands>
class StridedSum {
 public:
  StridedSum(const StridedLoops<kOperands>& loops, size_t operand, const TermSource<kOperands>& source,
             const FinishSum& finish, float* out)
      : loops_(loops), kept_(loops), reduced_(loops), operand_(operand), source_(source), finish_(finish), out_(out) {
    last_ = loops.rank - 1;
    row_dim_ = last_;
    for (size_t d = 0; d < last_; ++d) {
      const bool is_reduced = loops.stride[operand][d] == 0;
      (is_reduced ? kept_ : reduced_).size[d] = 1;
      if (is_reduced) row_dim_ = d;
    }
    if (row_dim_ != last_) {
      rows_ = loops.size[row_dim_];
      reduced_.size[row_dim_] = 1;
    }
  }

  void run() {
    StridedWalk<kOperands> walk(kept_, last_);
    const size_t n = loops_.size[last_];
    const bool columns = loops_.stride[operand_][last_] != 0;
    do {
      if (!columns) out_[walk.offset(operand_)] = finish_(run_sum(walk, n));
      for (size_t c = 0; columns && c < n; c += kColumns) column_sums_at(walk, c, HWY_MIN(kColumns, n - c));
    } while (walk.next());
  }

 private:
  static constexpr size_t kColumns = 256;

  // visit(values, step, rows, n) for columns [first, first + n) of every reduced row behind `kept`.
  template <class Visit>
  void for_each_block(const StridedWalk<kOperands>& kept, size_t first, size_t n, Visit& visit) {
    StridedWalk<kOperands> walk(reduced_, last_);
    const size_t together = HWY_MAX(size_t{1}, HWY_MIN(kSumBlock, kSourceFloats / n));
    do {
      for (size_t row = 0; row < rows_; row += together) {
        std::array<ptrdiff_t, kOperands> at;
        for (size_t k = 0; k < kOperands; ++k) {
          at[k] = kept.offset(k) + walk.offset(k) + loops_.stride[k][last_] * static_cast<ptrdiff_t>(first);
          if (row_dim_ != last_) at[k] += loops_.stride[k][row_dim_] * static_cast<ptrdiff_t>(row);
        }
        const size_t rows = HWY_MIN(together, rows_ - row);
        ptrdiff_t step = 0;
        const float* values = source_.call(source_.source, at, rows, row_dim_, n, buffer_, &step);
        visit(values, step, rows, n);
      }
    } while (walk.next());
  }

  struct AddRuns {
    double sums[1] = {0};
    void operator()(const float* values, ptrdiff_t step, size_t rows, size_t n) {
      if (step == static_cast<ptrdiff_t>(n)) return run_sums(rows * n, RunTerm{values}, sums);
      for (size_t r = 0; r < rows; ++r) run_sums(n, RunTerm{values + static_cast<ptrdiff_t>(r) * step}, sums);
    }
  };
  double run_sum(const StridedWalk<kOperands>& kept, size_t n) {
    AddRuns add;
    for (size_t i = 0; i < n; i += kSourceFloats) for_each_block(kept, i, HWY_MIN(kSourceFloats, n - i), add);
    return add.sums[0];
  }

  struct AddColumns {
    float fine[kColumns] = {};
    double total[kColumns] = {};
    size_t pending = 0;
    void operator()(const float* values, ptrdiff_t step, size_t rows, size_t n) {
      for_each_vector(n, AddToColumns{values, step, rows, fine});
      pending += rows;
      if (pending >= kSumBlock) flush(n);
    }
    void flush(size_t n) {
      for (size_t i = 0; i < n; ++i) {
        total[i] += static_cast<double>(fine[i]);
        fine[i] = 0;
      }
      pending = 0;
    }
  };
  void column_sums_at(const StridedWalk<kOperands>& kept, size_t first, size_t n) {
    AddColumns add;
    for_each_block(kept, first, n, add);
    add.flush(n);
    float* to = out_ + kept.offset(operand_) + static_cast<ptrdiff_t>(first) * loops_.stride[operand_][last_];
    for (size_t i = 0; i < n; ++i) {
      to[static_cast<ptrdiff_t>(i) * loops_.stride[operand_][last_]] = finish_(add.total[i]);
    }
  }

  const StridedLoops<kOperands>& loops_;
  StridedLoops<kOperands> kept_, reduced_;
  size_t operand_, last_ = 0, row_dim_ = 0, rows_ = 1;
  TermSource<kOperands> source_;
  FinishSum finish_;
  float* out_;
  float buffer_[kSourceFloats];
};

template <size_t kOperands, class Source>
void strided_sum(const StridedLoops<kOperands>& loops, size_t operand, const Source& source, const FinishSum& finish,
                 float* out) {
  const TermSource<kOperands> terms{&source, call_source<kOperands, Source>};
  StridedSum<kOperands>(loops, operand, terms, finish, out).run();
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
