#include "tests/unit/train_kernels/rnn_tester.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

const char* const kResults[] = {"y", "h_n", "c_n", "dx", "dh0", "dc0", "dw", "dr", "dbias_w", "dbias_r"};

// Sums of at most n = inputs + columns products a step, each term within a few units of 1, their errors
// passed on for at most `steps` steps by weights that do not enlarge them; weight gradients sum over steps *
// batch rows.
double tolerance(const RnnShape& s) {
  return gamma(static_cast<double>((s.inputs + s.columns()) * s.steps + s.steps * s.batch));
}

void expect_close(const RnnRun<float>& got, const RnnRun<double>& exact) {
  const auto values = got.results();
  const auto expected = exact.results();
  for (size_t i = 0; i < values.size(); ++i) {
    double scale = 1;
    for (const double value : *expected[i]) scale = std::max(scale, std::fabs(value));
    for (size_t j = 0; j < values[i]->size(); ++j) {
      ASSERT_NEAR((*values[i])[j], (*expected[i])[j], tolerance(got.s) * scale) << kResults[i] << "[" << j << "]";
    }
  }
}

TEST(Rnn, EveryCellEqualsTheReference) {
  for (const RnnCell cell : kRnnCells) {
    const RnnShape shapes[] = {
        {cell, 1, 1, 1, 1, 1},         {cell, 5, 3, 4, 7, 7},           {cell, 6, 2, 17, 33, 33, true},
        {cell, 3, 9, 5, 16, 35, true}, {cell, 70, 1, 3, 20, 20},        {cell, 2, 70, 8, 48, 96},
        {cell, 1, 4, 6, 5, 5, true},   {cell, 9, 8, 12, 50, 50, false}, {cell, 4, 1, 3, 250, 250},
    };
    for (const RnnShape& s : shapes) {
      for (const bool with_extras : {false, true}) {
        SCOPED_TRACE(testing::Message() << "cell " << static_cast<int>(cell) << " steps " << s.steps << " batch "
                                        << s.batch << " hidden " << s.hidden << " extras " << with_extras);
        Prng prng(61), same(61);
        const RnnRun<float> operands(s, prng, with_extras, with_extras);
        RnnRun<double> exact(s, same, with_extras, with_extras);
        exact.run(reference_kernels<double>());
        for_each_table([&](const KernelTable& table) {
          RnnRun<float> got = operands;
          got.run(table);
          expect_close(got, exact);
        });
      }
    }
  }
}

TEST(Rnn, HowTheBatchIsCutChangesNoBit) {
  for (const RnnCell cell : kRnnCells) {
    const RnnShape s{cell, 7, 11, 6, 30, 30};
    Prng prng(62);
    const RnnRun<float> operands(s, prng, true, true);
    for_each_table([&](const KernelTable& table) {
      RnnRun<float> whole = operands;
      whole.run(table);
      for (const size_t example : {1, 5, 8}) {
        RnnRun<float> cut = operands;
        cut.run(table, example, 13 * example % s.columns());
        for (size_t i = 0; i < whole.results().size(); ++i) {
          EXPECT_EQ(*cut.results()[i], *whole.results()[i]) << kResults[i] << " cut at " << example;
        }
      }
    });
  }
}

TEST(Rnn, TwoDirectionsShareOneOutput) {
  const RnnShape forward{RnnCell::lstm, 4, 2, 3, 5, 10};
  RnnShape backward = forward;
  backward.reverse = true;
  Prng prng(63);
  for_each_table([&](const KernelTable& table) {
    RnnRun<float> left(forward, prng, false, true), right(backward, prng, false, true);
    left.run(table);
    right.run(table);
    std::vector<float> shared(left.y.size(), -7);
    std::vector<float> saved(left.saved.size());
    table.rnn_forward(forward, {0, 2},
                      {left.x.data(), left.w.data(), left.r.data(), left.bias_w.data(), left.bias_r.data(), nullptr,
                       nullptr, shared.data(), nullptr, nullptr, saved.data()},
                      left.workspace.data());
    table.rnn_forward(backward, {0, 2},
                      {right.x.data(), right.w.data(), right.r.data(), right.bias_w.data(), right.bias_r.data(),
                       nullptr, nullptr, shared.data() + 5, nullptr, nullptr, saved.data()},
                      right.workspace.data());
    for (size_t row = 0; row < 8; ++row) {
      for (size_t j = 0; j < 5; ++j) {
        EXPECT_EQ(shared[row * 10 + j], left.y[row * 10 + j]);
        EXPECT_EQ(shared[row * 10 + 5 + j], right.y[row * 10 + j]);
      }
    }
  });
}

