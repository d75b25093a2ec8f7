// Elementwise and embedding losses: fast tables against the reference, the reference against central
// differences.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

constexpr ElementLoss kKinds[] = {ElementLoss::squared,
                                  ElementLoss::absolute,
                                  ElementLoss::huber,
                                  ElementLoss::smooth_l1,
                                  ElementLoss::binary_cross_entropy,
                                  ElementLoss::binary_cross_entropy_with_logits,
                                  ElementLoss::kl_divergence};

// Predictions that the kind allows.
Operand predictions(ElementLoss kind, size_t n, Prng& prng) {
  return kind == ElementLoss::binary_cross_entropy ? Operand(n, prng, 0.01, 0.99) : Operand(n, prng, -4, 4);
}

TEST(ElementLoss, EqualsTheReference) {
  Prng prng(72);
  for (const ElementLoss kind : kKinds) {
    for (const size_t width : {1, 3, 17, 700}) {
      SCOPED_TRACE(static_cast<int>(kind));
      const ElementLossShape s{kind, 7, width, 0.75f};
      const size_t n = 7 * width;
      const Operand y = predictions(kind, n, prng), t(n, prng, 0, 1);
      GuardedBuffer<int32_t> labels(n);
      for (int32_t& label : labels.span()) label = static_cast<int32_t>(prng.below(2));
      Doubles gradient(n), of_labels(n);
      LossSums exact[2];
      reference_kernels<double>().element_loss(s, y.exact.data(), t.exact.data(), 0.5, gradient.data(), &exact[0]);
      reference_kernels<double>().element_loss_of_labels(s, y.exact.data(), labels.data(), 0.5, of_labels.data(),
                                                         &exact[1]);
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> got(n), got_labels(n);
        LossSums sums[2];
        table.element_loss(s, y.values.data(), t.values.data(), 0.5f, got.data(), &sums[0]);
        table.element_loss_of_labels(s, y.values.data(), labels.data(), 0.5f, got_labels.data(), &sums[1]);
        // Slopes reach 100 (binary cross-entropy at 0.01), losses 25; each a handful of roundings.
        EXPECT_TRUE(is_close(got, gradient, Doubles(n, 1 + std::fabs(gradient[0])), 1e-5));
        EXPECT_TRUE(is_close(got_labels, of_labels, Doubles(n, 1), 1e-5));
        for (size_t i = 0; i < 2; ++i) {
          EXPECT_NEAR(sums[i].loss, exact[i].loss, 1e-6 * (std::fabs(exact[i].loss) + 25));
          EXPECT_EQ(sums[i].correct, exact[i].correct);
        }
      });
    }
  }
}

TEST(ElementLoss, HoldsAtItsEdges) {
  for_each_table([&](const KernelTable& table) {
    const auto run = [&](ElementLoss kind, float y, float t, float threshold, float* slope) {
      LossSums sums;
      table.element_loss({kind, 1, 1, threshold}, &y, &t, 1, slope, &sums);
      return sums.loss;
    };
    float slope = 0;
    EXPECT_EQ(run(ElementLoss::binary_cross_entropy, 0, 1, 1, &slope), 100);
    EXPECT_EQ(slope, -1e12f);
    EXPECT_EQ(run(ElementLoss::binary_cross_entropy, 1, 1, 1, &slope), 0);
    EXPECT_EQ(run(ElementLoss::binary_cross_entropy_with_logits, 1000, 0, 1, &slope), 1000);
    EXPECT_EQ(slope, 1);
    EXPECT_EQ(run(ElementLoss::binary_cross_entropy_with_logits, -1000, 0, 1, &slope), 0);
    EXPECT_EQ(run(ElementLoss::kl_divergence, -3, 0, 1, &slope), 0);
    EXPECT_EQ(run(ElementLoss::smooth_l1, 2, 5, 0, &slope), 3);
    EXPECT_EQ(slope, -1);
    EXPECT_EQ(run(ElementLoss::absolute, 2, 2, 1, &slope), 0);
    EXPECT_EQ(slope, 0);
    EXPECT_TRUE(std::isnan(run(ElementLoss::huber, NAN, 0, 1, &slope)));
  });
}

