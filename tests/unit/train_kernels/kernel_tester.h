// Compares one fast kernel table with the reference in double, on random operands in guarded memory.
//
// The bound is the textbook one for a sum of products in any order (Higham, "Accuracy and Stability of Numerical
// Algorithms", 3.1): |error| <= gamma_n * sum |a_i b_i|, gamma_n = n u / (1 - n u), u = 2^-24. The right-hand sum is
// the same kernel run on absolute values by the reference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <initializer_list>
#include <vector>

#include "tests/unit/train_kernels/guarded_buffer.h"
#include "train_kernels/kernel_table.h"

namespace coterie::kernels::test {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

inline Floats draw(size_t count, Prng& prng) {
  Floats values(count);
  for (float& value : values) value = static_cast<float>(prng.uniform(-1, 1));
  return values;
}

// A random float operand and its copies in double: as it is, and without signs.
struct Operand {
  Operand(size_t count, Prng& prng, double low = -1, double high = 1) : values(count), exact(count), magnitude(count) {
    for (size_t i = 0; i < count; ++i) set(i, static_cast<float>(prng.uniform(low, high)));
  }
  void set(size_t i, float value) {
    values[i] = value;
    exact[i] = value;
    magnitude[i] = std::fabs(value);
  }
  GuardedBuffer<float> values;
  Doubles exact, magnitude;
};

inline double gamma(double products) {
  const double nu = products * 0x1p-24;
  return nu / (1 - nu);
}

// Every value of `got` within `relative` * magnitude (and 1e-30) of `exact`, and nothing written before it.
inline ::testing::AssertionResult is_close(const GuardedBuffer<float>& got, const Doubles& exact,
                                           const Doubles& magnitude, double relative) {
  if (!got.is_intact()) return ::testing::AssertionFailure() << "wrote before the output";
  for (size_t i = 0; i < got.size(); ++i) {
    const double bound = relative * magnitude[i] + 1e-30;
    if (std::fabs(got[i] - exact[i]) <= bound) continue;  // false for NaN
    return ::testing::AssertionFailure() << "at " << i << " of " << got.size() << ": got " << got[i] << ", exact "
                                         << exact[i] << ", bound " << bound;
  }
  return ::testing::AssertionSuccess();
}

// Runs body(table) for each table this CPU supports.
inline void for_each_table(const std::function<void(const KernelTable&)>& body) {
  ASSERT_FALSE(supported_kernels().empty());
  for (const KernelTable& table : supported_kernels()) {
    SCOPED_TRACE(table.name);
    body(table);
  }
}

}  // namespace coterie::kernels::test
