#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

// Attention of an example's own rows, or of another's; q, k and v one tensor side by side where `packed`.
AttentionShape shape_of(size_t batch, size_t heads, size_t queries, size_t keys, size_t width, bool packed) {
  const size_t row = packed ? 3 * heads * width : heads * width;
  const float scale = 1 / std::sqrt(static_cast<float>(width));
  return {batch, heads, queries, keys, width, row, row, row, heads * width, scale};
}

template <typename T>
struct AttentionRun {
  using Values = std::vector<T>;

  AttentionRun(const AttentionShape& shape, Prng& prng, bool packed) : s(shape) {
    const size_t row = s.heads * s.width;
    if (packed) {
      inputs = draw(s.batch * s.keys * s.k_stride, prng);
      offsets[1] = row;
      offsets[2] = 2 * row;
    } else {
      inputs = draw(s.batch * (s.queries + 2 * s.keys) * row, prng);
      offsets[1] = s.batch * s.queries * row;
      offsets[2] = offsets[1] + s.batch * s.keys * row;
    }
    dy = draw(s.batch * s.queries * s.y_stride, prng);
    y.resize(dy.size());
    log_sums.resize(s.log_sums_floats());
    gradients.resize(inputs.size());
    workspace.resize(std::max(attention_forward_workspace(s), attention_backward_workspace(s)));
  }
  void hide(Prng& prng, bool with_mask, bool with_keys) {
    if (with_mask) mask = draw(std::max(s.mask_batch_stride * s.batch, s.queries * s.keys), prng);
    for (size_t i = 0; i < mask.size(); i += 5) mask[i] = -HUGE_VALF;
    if (with_keys) key_mask.assign(s.batch * s.keys, 1);
    for (int32_t& seen : key_mask) seen = prng.below(4) != 0;
  }
  void forward(const KernelTableOf<T>& table, Range pairs) {
    table.attention_forward(
        s, pairs,
        {inputs.data(), inputs.data() + offsets[1], inputs.data() + offsets[2], mask.empty() ? nullptr : mask.data(),
         key_mask.empty() ? nullptr : key_mask.data(), y.data(), log_sums.data()},
        workspace.data());
  }
  void backward(const KernelTableOf<T>& table, Range pairs) {
    table.attention_backward(
        s, pairs,
        {inputs.data(), inputs.data() + offsets[1], inputs.data() + offsets[2], mask.empty() ? nullptr : mask.data(),
         key_mask.empty() ? nullptr : key_mask.data(), y.data(), dy.data(), log_sums.data(), gradients.data(),
         gradients.data() + offsets[1], gradients.data() + offsets[2]},
        workspace.data());
  }
  void run(const KernelTableOf<T>& table) {
    forward(table, {0, s.batch * s.heads});
    backward(table, {0, s.batch * s.heads});
  }

  AttentionShape s;
  size_t offsets[3] = {};
  Values inputs, mask, dy, y, log_sums, gradients;
  std::vector<int32_t> key_mask;
  std::vector<uint8_t> workspace;

 private:
  static Values draw(size_t count, Prng& prng) {
    Values values(count);
    for (T& value : values) value = static_cast<T>(static_cast<float>(prng.uniform(-2, 2)));
    return values;
  }
};

void expect_close(const char* what, const std::vector<float>& got, const std::vector<double>& exact, double bound) {
  ASSERT_EQ(got.size(), exact.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(exact[i]) && got[i] == static_cast<float>(exact[i])) continue;
    ASSERT_NEAR(got[i], exact[i], bound) << what << "[" << i << "]";
  }
}

TEST(Attention, EqualsTheReference) {
  struct Case {
    size_t batch, heads, queries, keys, width;
    bool packed, causal, mask, key_mask;
  };
  const Case cases[] = {
      {1, 1, 1, 1, 1, false, false, false, false},  {2, 3, 7, 7, 5, true, false, false, false},
      {2, 2, 70, 70, 16, true, true, false, false}, {1, 2, 5, 33, 8, false, false, true, false},
      {3, 2, 20, 9, 12, false, true, true, true},   {2, 1, 130, 65, 50, false, false, false, true},
      {1, 4, 64, 64, 32, true, true, false, true},
  };
  for (const Case& c : cases) {
    for (const bool shared_mask : {true, false}) {
      SCOPED_TRACE(testing::Message() << c.queries << " queries, " << c.keys << " keys, width " << c.width);
      AttentionShape s = shape_of(c.batch, c.heads, c.queries, c.keys, c.width, c.packed);
      s.causal = c.causal;
      if (!shared_mask) {
        s.mask_head_stride = c.queries * c.keys;
        s.mask_batch_stride = c.heads * s.mask_head_stride;
      }
      Prng prng(80), same(80);
      AttentionRun<float> operands(s, prng, c.packed);
      AttentionRun<double> exact(s, same, c.packed);
      operands.hide(prng, c.mask, c.key_mask);
      exact.hide(same, c.mask, c.key_mask);
      exact.run(reference_kernels<double>());
      // Scores of up to 4 sqrt(width) with the error of `width` products; each gradient sums `queries` or
      // `keys` of terms that the softmax weighs down to a few units in all.
      const double bound = gamma(static_cast<double>(4 * c.width + c.queries + c.keys)) * 64;
      for_each_table([&](const KernelTable& table) {
        AttentionRun<float> got = operands;
        got.run(table);
        expect_close("y", got.y, exact.y, bound);
        expect_close("log_sums", got.log_sums, exact.log_sums, bound);
        expect_close("gradients", got.gradients, exact.gradients, bound);
      });
    }
  }
}

