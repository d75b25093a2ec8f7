#include "secure/secret_sharing/lagrange.h"

#include "secure/secret_sharing/gf256.h"

namespace coterie {
namespace {

// Products are sums of logarithms, and these are sums that are reduced once.
// Tables are fine here: places x are public, and nothing secret is looked up.
uint32_t log_of(uint8_t number) { return gf256::kTables.logarithm[number]; }

// 3^(numerator_log - denominator_log)
uint8_t quotient(uint32_t numerator_log, uint32_t denominator_log) {
  return gf256::kTables.power[numerator_log % 255 + 255 - denominator_log % 255];
}

uint32_t log_of_differences(std::span<const uint8_t> xs, size_t i) {
  uint32_t sum = 0;
  for (size_t j = 0; j < xs.size(); ++j) {
    if (j != i) sum += log_of(xs[i] ^ xs[j]);
  }
  return sum;
}

}  // namespace

std::vector<uint8_t> weights_at_zero(std::span<const uint8_t> xs) {
  uint32_t all = 0;
  for (const uint8_t x : xs) all += log_of(x);
  std::vector<uint8_t> weights(xs.size());
  for (size_t i = 0; i < xs.size(); ++i) weights[i] = quotient(all - log_of(xs[i]), log_of_differences(xs, i));
  return weights;
}

std::vector<uint8_t> leading_weights(std::span<const uint8_t> xs) {
  std::vector<uint8_t> weights(xs.size());
  for (size_t i = 0; i < xs.size(); ++i) weights[i] = quotient(0, log_of_differences(xs, i));
  return weights;
}

}  // namespace coterie
