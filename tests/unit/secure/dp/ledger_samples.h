// Releases, rounds and budgets for the tests of the privacy ledger.
#pragma once

#include "secure/dp/ledger/ledger.h"

namespace coterie::test {

// A vector's noise of this multiplier on a grid of 1000 steps a sensitivity.
inline LedgerRelease gaussian_release(double noise_multiplier) {
  const double sigma = noise_multiplier * 1000;
  return {LedgerMechanism::discrete_gaussian, sigma * sigma, 30'000, 1000, 0};
}
inline LedgerRelease skellam_release(double noise_multiplier) {
  LedgerRelease release = gaussian_release(noise_multiplier);
  release.mechanism = LedgerMechanism::skellam;
  return release;
}

inline RoundKey round_key(uint64_t round, uint32_t attempt = 1) { return {RoundId(round), Attempt(attempt)}; }
inline WallTime ledger_time(uint64_t seq) {
  return wall_time_from_unix_ms(1'760'000'000'000 + static_cast<int64_t>(seq));
}

inline Digest some_commitment(uint8_t value = 7) {
  Digest digest;
  digest.bytes.fill(value);
  return digest;
}

}  // namespace coterie::test