TEST(EmbeddingLoss, EqualsTheReference) {
  Prng prng(73);
  for (const size_t width : {1, 5, 16, 40, 300}) {
    const size_t n = 6 * width;
    const Operand a(n, prng), b(n, prng), c(n, prng);
    GuardedBuffer<int32_t> labels(6);
    for (size_t i = 0; i < 6; ++i) labels[i] = i % 2 == 0 ? 1 : -1;
    const double limit = 1 / std::sqrt(static_cast<double>(width));
    Doubles da(n), db(n), anchor(n), positive(n), negative(n);
    LossSums exact[2];
    const auto& reference = reference_kernels<double>();
    reference.cosine_embedding(6, width, a.exact.data(), b.exact.data(), labels.data(), -0.25, 0.5, da.data(),
                               db.data(), &exact[0]);
    reference.triplet_margin(6, width, a.exact.data(), b.exact.data(), c.exact.data(), 0.5, 0.5, anchor.data(),
                             positive.data(), negative.data(), &exact[1]);
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got_a(n), got_b(n), x(n), y(n), z(n);
      LossSums sums[2], without;
      table.cosine_embedding(6, width, a.values.data(), b.values.data(), labels.data(), -0.25f, 0.5f, got_a.data(),
                             got_b.data(), &sums[0]);
      table.triplet_margin(6, width, a.values.data(), b.values.data(), c.values.data(), 0.5f, 0.5f, x.data(), y.data(),
                           z.data(), &sums[1]);
      table.triplet_margin(6, width, a.values.data(), b.values.data(), c.values.data(), 0.5f, 0.5f, nullptr, nullptr,
                           nullptr, &without);
      // One coordinate alone can be tiny: the cosine's gradient is then a difference of large equals.
      const double scale = width == 1 ? 1e3 : 10 * limit;
      EXPECT_TRUE(is_close(got_a, da, Doubles(n, scale), 1e-5));
      EXPECT_TRUE(is_close(got_b, db, Doubles(n, scale), 1e-5));
      EXPECT_TRUE(is_close(x, anchor, Doubles(n, 1), 1e-5));
      EXPECT_TRUE(is_close(y, positive, Doubles(n, 1), 1e-5));
      EXPECT_TRUE(is_close(z, negative, Doubles(n, 1), 1e-5));
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(sums[i].loss, exact[i].loss, 1e-4);
      EXPECT_EQ(without.loss, sums[1].loss);
    });
  }
}

TEST(Gradient, OfElementLossesIsTheDerivative) {
  Prng prng(74);
  for (const ElementLoss kind : kKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    const ElementLossShape s{kind, 3, 4, 0.5f};
    Doubles y = predictions(kind, 12, prng).exact, got(12);
    const Doubles t = random(12, prng, 0.1, 0.9);
    LossSums unused;
    exact().element_loss(s, y.data(), t.data(), 0.25, got.data(), &unused);
    const auto scalar = [&] {
      LossSums sums;
      exact().element_loss(s, y.data(), t.data(), 0.25, nullptr, &sums);
      return 0.25 * sums.loss;
    };
    expect_gradient("y", y, got, scalar, 2e-5);  // third derivatives of 2 / y^3 near 0
  }
}

TEST(Gradient, OfEmbeddingLossesIsTheDerivative) {
  Prng prng(75);
  Doubles a = random(12, prng), b = random(12, prng), c = random(12, prng), da(12), db(12), dc(12);
  const int32_t labels[] = {1, -1, -1};
  const auto cosine = [&](double* x, double* y) {
    LossSums sums;
    exact().cosine_embedding(3, 4, a.data(), b.data(), labels, -0.5, 0.5, x, y, &sums);
    return 0.5 * sums.loss;
  };
  cosine(da.data(), db.data());
  expect_gradient("a", a, da, [&] { return cosine(nullptr, nullptr); });
  expect_gradient("b", b, db, [&] { return cosine(nullptr, nullptr); });
  const auto triplet = [&](double* x, double* y, double* z) {
    LossSums sums;
    exact().triplet_margin(3, 4, a.data(), b.data(), c.data(), 0.75, 0.5, x, y, z, &sums);
    return 0.5 * sums.loss;
  };
  triplet(da.data(), db.data(), dc.data());
  expect_gradient("anchor", a, da, [&] { return triplet(nullptr, nullptr, nullptr); });
  expect_gradient("positive", b, db, [&] { return triplet(nullptr, nullptr, nullptr); });
  expect_gradient("negative", c, dc, [&] { return triplet(nullptr, nullptr, nullptr); });
}

}  // namespace
}  // namespace coterie::kernels::test
