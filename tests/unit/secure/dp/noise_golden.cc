#include "tests/unit/secure/dp/noise_golden.h"

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/assert.h"
#include "tests/support/paths.h"

namespace coterie::test {

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  const auto add = [&](NoiseKind kind, const char* name, const char* variance) {
    cases.push_back({kind, std::strtod(variance, nullptr), std::string(name) + "_" + variance + ".txt"});
  };
  for (const char* v : {"0.0025", "0.25", "2", "64", "1600", "1048576"}) add(NoiseKind::skellam, "skellam", v);
  for (const char* v : {"0.0025", "1", "64", "1600", "1048576"}) add(NoiseKind::discrete_gaussian, "gaussian", v);
  return cases;
}

std::vector<GoldenTail> read_golden_tails(const std::string& file) {
  std::ifstream in(source_dir() + "/tests/golden/noise/" + file);
  std::vector<GoldenTail> tails;
  size_t k;
  std::string digits;
  while (in >> k >> digits) {
    GoldenTail tail{k, {}};
    for (size_t i = 0; i < 4; ++i) tail.fraction[i] = std::strtoull(digits.substr(16 * i, 16).c_str(), nullptr, 16);
    tails.push_back(tail);
  }
  COT_ASSERT(!tails.empty());
  return tails;
}

std::vector<double> golden_magnitudes(NoiseKind kind, double variance) {
  for (const GoldenCase& c : golden_cases()) {
    if (c.kind != kind || c.variance != variance) continue;
    std::vector<double> magnitudes;
    double before = 1;
    for (const GoldenTail& tail : read_golden_tails(c.file)) {
      COT_ASSERT(tail.k == magnitudes.size());
      const double here = std::ldexp(static_cast<double>(tail.fraction[0]), -64) +
                          std::ldexp(static_cast<double>(tail.fraction[1]), -128);
      magnitudes.push_back(before - here);
      before = here;
    }
    return magnitudes;
  }
  COT_ASSERT(false);
}

}  // namespace coterie::test
