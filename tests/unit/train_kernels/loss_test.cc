#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

GuardedBuffer<int32_t> labels_below(size_t batch, size_t bound, Prng& prng) {
  GuardedBuffer<int32_t> labels(batch);
  for (int32_t& label : labels.span()) label = static_cast<int32_t>(prng.below(bound));
  return labels;
}

TEST(SoftmaxCrossEntropy, EqualsTheReferenceForAnyNumberOfClasses) {
  Prng prng(15);
  for (const size_t classes : {2, 3, 10, 16, 17, 100, 1000}) {
    for (const size_t batch : {1, 5, 32}) {
      const Operand logits(batch * classes, prng, -8, 8);
      const GuardedBuffer<int32_t> labels = labels_below(batch, classes, prng);
      Doubles gradient(batch * classes);
      LossSums exact;
      reference_kernels<double>().softmax_cross_entropy(batch, classes, logits.exact.data(), labels.data(),
                                                        gradient.data(), &exact);
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> got(gradient.size());
        LossSums sums, forward_only;
        table.softmax_cross_entropy(batch, classes, logits.values.data(), labels.data(), got.data(), &sums);
        table.softmax_cross_entropy(batch, classes, logits.values.data(), labels.data(), nullptr, &forward_only);
        EXPECT_TRUE(is_close(got, gradient, Doubles(got.size(), 1.0 / static_cast<double>(batch)), 3e-6));
        EXPECT_NEAR(sums.loss, exact.loss, 3e-6 * static_cast<double>(batch) * 16);
        EXPECT_EQ(sums.correct, exact.correct);
        EXPECT_EQ(forward_only.loss, sums.loss);
        EXPECT_EQ(forward_only.correct, sums.correct);
      });
    }
  }
}

TEST(SoftmaxCrossEntropy, StaysFiniteForHugeLogits) {
  for_each_table([&](const KernelTable& table) {
    GuardedBuffer<float> logits(3), gradient(3);
    logits[0] = 3e38f;
    logits[1] = 0;
    logits[2] = -1e38f;
    GuardedBuffer<int32_t> label(1);
    LossSums sums;
    table.softmax_cross_entropy(1, 3, logits.data(), label.data(), gradient.data(), &sums);
    EXPECT_EQ(sums.loss, 0);
    EXPECT_EQ(sums.correct, 1u);
    for (const float g : gradient.span()) EXPECT_EQ(g, 0);
  });
}

TEST(SoftmaxCrossEntropy, CountsTheFirstOfEqualLogitsAndAddsToTheSums) {
  for_each_table([&](const KernelTable& table) {
    GuardedBuffer<float> logits(4);
    logits.fill(1);
    GuardedBuffer<int32_t> labels(2);
    labels[0] = 0;
    labels[1] = 1;
    LossSums sums{10.0, 5};
    table.softmax_cross_entropy(2, 2, logits.data(), labels.data(), nullptr, &sums);
    EXPECT_EQ(sums.correct, 6u);
    EXPECT_NEAR(sums.loss, 10 + 2 * std::log(2.0), 1e-6);
  });
}

TEST(MeanSquaredError, EqualsTheReferenceForOneHotAndForNumbers) {
  Prng prng(16);
  for (const size_t outputs : {1, 2, 10, 33}) {
    for (const size_t batch : {1, 6, 32}) {
      const Operand y(batch * outputs, prng, -2, 2);
      const GuardedBuffer<int32_t> labels = labels_below(batch, outputs == 1 ? 7 : outputs, prng);
      Doubles gradient(batch * outputs);
      LossSums exact;
      reference_kernels<double>().mean_squared_error(batch, outputs, y.exact.data(), labels.data(), gradient.data(),
                                                     &exact);
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> got(gradient.size());
        LossSums sums;
        table.mean_squared_error(batch, outputs, y.values.data(), labels.data(), got.data(), &sums);
        EXPECT_TRUE(is_close(got, gradient, Doubles(got.size(), 1), 2e-6));
        EXPECT_NEAR(sums.loss, exact.loss, 1e-5 * exact.loss);
        EXPECT_EQ(sums.correct, exact.correct);
      });
    }
  }
}

}  // namespace
}  // namespace coterie::kernels::test
