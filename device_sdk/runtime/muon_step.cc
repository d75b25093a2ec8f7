#include "device_sdk/runtime/muon_step.h"

#include <algorithm>
#include <cmath>

#include "base/linear/step_length.h"
#include "device_sdk/runtime/tensor_norm.h"

namespace coterie {
namespace {

using kernels::MatmulShape;

constexpr int kIterations = 5;
constexpr float kA = 3.4445f, kB = -4.7750f, kC = 2.0315f;
constexpr double kNormAtLeast = 1e-7;

struct Settings {
  float momentum, weight_decay, learning_rate_scale;
  size_t rows, columns;

  size_t count() const { return rows * columns; }
  size_t side() const { return std::min(rows, columns); }
  bool is_tall() const { return rows > columns; }
  MatmulShape gram() const {  // A = X X^T, or X^T X
    MatmulShape shape{1, side(), std::max(rows, columns), side(), 0, 0, 0};
    shape.transpose_a = is_tall();
    shape.transpose_b = !is_tall();
    return shape;
  }
  MatmulShape square() const {  // c A^2
    MatmulShape shape{1, side(), side(), side(), 0, 0, 0};
    shape.alpha = kC;
    return shape;
  }
  MatmulShape product() const {  // B X, or X B
    return {1, rows, is_tall() ? columns : rows, columns, 0, 0, 0};
  }
  size_t workspace() const {
    return std::max(
        {kernels::matmul_workspace(gram()), kernels::matmul_workspace(square()), kernels::matmul_workspace(product())});
  }
};

void describe(const Settings& s, SettingsText& text) {
  text.add("momentum", static_cast<double>(s.momentum));
  if (s.weight_decay != 0) text.add("weight decay", static_cast<double>(s.weight_decay));
  if (s.learning_rate_scale != 1) text.add("rate times", static_cast<double>(s.learning_rate_scale));
}

// x, whose norm is at most 1, towards the orthogonal matrix next to it.
void orthogonalise(const StepContext& context, const Settings& s, float* x, float* product, float* gram,
                   float* polynomial, void* workspace) {
  const size_t square = s.side() * s.side();
  for (int i = 0; i < kIterations; ++i) {
    context.kernels.matmul(s.gram(), x, x, gram, workspace);
    context.kernels.matmul(s.square(), gram, gram, polynomial, workspace);
    context.kernels.add_scaled(square, kB, gram, polynomial);
    context.kernels.matmul(s.product(), s.is_tall() ? x : polynomial, s.is_tall() ? polynomial : x, product, workspace);
    context.kernels.scale_in_place(s.count(), kA, x);
    context.kernels.add_scaled(s.count(), 1, product, x);
  }
}

void run_muon(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [g, w, m, x, product, gram, polynomial, blocks, workspace] = step.take<9>();
  const size_t count = s.count();
  context.kernels.scale_in_place(count, s.momentum, m);
  context.kernels.add_scaled(count, 1, g, m);
  std::copy_n(g, count, x);
  context.kernels.add_scaled(count, s.momentum, m, x);
  const double length = norm_of(context, count, x, blocks);
  context.kernels.scale_in_place(count, static_cast<float>(1 / (length + kNormAtLeast)), x);
  orthogonalise(context, s, x, product, gram, polynomial, workspace);

  const double rate = context.optimizer.learning_rate * static_cast<double>(s.learning_rate_scale);
  const double factor = adam_step_length(s.rows, s.columns);
  if (s.weight_decay != 0)
    context.kernels.scale_in_place(count, static_cast<float>(1 - rate * static_cast<double>(s.weight_decay)), w);
  context.kernels.add_scaled(count, static_cast<float>(-rate * factor), x, w);
}

constexpr StepKindOf<Settings> kMuonStep{"update.muon", run_muon, describe};

}  // namespace

void emit_muon(Program& program, Phase phase, const OptimizerSettings& settings, float learning_rate_scale,
               const MuonMatrix& matrix, const MuonBuffers& b) {
  const Settings s{settings.beta1, settings.weight_decay, learning_rate_scale, matrix.rows, matrix.columns};
  const uint64_t square = s.side() * s.side();
  const BufferId x = program.add_planned(s.count() * sizeof(float));
  const BufferId product = program.add_planned(s.count() * sizeof(float));
  const BufferId gram = program.add_planned(square * sizeof(float));
  const BufferId polynomial = program.add_planned(square * sizeof(float));
  const BufferId blocks = add_norm_blocks(program, s.count());
  const BufferId workspace = s.workspace() == 0 ? kNoBuffer : program.add_planned(s.workspace());
  program.emit(phase, kMuonStep, s,
               {b.gradient, b.values, b.momentum, x, product, gram, polynomial, blocks, workspace});
}

}  // namespace coterie
