// LaneKernel: products modulo an odd number n or its square, eight at a time, in one vector instruction's lanes.
// Private to secure/he, its tests and its benchmarks.
//
// A number x modulo n^2 is a pair: x = low + high n, both of `digits` digits of 52 bits, the least first, and below
// 2 n. high high' n^2 is zero, so that a product needs half-length products alone. With R = 2^(52 digits), R >= 16 n:
//
//   T = low low'                   q = -T / n mod R    t = (T + q n) / R
//   U = low high' + high low' - q                      u = U / R mod n      x x' / R = t + u n  (mod n^2)
//
// since T = R t - q n. That is 10 digits^2 multiply-adds for a product and 8 for a square; Montgomery's product of
// numbers of 2 digits has 16. Neither t nor u is ever brought below n (C. Walter, Montgomery exponentiation needs no
// final subtractions, Electronics Letters 1999): R is large enough that both stay below 2 n.
//
// A row is a number alone: low's digits, then high's, then zeros up to `words` words. Lanes are eight numbers: word j
// of number l lies at [8 j + l]. All are aligned to 64 bytes.
//
// Constant time: every function here. Neither branches nor addresses depend on digits or on indices; only sizes count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace coterie::he {

inline constexpr size_t kLanes = 8;
inline constexpr size_t kDigitBits = 52;
inline constexpr size_t kDigitsMax = 64;

struct LaneModulus {
  size_t digits = 0;                  // at most kDigitsMax
  uint64_t inverse = 0;               // -1 / n modulo 2^52
  const uint64_t* modulus = nullptr;  // n, each digit eight times
  const uint64_t* offset = nullptr;   // 1 - R modulo n, each digit eight times: keeps U from being negative
};

struct LaneKernel {
  std::string_view name;  // for tables: "avx512-ifma"
  // out = a b / R in each lane. `out` may be an operand.
  void (*multiply)(const LaneModulus& modulus, const uint64_t* a, const uint64_t* b, uint64_t* out);
  void (*square)(const LaneModulus& modulus, const uint64_t* a, uint64_t* out);
  // The same of numbers modulo n alone, which have low and no high: 4 digits^2 multiply-adds.
  void (*multiply_low)(const LaneModulus& modulus, const uint64_t* a, const uint64_t* b, uint64_t* out);
  // Eight rows of `words` words, a multiple of 8, to lanes and back.
  void (*to_lanes)(size_t words, const uint64_t* const* rows, uint64_t* lanes);
  void (*to_rows)(size_t words, const uint64_t* lanes, uint64_t* const* rows);
  // Lane l of `out` = entry indices[l] of a table of rows in pieces of eight words: the first piece of each entry, then
  // the second of each, so that all is read from front to back.
  void (*select_rows)(size_t words, const uint64_t* table, size_t entries, const uint64_t* indices, uint64_t* out);
  // out = entry `index` of a table of lanes, one behind the other.
  void (*select_lanes)(size_t words, const uint64_t* table, size_t entries, uint64_t index, uint64_t* out);
};

// What this CPU can run, the fastest first; nothing where libcrypto is all there is.
std::span<const LaneKernel> lane_kernels();

// Whether the kernel computes what libcrypto computes, on numbers of keys of each size and on the extremes: some 5 ms.
// An `internal` error names the kernel and what it gets wrong.
Status lane_self_test(const LaneKernel& kernel);

// The first that passes its self test, or null.
const LaneKernel* choose_lane_kernel(std::span<const LaneKernel> kernels);
// The same of lane_kernels(), asked once a process. Null: libcrypto computes.
const LaneKernel* lane_kernel();

}  // namespace coterie::he
