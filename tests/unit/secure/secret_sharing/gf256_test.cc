#include "secure/secret_sharing/gf256.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "secure/secret_sharing/gf256_rows.h"

namespace coterie::gf256 {
namespace {

// FIPS 197 section 4.2: by definition, a bit after the other.
uint8_t product(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (int bit = 0; bit < 8; ++bit) {
    if ((b >> bit & 1) != 0) sum ^= a << bit;
  }
  for (int bit = 14; bit >= 8; --bit) {
    if ((sum >> bit & 1) != 0) sum ^= 0x11bu << (bit - 8);
  }
  return static_cast<uint8_t>(sum);
}

uint8_t byte(unsigned value) { return static_cast<uint8_t>(value); }

Bytes random_rows(Prng& prng, size_t count) {
  Bytes rows(count * kRowBytes);
  for (uint8_t& value : rows) value = byte(static_cast<unsigned>(prng.next()));
  return rows;
}

Bytes evaluated(const RowKernels& kernels, const Bytes& coefficients, size_t count) {
  Bytes shares(count * kRowBytes, 0xa5);
  kernels.evaluate(coefficients, shares);
  return shares;
}

Bytes combined(const RowKernels& kernels, const Bytes& numbers, const Bytes& rows) {
  std::vector<const uint8_t*> pointers;
  for (size_t i = 0; i < numbers.size(); ++i) pointers.push_back(&rows[i * kRowBytes]);
  Bytes sum(kRowBytes, 0xa5);
  kernels.combine(numbers, pointers.data(), sum.data());
  return sum;
}

TEST(Gf256, IsTheFieldOfFips197) {
  EXPECT_EQ(multiply(0x57, 0x83), 0xc1);  // section 4.2
  EXPECT_EQ(multiply(0x57, 0x13), 0xfe);  // section 4.2.1
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      ASSERT_EQ(multiply(byte(a), byte(b)), product(a, b)) << a << " * " << b;
      if (b != 0) {
        ASSERT_EQ(multiply(divide(byte(a), byte(b)), byte(b)), a) << a << " / " << b;
      }
    }
  }
}

// Every pair of bytes: the number 256 times a row that holds all bytes in turn.
TEST(Gf256Rows, MultiplyAsTheFieldDoes) {
  for (const RowKernels* kernels : {&portable_row_kernels(), &row_kernels()}) {
    for (unsigned number = 0; number < 256; ++number) {
      for (unsigned first = 0; first < 256; first += kRowBytes) {
        Bytes row(kRowBytes);
        for (unsigned i = 0; i < kRowBytes; ++i) row[i] = byte(first + i);
        const Bytes sum = combined(*kernels, {byte(number)}, row);
        for (unsigned i = 0; i < kRowBytes; ++i) {
          ASSERT_EQ(sum[i], product(number, first + i)) << kernels->name << ": " << number << " * " << first + i;
        }
      }
    }
  }
}

TEST(Gf256Rows, EvaluatePolynomialsAtOneTwoThree) {
  Prng prng(1);
  for (const RowKernels* kernels : {&portable_row_kernels(), &row_kernels()}) {
    const Bytes coefficients = random_rows(prng, 4);
    const Bytes shares = evaluated(*kernels, coefficients, 255);
    for (unsigned x = 1; x <= 255; ++x) {
      for (size_t column = 0; column < kRowBytes; ++column) {
        uint8_t sum = 0, power = 1;
        for (size_t k = 0; k < 4; ++k, power = product(power, x)) {
          sum ^= product(coefficients[k * kRowBytes + column], power);
        }
        ASSERT_EQ(shares[(x - 1) * kRowBytes + column], sum) << kernels->name << ", x = " << x << ", byte " << column;
      }
    }
  }
}

// On a CPU without GFNI both are the same function.
TEST(Gf256Rows, GiveTheSameBytesByEveryKernel) {
  Prng prng(2);
  for (size_t count = 1; count <= 255; count += count < 20 ? 1 : 235) {
    for (const size_t threshold : {size_t{1}, (count + 1) / 2, count}) {
      const Bytes coefficients = random_rows(prng, threshold);
      ASSERT_EQ(evaluated(row_kernels(), coefficients, count), evaluated(portable_row_kernels(), coefficients, count))
          << threshold << " of " << count;
    }
    const Bytes rows = random_rows(prng, count);
    Bytes numbers(count);
    for (uint8_t& number : numbers) number = byte(static_cast<unsigned>(prng.next()));
    ASSERT_EQ(combined(row_kernels(), numbers, rows), combined(portable_row_kernels(), numbers, rows)) << count;
  }
}

}  // namespace
}  // namespace coterie::gf256
