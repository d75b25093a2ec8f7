// matmul: a[.., m, k], b[.., k, n] -> y[.., m, n] = scale a b; either may be stored turned; leading dimensions
// broadcast.
#include <utility>

#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"
#include "device_sdk/runtime/ops/strided.h"

namespace coterie::ops {
namespace {

using kernels::MatmulShape;

struct Dimensions {
  int64_t m, k_of_a, k_of_b, n;
};

Dimensions dimensions_of(const Shape& a, const Shape& b, const MatmulAttributes& attributes) {
  int64_t m = a.end()[-2], k_of_a = a.end()[-1], k_of_b = b.end()[-2], n = b.end()[-1];
  if (attributes.transpose_a) std::swap(m, k_of_a);
  if (attributes.transpose_b) std::swap(k_of_b, n);
  return {m, k_of_a, k_of_b, n};
}

Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}, {}}));
  COT_TRY(check_rank(inputs[0], "input 0", 2, 8));
  COT_TRY(check_rank(inputs[1], "input 1", 2, 8));
  const Shape &a = inputs[0].shape, &b = inputs[1].shape;
  const auto [m, k_of_a, k_of_b, n] = dimensions_of(a, b, std::get<MatmulAttributes>(op.attributes));
  if (k_of_a != k_of_b) {
    return does_not_fit(concat({"multiplies matrices of ", to_text({m, k_of_a}), " and ", to_text({k_of_b, n})}));
  }
  COT_ASSIGN(Shape y, broadcast_shape({leading(a), leading(b)}));
  y.insert(y.end(), {m, n});
  return one_output(std::move(y));
}

double flops(const OpInfo& op, std::span<const Operand> inputs, std::span<const TensorType> outputs) {
  const auto& a = std::get<MatmulAttributes>(op.attributes);
  const int64_t k = dimensions_of(inputs[0].shape, inputs[1].shape, a).k_of_a;
  return 2.0 * static_cast<double>(k) * static_cast<double>(elements(outputs[0].shape));
}

// One product of batches of matrices, left right -> result. The loops, of steps in elements, are those over the leading
// dimensions; the last one is the kernel's own batch.
struct Settings {
  MatmulShape shape;
  kernels::StridedLoops<3> loops;
};

enum class Matrix : size_t { a, b, y };

// shape: with m, k, n and which operands are turned.
Settings product(const OpBuild& build, Matrix left, Matrix right, Matrix result, MatmulShape shape) {
  const std::vector<size_t> a = sizes_of(leading(build.input_shape(0))), b = sizes_of(leading(build.input_shape(1)));
  const auto whole = *kernels::broadcast_loops<2>({a, b});
  Settings s{shape, whole};
  const size_t matrix_size[] = {shape.m * shape.k, shape.k * shape.n, shape.m * shape.n};
  const Matrix matrices[] = {left, right, result};
  for (size_t operand = 0; operand < 3; ++operand) {
    for (size_t d = 0; d < whole.rank; ++d) {
      s.loops.stride[operand][d] =
          whole.stride[static_cast<size_t>(matrices[operand])][d] * static_cast<ptrdiff_t>(matrix_size[operand]);
    }
  }
  const size_t last = whole.rank - 1;
  s.shape.batch = whole.size[last];
  s.shape.a_stride = static_cast<size_t>(s.loops.stride[0][last]);
  s.shape.b_stride = static_cast<size_t>(s.loops.stride[1][last]);
  s.shape.c_stride = static_cast<size_t>(s.loops.stride[2][last]);
  s.shape.alpha = build.attributes<MatmulAttributes>().scale;
  return s;
}

void describe(const Settings& s, SettingsText& text) {
  const MatmulShape& m = s.shape;
  text.add("m", m.m).add("k", m.k).add("n", m.n).add("scale", static_cast<double>(m.alpha));
  text.add(m.transpose_a ? "left turned" : "").add(m.transpose_b ? "right turned" : "");
}

