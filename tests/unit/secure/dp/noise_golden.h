// The reference tables of tests/golden/noise (make_tables.py there says how they are made).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "secure/dp/noise/noise_table.h"

namespace coterie::test {

struct GoldenTail {
  size_t k;
  std::array<uint64_t, 4> fraction;  // P(|X| > k) in units of 2^-64, 2^-128, ...
};

struct GoldenCase {
  NoiseKind kind;
  double variance;
  std::string file;
};
std::vector<GoldenCase> golden_cases();

std::vector<GoldenTail> read_golden_tails(const std::string& file);

// P(X = 0), P(|X| = 1), ... of a case whose file has every line.
std::vector<double> golden_magnitudes(NoiseKind kind, double variance);

}  // namespace coterie::test
