#include <gtest/gtest.h>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

MatmulShape product(size_t batch, size_t m, size_t k, size_t n, bool transpose_a, bool transpose_b) {
  return {batch, m, k, n, m * k, k * n, m * n, transpose_a, transpose_b};
}

std::vector<MatmulShape> shapes() {
  std::vector<MatmulShape> all;
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      all.push_back(product(1, 1, 1, 1, transpose_a, transpose_b));
      all.push_back(product(3, 9, 33, 17, transpose_a, transpose_b));
      all.push_back(product(2, 70, 21, 130, transpose_a, transpose_b));
      all.push_back(product(2, 5, 600, 49, transpose_a, transpose_b));
      MatmulShape s = product(3, 8, 12, 20, transpose_a, transpose_b);
      s.alpha = 0.125f;
      s.accumulate = true;
      all.push_back(s);
      for (const bool one_a : {false, true}) {  // one operand for all, or one sum of all
        MatmulShape broadcast = s;
        (one_a ? broadcast.a_stride : broadcast.b_stride) = 0;
        all.push_back(broadcast);
        broadcast.accumulate = false;
        all.push_back(broadcast);
      }
      s.c_stride = 0;
      all.push_back(s);
      s.accumulate = false;
      s.a_stride += 5;  // matrices with something between them
      all.push_back(s);
    }
  }
  return all;
}

std::string describe(const MatmulShape& s) {
  return std::to_string(s.batch) + " of " + std::to_string(s.m) + "x" + std::to_string(s.k) + "x" +
         std::to_string(s.n) + (s.transpose_a ? " A^T" : " A") + (s.transpose_b ? " B^T" : " B") + " strides " +
         std::to_string(s.a_stride) + "," + std::to_string(s.b_stride) + "," + std::to_string(s.c_stride);
}

size_t a_count(const MatmulShape& s) { return (s.batch - 1) * s.a_stride + s.m * s.k; }
size_t b_count(const MatmulShape& s) { return (s.batch - 1) * s.b_stride + s.k * s.n; }
size_t c_count(const MatmulShape& s) { return (s.batch - 1) * s.c_stride + s.m * s.n; }

TEST(Matmul, EqualsTheReference) {
  Prng prng(31);
  for (const MatmulShape& s : shapes()) {
    SCOPED_TRACE(describe(s));
    const Operand a(a_count(s), prng), b(b_count(s), prng), before(c_count(s), prng);
    Doubles c = before.exact, magnitude = before.magnitude;
    reference_kernels<double>().matmul(s, a.exact.data(), b.exact.data(), c.data(), nullptr);
    reference_kernels<double>().matmul(s, a.magnitude.data(), b.magnitude.data(), magnitude.data(), nullptr);
    GuardedBuffer<uint8_t> workspace((matmul_workspace(s) + 63) / 64 * 64);
    const double products = static_cast<double>(s.k * (s.c_stride == 0 ? s.batch : 1));
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got(c.size());
      if (s.accumulate) std::copy(before.values.span().begin(), before.values.span().end(), got.data());
      table.matmul(s, a.values.data(), b.values.data(), got.data(), workspace.data());
      EXPECT_TRUE(is_close(got, c, magnitude, gamma(products + 3)));
    });
  }
}

// dA = dC B^T and dB = A^T dC, each with the flags that a gradient of a broadcast B needs.
TEST(Matmul, GradientsAreProductsThemselves) {
  Prng prng(32);
  const MatmulShape forward{.batch = 3, .m = 4, .k = 5, .n = 2, .a_stride = 20, .b_stride = 0, .c_stride = 8};
  const MatmulShape by_a{
      .batch = 3, .m = 4, .k = 2, .n = 5, .a_stride = 8, .b_stride = 0, .c_stride = 20, .transpose_b = true};
  const MatmulShape by_b{
      .batch = 3, .m = 5, .k = 4, .n = 2, .a_stride = 20, .b_stride = 8, .c_stride = 0, .transpose_a = true};
  Doubles a = random(60, prng), b = random(10, prng), c(24), da(60), db(10);
  const Doubles dc = random(24, prng);
  exact().matmul(by_a, dc.data(), b.data(), da.data(), nullptr);
  exact().matmul(by_b, a.data(), dc.data(), db.data(), nullptr);
  const auto scalar = [&] {
    exact().matmul(forward, a.data(), b.data(), c.data(), nullptr);
    return dot(dc, c);
  };
  expect_gradient("a", a, da, scalar);
  expect_gradient("b", b, db, scalar);
}

}  // namespace
}  // namespace coterie::kernels::test
