// Optimizer steps: fast tables against the reference. The formulas themselves against PyTorch: torch_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

// A gradient, a weight and three moments; moments that stand for squares are not negative.
template <typename T>
struct State {
  std::vector<T> g, w, m, v, u;
};

State<float> state(size_t n, Prng& prng) {
  State<float> made;
  for (auto* values : {&made.g, &made.w, &made.m, &made.v, &made.u}) {
    const bool squares = values == &made.v || values == &made.u;
    for (size_t i = 0; i < n; ++i) values->push_back(static_cast<float>(prng.uniform(squares ? 0.5 : -0.5, 1)));
  }
  return made;
}

State<double> widened(const State<float>& from) {
  const auto copy = [](const std::vector<float>& values) { return std::vector<double>(values.begin(), values.end()); };
  return {copy(from.g), copy(from.w), copy(from.m), copy(from.v), copy(from.u)};
}

// Runs `step` on both and compares everything it may have changed: a few roundings of values below 16.
template <typename Step>
void expect_same(const char* what, const Step& step) {
  Prng prng(76);
  for (const size_t n : {1, 5, 16, 37, 5000}) {
    const State<float> before = state(n, prng);
    State<double> exact = widened(before);
    step(reference_kernels<double>(), n, exact);
    for_each_table([&](const KernelTable& table) {
      State<float> got = before;
      step(table, n, got);
      for (size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(got.g[i], exact.g[i], 4e-6) << what << " g[" << i << "]";
        ASSERT_NEAR(got.w[i], exact.w[i], 4e-6) << what << " w[" << i << "]";
        ASSERT_NEAR(got.m[i], exact.m[i], 4e-6) << what << " m[" << i << "]";
        ASSERT_NEAR(got.v[i], exact.v[i], 4e-6) << what << " v[" << i << "]";
        ASSERT_NEAR(got.u[i], exact.u[i], 4e-6) << what << " u[" << i << "]";
      }
    });
  }
}

TEST(Optimizer, EveryStepEqualsTheReference) {
  for (const bool nesterov : {false, true}) {
    expect_same("sgd", [&](const auto& table, size_t n, auto& s) {
      table.sgd_step(n, {0.1f, 0.9f, 0.01f, nesterov}, s.g.data(), s.w.data(), s.m.data());
    });
  }
  expect_same("sgd without momentum", [](const auto& table, size_t n, auto& s) {
    table.sgd_step(n, {0.1f, 0, 0.01f}, s.g.data(), s.w.data(), nullptr);
  });
  expect_same("adam", [](const auto& table, size_t n, auto& s) {
    table.adam_step(n, {0.9f, 0.99f, 1e-6f, 0.1f, 0.1f, 1.5f}, s.g.data(), s.w.data(), s.m.data(), s.v.data());
  });
  expect_same("adamw", [](const auto& table, size_t n, auto& s) {
    table.adamw_step(n, {0.9f, 0.99f, 1e-6f, 0.1f, 0.1f, 1.5f}, s.g.data(), s.w.data(), s.m.data(), s.v.data());
  });
  expect_same("adagrad", [](const auto& table, size_t n, auto& s) {
    table.adagrad_step(n, {0.1f, 1e-6f, 0.1f}, s.g.data(), s.w.data(), s.v.data());
  });
  expect_same("adadelta", [](const auto& table, size_t n, auto& s) {
    table.adadelta_step(n, {0.5f, 0.9f, 1e-3f, 0.1f}, s.g.data(), s.w.data(), s.v.data(), s.u.data());
  });
  expect_same("lion", [](const auto& table, size_t n, auto& s) {
    table.lion_step(n, {0.1f, 0.75f, 0.5f, 0.1f}, s.g.data(), s.w.data(), s.m.data());
  });
  for (const bool apart : {false, true}) {
    expect_same("lamb", [&](const auto& table, size_t n, auto& s) {
      table.lamb_direction(n, {0.9f, 0.99f, 1e-6f, 0.1f, 3, 1.5f}, s.g.data(), s.w.data(), s.m.data(), s.v.data(),
                           apart ? s.u.data() : s.g.data());
    });
  }
}

TEST(Optimizer, RmspropEqualsTheReferenceWithAndWithoutItsOptions) {
  for (const bool momentum : {false, true}) {
    for (const bool centred : {false, true}) {
      expect_same("rmsprop", [&](const auto& table, size_t n, auto& s) {
        // |m| below sqrt(0.5) keeps v - m^2 away from 0, where its root has no bound.
        for (auto& m : s.g) m *= decltype(+m)(0.5);
        for (auto& m : s.m) m *= decltype(+m)(0.5);
        table.rmsprop_step(n, {0.1f, 0.75f, 0.01f, 0.1f, 0.5f}, s.g.data(), s.w.data(), s.v.data(),
                           momentum ? s.u.data() : nullptr, centred ? s.m.data() : nullptr);
      });
    }
  }
}

TEST(Optimizer, HelpersEqualTheReference) {
  expect_same("add_scaled",
              [](const auto& table, size_t n, auto& s) { table.add_scaled(n, -0.5f, s.g.data(), s.w.data()); });
  expect_same("scale", [](const auto& table, size_t n, auto& s) { table.scale_in_place(n, 0.75f, s.g.data()); });
  expect_same("clip", [](const auto& table, size_t n, auto& s) { table.clip_in_place(n, 0.25f, s.g.data()); });
  expect_same("proximal", [](const auto& table, size_t n, auto& s) {
    table.add_proximal(n, 0.1f, s.w.data(), s.m.data(), s.g.data());
  });
}

TEST(Optimizer, ANormDoesNotDependOnWhereTheTensorIsCut) {
  Prng prng(77);
  const size_t n = 3 * kSquaresBlock + 17;
  const Operand x(n, prng);
  double exact[4];
  reference_kernels<double>().sum_of_squares(n, x.exact.data(), exact);
  for_each_table([&](const KernelTable& table) {
    double whole[4], cut[4];
    table.sum_of_squares(n, x.values.data(), whole);
    table.sum_of_squares(2 * kSquaresBlock, x.values.data(), cut);
    table.sum_of_squares(n - 2 * kSquaresBlock, x.values.data() + 2 * kSquaresBlock, cut + 2);
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(whole[k], cut[k]);
      EXPECT_NEAR(whole[k], exact[k], gamma(kSquaresBlock / 4) * exact[k]);
    }
  });
}

TEST(Optimizer, NaNStaysVisible) {
  for_each_table([&](const KernelTable& table) {
    float g = NAN, w = 1, m = 0, v = 0;
    table.lion_step(1, {0.1f, 0.9f, 0.9f, 0}, &g, &w, &m);
    EXPECT_TRUE(std::isnan(w) && std::isnan(m));
    w = 1;
    m = 0;
    table.rmsprop_step(1, {0.1f, 0.9f, 1e-8f, 0, 0}, &g, &w, &v, nullptr, &m);
    EXPECT_TRUE(std::isnan(w));
    table.clip_in_place(1, 1, &g);
    EXPECT_TRUE(std::isnan(g));
  });
}

}  // namespace
}  // namespace coterie::kernels::test
