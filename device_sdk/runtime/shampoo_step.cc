#include "device_sdk/runtime/shampoo_step.h"

#include <algorithm>
#include <cmath>

#include "base/linear/inverse_root.h"
#include "base/linear/matrix_blocks.h"
#include "base/linear/step_length.h"

namespace coterie {
namespace {

using kernels::MatmulShape;

constexpr double kRootFlops = 1;  // of a root of [n, n], for each of n^3: ten in every tenth step
constexpr size_t kLine = 64;      // bytes

struct Settings {
  float epsilon, weight_decay, learning_rate_scale;
  size_t rows, columns;
};

// The products of one block.
struct Products {
  size_t rows, columns;

  MatmulShape left_square() const {  // L += G G^T
    MatmulShape shape{1, rows, columns, rows, 0, 0, 0};
    shape.transpose_b = shape.accumulate = true;
    return shape;
  }
  MatmulShape right_square() const {  // R += G^T G
    MatmulShape shape{1, columns, rows, columns, 0, 0, 0};
    shape.transpose_a = shape.accumulate = true;
    return shape;
  }
  MatmulShape left_product() const { return {1, rows, rows, columns, 0, 0, 0}; }
  MatmulShape right_product() const { return {1, rows, columns, columns, 0, 0, 0}; }
  size_t workspace() const {
    return std::max({kernels::matmul_workspace(left_square()), kernels::matmul_workspace(right_square()),
                     kernels::matmul_workspace(left_product()), kernels::matmul_workspace(right_product())});
  }
};

constexpr size_t lines(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// Where what one block needs lies in a workspace, all of it on lines of its own.
struct Scratch {
  size_t root_bytes = 0, block_bytes = 0, product_bytes = 0;

  explicit Scratch(const Settings& s) {
    const MatrixBlocks blocks(s.rows, s.columns);
    for (size_t i = 0; i < blocks.count(); ++i) {
      const MatrixBlock block = blocks[i];
      const size_t side = std::max(block.rows, block.columns);
      root_bytes = std::max(root_bytes, lines(inverse_root_scratch(side) * sizeof(double)));
      block_bytes = std::max(block_bytes, lines(block.rows * block.columns * sizeof(float)));
      product_bytes = std::max(product_bytes, lines(Products{block.rows, block.columns}.workspace()));
    }
  }
  size_t bytes() const { return root_bytes + 3 * block_bytes + product_bytes; }
};

void describe(const Settings& s, SettingsText& text) {
  text.add("epsilon", static_cast<double>(s.epsilon));
  if (s.weight_decay != 0) text.add("weight decay", static_cast<double>(s.weight_decay));
  if (s.learning_rate_scale != 1) text.add("rate times", static_cast<double>(s.learning_rate_scale));
}

// What U is multiplied by so that it is no longer than one of this step's roots.
double cut_of(const MatrixBlock& block, const float* direction) {
  double squares = 0;
  for (size_t i = 0; i < block.rows * block.columns; ++i) {
    squares += static_cast<double>(direction[i]) * static_cast<double>(direction[i]);
  }
  const auto most = static_cast<double>(std::min(block.rows, block.columns));
  return squares > most ? std::sqrt(most / squares) : 1;
}

// One block of a step.
struct BlockUpdate {
  const Settings& settings;
  const StepContext& context;
  MatrixBlock block;
  const float* gradient;
  float* values;
  float* left;       // L, R and their roots, one behind the other
  uint8_t* scratch;  // as Scratch has it
  Scratch places;

  void run() const {
    auto* const roots = reinterpret_cast<double*>(scratch);
    auto* const g = reinterpret_cast<float*>(scratch + places.root_bytes);
    float* const product = g + places.block_bytes / sizeof(float);
    float* const direction = product + places.block_bytes / sizeof(float);
    void* const workspace = direction + places.block_bytes / sizeof(float);
    const Products products{block.rows, block.columns};
    const size_t left_values = block.rows * block.rows, right_values = block.columns * block.columns;
    float* const right = left + left_values;
    float* const left_root = right + right_values;
    float* const right_root = left_root + left_values;
    for (size_t i = 0; i < block.rows; ++i) std::copy_n(gradient + at(i), block.columns, g + i * block.columns);
    context.kernels.matmul(products.left_square(), g, g, left, workspace);
    context.kernels.matmul(products.right_square(), g, g, right, workspace);
    if (takes_roots_anew(context.optimizer.step)) {
      context.kernels.inverse_fourth_root(block.rows, settings.epsilon, left, left_root, roots);
      context.kernels.inverse_fourth_root(block.columns, settings.epsilon, right, right_root, roots);
    }
    context.kernels.matmul(products.left_product(), left_root, g, product, workspace);
    context.kernels.matmul(products.right_product(), product, right_root, direction, workspace);
    move(direction);
  }

 private:
  size_t at(size_t row) const { return (block.row + row) * settings.columns + block.column; }

  void move(const float* direction) const {
    const double rate = context.optimizer.learning_rate * static_cast<double>(settings.learning_rate_scale);
    const double length = adam_step_length(block.rows, block.columns) * cut_of(block, direction);
    const double decay = rate * static_cast<double>(settings.weight_decay);
    for (size_t i = 0; i < block.rows; ++i) {
      float* const row = values + at(i);
      if (decay != 0) context.kernels.scale_in_place(block.columns, static_cast<float>(1 - decay), row);
      context.kernels.add_scaled(block.columns, static_cast<float>(-rate * length), direction + i * block.columns, row);
    }
  }
};

void run_shampoo(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [g, w, factors, scratch] = step.take<4>();
  const MatrixBlocks blocks(s.rows, s.columns);
  const Scratch places(s);
  for (size_t i = step.part.begin; i < step.part.end; ++i) {
    const MatrixBlock block = blocks[i];
    BlockUpdate{s, context, block, g, w, factors + 2 * block.first_factor, reinterpret_cast<uint8_t*>(scratch), places}
        .run();
  }
}

constexpr StepKindOf<Settings> kShampooStep{"update.shampoo", run_shampoo, describe};

// A part of a step is some of its blocks.
Split by_blocks(const ShampooMatrix& matrix) {
  const MatrixBlocks blocks(matrix.rows, matrix.columns);
  double flops = 0;
  for (size_t i = 0; i < blocks.count(); ++i) {
    const MatrixBlock block = blocks[i];
    const auto m = static_cast<double>(block.rows), n = static_cast<double>(block.columns);
    flops += 4 * m * n * (m + n) + kRootFlops * (m * m * m + n * n * n);
  }
  return {.units = blocks.count(), .grain = 1, .flops = flops};
}

}  // namespace

uint64_t shampoo_factor_values(const ShampooMatrix& matrix) {
  return 2 * MatrixBlocks(matrix.rows, matrix.columns).factor_values();
}

void emit_shampoo(Program& program, Phase phase, const OptimizerSettings& settings, float learning_rate_scale,
                  const ShampooMatrix& matrix, const ShampooBuffers& b) {
  const Settings s{settings.epsilon, settings.weight_decay, learning_rate_scale, matrix.rows, matrix.columns};
  const BufferId scratch = program.add_workspace(Scratch(s).bytes());
  program.emit(phase, kShampooStep, s, {b.gradient, b.values, b.factors, scratch}, by_blocks(matrix));
}

}  // namespace coterie
