// Each kernel table against what PyTorch computed in float64 (tests/golden/torch).
#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/runtime/optimizer_rule.h"
#include "tests/unit/device_sdk/runtime/torch_vectors.h"
#include "tests/unit/train_kernels/prepared_weights.h"
#include "train_kernels/kernel_table.h"
#include "train_kernels/workspace.h"

namespace coterie::test {
namespace {

using kernels::KernelTable;
using kernels::test::PreparedWeights;
using Floats = std::vector<float>;

constexpr double kTolerance = 2e-6;  // of the largest answer: some hundred products, each rounded to 2^-24

// Runs body(table) for the reference in float and every fast table.
template <typename Body>
void for_each_table(const Body& body) {
  std::vector<KernelTable> tables(kernels::supported_kernels().begin(), kernels::supported_kernels().end());
  tables.push_back(kernels::reference_kernels<float>());
  for (const KernelTable& table : tables) {
    SCOPED_TRACE(table.name);
    body(table);
  }
}

kernels::AdamStep adam_step_at(const OptimizerSettings& s, uint64_t step) {
  const OptimizerMoment moment = optimizer_moment(s, step, 1);
  return {s.beta1,
          s.beta2,
          s.epsilon,
          s.weight_decay,
          static_cast<float>(moment.learning_rate / moment.correction1),
          static_cast<float>(1 / std::sqrt(moment.correction2))};
}

TEST(TorchVectors, DenseAgrees) {
  for (const TorchCase& c : torch_cases("dense")) {
    const auto shape = c.list("shape");
    const kernels::DenseShape s{shape[0], shape[1], shape[2]};
    const bool relu = c.number("relu") != 0;
    Draw draw(c.seed());
    const Floats x = draw.floats(s.batch * s.in), w = draw.floats(s.in * s.out), b = draw.floats(s.out);
    const Floats dy = draw.floats(s.batch * s.out);
    std::vector<uint8_t> workspace(dense_forward_workspace(s) + dense_backward_input_workspace(s));
    for_each_table([&](const KernelTable& table) {
      Floats y(dy.size()), masked = dy, dx(x.size()), dw(w.size()), db(b.size());
      const auto forward = PreparedWeights::forward(table, s, w.data());
      const auto backward = PreparedWeights::backward(table, s, w.data());
      table.dense_forward(s, {0, s.out}, x.data(), w.data(), forward.data(), b.data(),
                          relu ? kernels::Activation::relu : kernels::Activation::none, y.data(), workspace.data());
      if (relu) table.relu_backward(y.size(), y.data(), dy.data(), masked.data());
      table.dense_backward_input(s, {0, s.in}, masked.data(), w.data(), backward.data(), dx.data(), workspace.data());
      table.dense_backward_weights(s, x.data(), masked.data(), dw.data(), db.data(), workspace.data());
      expect_near(y, c.answer("y"), kTolerance, "y");
      expect_near(dx, c.answer("dx"), kTolerance, "dx");
      expect_near(dw, c.answer("dw"), kTolerance, "dw");
      expect_near(db, c.answer("db"), kTolerance, "db");
    });
  }
}

TEST(TorchVectors, ConvolutionAgrees) {
  for (const TorchCase& c : torch_cases("conv2d")) {
    const auto shape = c.list("shape"), stride = c.list("stride"), pad = c.list("pad");
    const kernels::Conv2dShape s{shape[0],  shape[1],  shape[2], shape[3], shape[4], shape[5], shape[6],
                                 stride[0], stride[1], pad[0],   pad[1],   pad[2],   pad[3],   c.list("groups")[0]};
    Draw draw(c.seed());
    const Floats x = draw.floats(s.batch * s.height * s.width * s.channels), w = draw.floats(s.taps() * s.filters);
    const Floats b = draw.floats(s.filters), dy = draw.floats(s.batch * s.out_h() * s.out_w() * s.filters);
    std::vector<uint8_t> workspace(conv2d_forward_workspace(s) + conv2d_backward_input_workspace(s) +
                                   conv2d_backward_weights_workspace(s));
    for_each_table([&](const KernelTable& table) {
      Floats y(dy.size()), dx(x.size()), dw(w.size()), db(b.size());
      const auto forward = PreparedWeights::forward(table, s, w.data());
      const auto backward = PreparedWeights::backward(table, s, w.data());
      table.conv2d_forward(s, x.data(), w.data(), forward.data(), b.data(), kernels::Activation::none, y.data(),
                           workspace.data());
      table.conv2d_backward_input(s, dy.data(), w.data(), backward.data(), dx.data(), workspace.data());
      table.conv2d_backward_weights(s, x.data(), dy.data(), dw.data(), db.data(), workspace.data());
      expect_near(y, c.answer("y"), kTolerance, "y");
      expect_near(dx, c.answer("dx"), kTolerance, "dx");
      expect_near(dw, c.answer("dw"), kTolerance, "dw");
      expect_near(db, c.answer("db"), kTolerance, "db");
    });
  }
}

kernels::Pool2dShape pool_shape(const TorchCase& c) {
  const auto shape = c.list("shape"), kernel = c.list("kernel"), stride = c.list("stride"), pad = c.list("pad");
  return {shape[0],  shape[1],  shape[2], shape[3], kernel[0], kernel[1],
          stride[0], stride[1], pad[0],   pad[1],   pad[2],    pad[3]};
}

TEST(TorchVectors, MaxPoolAgreesAlsoWhereValuesAreEqual) {
  for (const TorchCase& c : torch_cases("max_pool2d")) {
    const kernels::Pool2dShape s = pool_shape(c);
    Draw draw(c.seed());
    Floats x = draw.floats(s.batch * s.height * s.width * s.channels);
    if (c.number("ties") != 0) {
      for (float& value : x) value = std::floor(value * 4) / 4;
    }
    const Floats dy = draw.floats(s.batch * s.out_h() * s.out_w() * s.channels);
    for_each_table([&](const KernelTable& table) {
      Floats y(dy.size()), dx(x.size());
      table.max_pool2d_forward(s, x.data(), y.data());
      table.max_pool2d_backward(s, x.data(), y.data(), dy.data(), false, dx.data());
      expect_near(y, c.answer("y"), kTolerance, "y");
      expect_near(dx, c.answer("dx"), kTolerance, "dx");
    });
  }
}

TEST(TorchVectors, AveragePoolAndGlobalAverageAgree) {
  std::vector<TorchCase> cases = torch_cases("average_pool2d");
  for (TorchCase& c : torch_cases("global_average_pool2d")) cases.push_back(std::move(c));
  for (const TorchCase& c : cases) {
    const auto shape = c.list("shape");
    const kernels::Pool2dShape global{shape[0], shape[1], shape[2], shape[3], shape[1], shape[2]};
    const kernels::Pool2dShape s = c.kind == "average_pool2d" ? pool_shape(c) : global;
    Draw draw(c.seed());
    const Floats x = draw.floats(s.batch * s.height * s.width * s.channels);
    const Floats dy = draw.floats(s.batch * s.out_h() * s.out_w() * s.channels);
    for_each_table([&](const KernelTable& table) {
      Floats y(dy.size()), dx(x.size());
      table.average_pool2d_forward(s, x.data(), y.data());
      table.average_pool2d_backward(s, dy.data(), dx.data());
      expect_near(y, c.answer("y"), kTolerance, "y");
      expect_near(dx, c.answer("dx"), kTolerance, "dx");
    });
  }
}

TEST(TorchVectors, ReluAgrees) {
  for (const TorchCase& c : torch_cases("relu")) {
    const size_t n = c.list("shape")[0];
    Draw draw(c.seed());
    const Floats x = draw.floats(n), dy = draw.floats(n);
    for_each_table([&](const KernelTable& table) {
      Floats y(n), dx(n);
      table.relu_forward(n, x.data(), y.data());
      table.relu_backward(n, y.data(), dy.data(), dx.data());
      expect_near(y, c.answer("y"), 1e-8, "y");
      expect_near(dx, c.answer("dx"), 1e-8, "dx");
    });
  }
}

TEST(TorchVectors, LossesAgree) {
  for (const char* kind : {"softmax_cross_entropy", "mean_squared_error"}) {
    for (const TorchCase& c : torch_cases(kind)) {
      const auto shape = c.list("shape");
      Draw draw(c.seed());
      Floats y = draw.floats(shape[0] * shape[1]);
      const bool squared = c.kind == "mean_squared_error";
      if (!squared) {
        for (float& value : y) value *= static_cast<float>(c.number("scale"));
      }
      const std::vector<int32_t> labels = draw.labels(shape[0], shape[1] > 1 ? shape[1] : 5);
      for_each_table([&](const KernelTable& table) {
        Floats dy(y.size());
        kernels::LossSums sums;
        (squared ? table.mean_squared_error : table.softmax_cross_entropy)(shape[0], shape[1], y.data(), labels.data(),
                                                                           dy.data(), &sums);
        expect_near(dy, c.answer(squared ? "dy" : "dz"), kTolerance, "gradient");
        EXPECT_NEAR(sums.loss, c.answer("loss")[0], 4e-6 * c.answer("loss")[0]);
      });
    }
  }
}

void expect_trajectory(const TorchCase& c, const OptimizerSettings& settings) {
  const auto shape = c.list("shape");
  const size_t count = shape[0], steps = shape[1];
  for_each_table([&](const KernelTable& table) {
    Draw draw(c.seed());
    Floats w = draw.floats(count), m(count), v(count);
    for (size_t step = 0; step < steps; ++step) {
      const Floats g = draw.floats(count);
      if (settings.kind == OptimizerKind::adam) {
        table.adam_step(count, adam_step_at(settings, step + 1), g.data(), w.data(), m.data(), v.data());
      } else {
        table.sgd_step(count, {settings.learning_rate, settings.momentum, settings.weight_decay}, g.data(), w.data(),
                       settings.momentum != 0 ? v.data() : nullptr);
      }
      const auto answer = c.answers.find(std::string("w").append(std::to_string(step)));
      if (answer != c.answers.end()) expect_near(w, answer->second, kTolerance, answer->first);
    }
  });
}

TEST(TorchVectors, OptimizersFollowTheSameTrajectories) {
  for (const TorchCase& c : torch_cases("sgd")) {
    expect_trajectory(c, {.kind = OptimizerKind::sgd,
                          .learning_rate = static_cast<float>(c.number("lr")),
                          .momentum = static_cast<float>(c.number("momentum")),
                          .weight_decay = static_cast<float>(c.number("weight_decay"))});
  }
  for (const TorchCase& c : torch_cases("adam")) {
    expect_trajectory(c, {.kind = OptimizerKind::adam,
                          .learning_rate = static_cast<float>(c.number("lr")),
                          .weight_decay = static_cast<float>(c.number("weight_decay")),
                          .beta1 = static_cast<float>(c.number("beta1")),
                          .beta2 = static_cast<float>(c.number("beta2")),
                          .epsilon = static_cast<float>(c.number("eps"))});
  }
}

}  // namespace
}  // namespace coterie::test
