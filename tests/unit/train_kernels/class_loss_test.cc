// Cross-entropies and the negative log-likelihood: fast tables against the reference, the reference against
// central differences.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

struct Case {
  Case(size_t rows, size_t classes, bool weighted, float smoothing, Prng& prng)
      : logits(rows * classes, prng, -8, 8),
        targets(rows * classes, prng, 0, 1),
        weights(classes, prng, 0.25, 2),
        labels(rows),
        fast{rows, classes, smoothing, weighted ? weights.values.data() : nullptr},
        exact{rows, classes, smoothing, weighted ? weights.exact.data() : nullptr} {
    for (int32_t& label : labels.span()) label = prng.below(4) == 0 ? -100 : static_cast<int32_t>(prng.below(classes));
  }
  Operand logits, targets, weights;
  GuardedBuffer<int32_t> labels;
  ClassLoss<float> fast;
  ClassLoss<double> exact;
};

// An error of 2^-22 or so in each logarithm and exponential, times weights of at most 2 * classes for
// targets.
void expect_same(const Case& c, const GuardedBuffer<float>& got, const Doubles& gradient, const LossSums& sums,
                 const LossSums& expected, double weight) {
  EXPECT_TRUE(is_close(got, gradient, Doubles(got.size(), weight * 0.5), 3e-6));
  EXPECT_NEAR(sums.loss, expected.loss, 4e-6 * weight * static_cast<double>(c.fast.rows) * 16);
  EXPECT_EQ(sums.correct, expected.correct);
}

TEST(ClassLoss, EqualsTheReference) {
  Prng prng(70);
  for (const size_t classes : {1, 2, 7, 16, 33, 130}) {
    for (const bool weighted : {false, true}) {
      for (const float smoothing : {0.0f, 0.1f}) {
        const Case c(9, classes, weighted, smoothing, prng);
        Doubles labelled(9 * classes), soft(9 * classes), likelihood(9 * classes);
        LossSums exact[3];
        const auto& reference = reference_kernels<double>();
        reference.cross_entropy(c.exact, c.logits.exact.data(), c.labels.data(), 0.5, labelled.data(), &exact[0]);
        reference.cross_entropy_of_targets(c.exact, c.logits.exact.data(), c.targets.exact.data(), 0.5, soft.data(),
                                           &exact[1]);
        reference.negative_log_likelihood(c.exact, c.logits.exact.data(), c.labels.data(), 0.5, likelihood.data(),
                                          &exact[2]);
        for_each_table([&](const KernelTable& table) {
          GuardedBuffer<float> a(9 * classes), b(9 * classes), d(9 * classes);
          LossSums sums[3], forward_only;
          table.cross_entropy(c.fast, c.logits.values.data(), c.labels.data(), 0.5f, a.data(), &sums[0]);
          table.cross_entropy_of_targets(c.fast, c.logits.values.data(), c.targets.values.data(), 0.5f, b.data(),
                                         &sums[1]);
          table.negative_log_likelihood(c.fast, c.logits.values.data(), c.labels.data(), 0.5f, d.data(), &sums[2]);
          table.cross_entropy(c.fast, c.logits.values.data(), c.labels.data(), 0.5f, nullptr, &forward_only);
          expect_same(c, a, labelled, sums[0], exact[0], 2);
          expect_same(c, b, soft, sums[1], exact[1], 2 * static_cast<double>(classes));
          expect_same(c, d, likelihood, sums[2], exact[2], 2);
          EXPECT_EQ(forward_only.loss, sums[0].loss);
          EXPECT_NEAR(table.label_weight(9, c.labels.data(), c.fast.class_weights),
                      reference.label_weight(9, c.labels.data(), c.exact.class_weights), 1e-12);
        });
      }
    }
  }
}

TEST(ClassLoss, AnIgnoredRowHasNoPart) {
  for_each_table([&](const KernelTable& table) {
    GuardedBuffer<float> logits(6), gradient(6);
    logits.fill(NAN);
    GuardedBuffer<int32_t> labels(2);
    labels.fill(-1);
    LossSums sums{1.5, 3};
    table.cross_entropy({2, 3, 0.2f}, logits.data(), labels.data(), 1, gradient.data(), &sums);
    EXPECT_EQ(sums.loss, 1.5);
    EXPECT_EQ(sums.correct, 3u);
    for (const float g : gradient.span()) EXPECT_EQ(g, 0);
    EXPECT_EQ(table.label_weight(2, labels.data(), nullptr), 0);
  });
}

TEST(ClassLoss, MaskedLogitsCostNothing) {
  for_each_table([&](const KernelTable& table) {
    GuardedBuffer<float> logits(3), gradient(3), targets(3);
    GuardedBuffer<int32_t> label(1);
    const float values[] = {1, 1, -HUGE_VALF}, wanted[] = {0.5f, 0.5f, 0};
    for (size_t i = 0; i < 3; ++i) {
      logits[i] = values[i];
      targets[i] = wanted[i];
    }
    LossSums sums;
    table.cross_entropy({1, 3}, logits.data(), label.data(), 1, gradient.data(), &sums);
    table.cross_entropy_of_targets({1, 3}, logits.data(), targets.data(), 1, gradient.data(), &sums);
    EXPECT_NEAR(sums.loss, 2 * std::log(2.0), 1e-6);
    for (const float g : gradient.span()) EXPECT_NEAR(g, 0, 1e-7);
  });
}

TEST(Gradient, OfClassLossesIsTheDerivative) {
  Prng prng(71);
  Doubles z = random(15, prng, -2, 2), targets = random(15, prng, 0, 1), got(15);
  const Doubles weights = random(5, prng, 0.5, 2);
  const int32_t labels[] = {4, -1, 0};
  for (const double scale : {1.0, 0.25}) {
    const ClassLoss<double> s{3, 5, 0.125f, weights.data()};
    LossSums unused;
    const auto check = [&](const char* what, auto run) {
      run(got.data(), &unused);
      expect_gradient(what, z, got, [&] {
        LossSums sums;
        run(static_cast<double*>(nullptr), &sums);
        return scale * sums.loss;
      });
    };
    check("labels", [&](double* dz, LossSums* sums) { exact().cross_entropy(s, z.data(), labels, scale, dz, sums); });
    check("targets", [&](double* dz, LossSums* sums) {
      exact().cross_entropy_of_targets(s, z.data(), targets.data(), scale, dz, sums);
    });
    check("likelihood",
          [&](double* dz, LossSums* sums) { exact().negative_log_likelihood(s, z.data(), labels, scale, dz, sums); });
  }
}

}  // namespace
}  // namespace coterie::kernels::test