TEST(Rnn, KeepsInsideItsBuffers) {
  Prng prng(64);
  for (const RnnCell cell : kRnnCells) {
    const RnnShape s{cell, 3, 5, 7, 19, 19};
    const size_t rows = s.steps * s.batch;
    const Operand x(rows * s.inputs, prng), w(s.inputs * s.columns(), prng), r(s.hidden * s.columns(), prng);
    const Operand dy(rows * s.hidden, prng);
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> y(rows * s.hidden), saved(s.saved_floats()), dx(rows * s.inputs), dw(w.values.size());
      GuardedBuffer<float> dr(r.values.size()), bias(s.columns());
      GuardedBuffer<uint8_t> forward(rnn_forward_workspace(s)), backward(rnn_backward_workspace(s));
      GuardedBuffer<uint8_t> weights(rnn_backward_weights_workspace(s));
      table.rnn_forward(s, {0, s.batch},
                        {x.values.data(), w.values.data(), r.values.data(), nullptr, nullptr, nullptr, nullptr,
                         y.data(), nullptr, nullptr, saved.data()},
                        forward.data());
      table.rnn_backward(s, {0, s.batch},
                         {w.values.data(), r.values.data(), nullptr, nullptr, y.data(), dy.values.data(), nullptr,
                          nullptr, saved.data(), dx.data(), nullptr, nullptr},
                         backward.data());
      table.rnn_backward_weights(
          s, {0, s.columns()},
          {x.values.data(), y.data(), nullptr, saved.data(), dw.data(), dr.data(), bias.data(), nullptr},
          weights.data());
      for (const GuardedBuffer<float>* buffer : {&y, &saved, &dx, &dw, &dr, &bias}) {
        EXPECT_TRUE(buffer->is_intact());
        for (const float value : buffer->span()) ASSERT_FALSE(std::isnan(value));
      }
      EXPECT_TRUE(forward.is_intact() && backward.is_intact() && weights.is_intact());
    });
  }
}

// loss = dy . y + dh_n . h_n + dc_n . c_n
TEST(Gradient, OfEveryRecurrentCellIsTheDerivative) {
  for (const RnnCell cell : kRnnCells) {
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(static_cast<int>(cell));
      Prng prng(65);
      RnnRun<double> run({cell, 3, 2, 3, 4, 4, reverse}, prng, true, true);
      run.run(exact());
      RnnRun<double> probe = run;
      const auto scalar = [&] {
        probe.forward(exact(), {0, 2});
        const double last = cell == RnnCell::lstm ? dot(probe.dc_n, probe.c_n) : 0;
        return dot(probe.dy, probe.y) + dot(probe.dh_n, probe.h_n) + last;
      };
      expect_gradient("x", probe.x, run.dx, scalar);
      expect_gradient("w", probe.w, run.dw, scalar);
      expect_gradient("r", probe.r, run.dr, scalar);
      expect_gradient("bias_w", probe.bias_w, run.dbias_w, scalar);
      expect_gradient("bias_r", probe.bias_r, run.dbias_r, scalar);
      expect_gradient("h0", probe.h0, run.dh0, scalar);
      if (cell == RnnCell::lstm) expect_gradient("c0", probe.c0, run.dc0, scalar);
    }
  }
}

}  // namespace
}  // namespace coterie::kernels::test