void run(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [left, right, result, scratch] = step.take<4>();
  const size_t outer = s.loops.rank - 1;
  kernels::StridedWalk<3> walk(s.loops, outer);
  MatmulShape shape = s.shape;
  for (size_t i = 0;; ++i) {
    // A result that is come by again is a sum.
    shape.accumulate = false;
    size_t rest = i;
    for (size_t d = outer; d-- > 0; rest /= s.loops.size[d]) {
      shape.accumulate |= s.loops.stride[2][d] == 0 && rest % s.loops.size[d] != 0;
    }
    context.kernels.matmul(shape, left + walk.offset(0), right + walk.offset(1), result + walk.offset(2), scratch);
    if (!walk.next()) return;
  }
}

constexpr StepKindOf<Settings> kProductStep{"matmul.product", run, describe};

void emit(OpBuild& build, const Settings& s, BufferId left, BufferId right, BufferId result) {
  build.emit(kProductStep, s, {left, right, result, build.scratch(kernels::matmul_workspace(s.shape))});
}

// The leading dimensions are product()'s.
MatmulShape matrices(size_t m, size_t k, size_t n, bool transpose_a, bool transpose_b) {
  MatmulShape shape{};
  shape.m = m;
  shape.k = k;
  shape.n = n;
  shape.transpose_a = transpose_a;
  shape.transpose_b = transpose_b;
  return shape;
}

struct Sizes {
  size_t m, k, n;
};

Sizes sizes_of(const OpBuild& build) {
  const auto d = dimensions_of(build.input_shape(0), build.input_shape(1), build.attributes<MatmulAttributes>());
  return {static_cast<size_t>(d.m), static_cast<size_t>(d.k_of_a), static_cast<size_t>(d.n)};
}

void forward(OpBuild& build) {
  const auto& a = build.attributes<MatmulAttributes>();
  const auto [m, k, n] = sizes_of(build);
  const MatmulShape shape = matrices(m, k, n, a.transpose_a, a.transpose_b);
  emit(build, product(build, Matrix::a, Matrix::b, Matrix::y, shape), build.input(0), build.input(1), build.output());
}

// da = dy b^T; where a is stored turned, its transpose b dy^T.
void backward_a(OpBuild& build) {
  const auto& a = build.attributes<MatmulAttributes>();
  const auto [m, k, n] = sizes_of(build);
  const BufferId b = build.input(1), dy = build.output_gradient(), da = build.input_gradient(0);
  if (a.transpose_a) {
    const MatmulShape shape = matrices(k, n, m, a.transpose_b, true);
    return emit(build, product(build, Matrix::b, Matrix::y, Matrix::a, shape), b, dy, da);
  }
  const MatmulShape shape = matrices(m, n, k, false, !a.transpose_b);
  emit(build, product(build, Matrix::y, Matrix::b, Matrix::a, shape), dy, b, da);
}

// db = a^T dy; where b is stored turned, its transpose dy^T a.
void backward_b(OpBuild& build) {
  const auto& attributes = build.attributes<MatmulAttributes>();
  const auto [m, k, n] = sizes_of(build);
  const BufferId a = build.input(0), dy = build.output_gradient(), db = build.input_gradient(1);
  if (attributes.transpose_b) {
    const MatmulShape shape = matrices(n, m, k, true, attributes.transpose_a);
    return emit(build, product(build, Matrix::y, Matrix::a, Matrix::b, shape), dy, a, db);
  }
  const MatmulShape shape = matrices(k, m, n, !attributes.transpose_a, false);
  emit(build, product(build, Matrix::a, Matrix::y, Matrix::b, shape), a, dy, db);
}

void backward(OpBuild& build) {
  if (build.needs_gradient(0)) backward_a(build);
  if (build.needs_gradient(1)) backward_b(build);
}

}  // namespace

const OpRule kMatmul{OpKind::matmul, infer, flops, forward, backward};

}  // namespace coterie::ops