TEST(Attention, AQueryThatSeesNothingIsZero) {
  const AttentionShape s = shape_of(1, 1, 2, 3, 4, false);
  for_each_table([&](const KernelTable& table) {
    Prng prng(81);
    AttentionRun<float> run(s, prng, false);
    run.mask.assign(6, 0);
    for (size_t j = 0; j < 3; ++j) run.mask[j] = -HUGE_VALF;
    run.run(table);
    for (size_t c = 0; c < 4; ++c) {
      EXPECT_EQ(run.y[c], 0);
      EXPECT_EQ(run.gradients[c], 0);
      EXPECT_NE(run.y[4 + c], 0);
    }
    for (const float gradient : run.gradients) EXPECT_FALSE(std::isnan(gradient));
  });
}

TEST(Attention, VeryNegativeScoresStillAddUpToOne) {
  const AttentionShape s = shape_of(1, 1, 1, 3, 1, false);
  for_each_table([&](const KernelTable& table) {
    Prng prng(82);
    AttentionRun<float> run(s, prng, false);
    run.mask.assign(3, -1000);
    for (size_t j = 0; j < 3; ++j) run.inputs[run.offsets[2] + j] = 5;
    run.forward(table, {0, 1});
    EXPECT_NEAR(run.y[0], 5, 1e-5);
  });
}

TEST(Attention, EachPairIsForItself) {
  const AttentionShape s = shape_of(2, 3, 6, 6, 8, true);
  Prng prng(83);
  const AttentionRun<float> operands(s, prng, true);
  for_each_table([&](const KernelTable& table) {
    AttentionRun<float> whole = operands, cut = operands;
    whole.run(table);
    for (const Range pairs : {Range{4, 6}, Range{0, 1}, Range{1, 4}}) {
      cut.forward(table, pairs);
      cut.backward(table, pairs);
    }
    EXPECT_EQ(whole.y, cut.y);
    EXPECT_EQ(whole.gradients, cut.gradients);
  });
}

TEST(Attention, KeepsInsideItsBuffers) {
  Prng prng(84);
  const AttentionShape s = shape_of(2, 2, 9, 7, 5, false);
  const Operand q(2 * 9 * 10, prng), k(2 * 7 * 10, prng), v(2 * 7 * 10, prng), mask(63, prng), dy(180, prng);
  GuardedBuffer<int32_t> key_mask(14);
  key_mask.fill(1);
  for_each_table([&](const KernelTable& table) {
    GuardedBuffer<float> y(180), log_sums(36), dq(180), dk(140), dv(140);
    GuardedBuffer<uint8_t> forward(attention_forward_workspace(s)), backward(attention_backward_workspace(s));
    table.attention_forward(s, {0, 4},
                            {q.values.data(), k.values.data(), v.values.data(), mask.values.data(), key_mask.data(),
                             y.data(), log_sums.data()},
                            forward.data());
    table.attention_backward(s, {0, 4},
                             {q.values.data(), k.values.data(), v.values.data(), mask.values.data(), key_mask.data(),
                              y.data(), dy.values.data(), log_sums.data(), dq.data(), dk.data(), dv.data()},
                             backward.data());
    for (const GuardedBuffer<float>* buffer : {&y, &log_sums, &dq, &dk, &dv}) {
      EXPECT_TRUE(buffer->is_intact());
      for (const float value : buffer->span()) ASSERT_FALSE(std::isnan(value));
    }
    EXPECT_TRUE(forward.is_intact() && backward.is_intact());
  });
}

TEST(Gradient, OfAttentionIsTheDerivative) {
  for (const bool causal : {false, true}) {
    AttentionShape s = shape_of(2, 2, 4, 3, 3, false);
    s.causal = causal;
    Prng prng(85);
    AttentionRun<double> run(s, prng, false);
    run.hide(prng, true, true);
    run.run(exact());
    AttentionRun<double> probe = run;
    expect_gradient("q, k, v", probe.inputs, run.gradients, [&] {
      probe.forward(exact(), {0, 4});
      return dot(probe.dy, probe.y);
    });
  }
}

}  // namespace
}  // namespace coterie::kernels::test
