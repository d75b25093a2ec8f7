// The noise that the devices of a cohort add to their own updates (level active_dp), and what a sum of them costs: both
// ends compute it from the plan's rules, so that a device need not believe what the server says of it.
//
// A cohort's sum is opened only if it has cohort_min updates, of a roster of at most roster_max devices. At most
// corrupt_share of those work with the server and may leave their noise out or tell it. So in each coordinate of every
// sum there are at least
//
//   honest_min = cohort_min - floor(corrupt_share * roster_max)
//
// draws that nobody knows, each Skellam of variance noise_variance_local. Skellam noise is closed under sums: together
// they are Skellam of honest_min times that; what others add makes it no weaker (Agarwal, Kairouz, Liu, NeurIPS 2021).
// What it has to hide is a vector of integers whose norm the encoding bounds (encoding_terms.h); whole numbers, so that
// the L1 norm is at most the square of the L2 norm, and sqrt(dimension) times it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "proto/messages/privacy_rules.h"
#include "secure/dp/encode/encoding_terms.h"
#include "secure/dp/ledger/ledger_record.h"
#include "secure/dp/noise/key_stream_source.h"
#include "secure/dp/noise/noise_sampler.h"

namespace coterie {

// Up to so many devices all are neighbours (secure/secagg/session.h), so that a sum is opened whole or not at all.
// Above, a server that picks who vanishes can cut off a part of a cohort and open the sum of that, with the noise of
// that part alone.
inline constexpr uint32_t kNoisyRosterMax = 255;

// invalid_argument if it would be none, or the roster larger than that.
Result<uint32_t> honest_min_of(uint32_t cohort_min, double corrupt_share, uint32_t roster_max);

struct DeviceNoiseGoal {
  uint64_t value_count = 0;   // of an update
  uint32_t cohort_count = 1;  // that are added up, each of rules.roster_max devices at most
  double clip_norm = 0;
  double noise_multiplier = 0;  // standard deviation of the honest devices' noise in a sum / sensitivity
  double delta = 0;             // of one round
};

// `rules` of level active_dp, with all but encoding and noise filled in, gets these: the coarsest grid that does, and
// the epsilon of one round. invalid_argument, which says what to change, if there is none.
Status add_device_noise(PrivacyRules& rules, const DeviceNoiseGoal& goal);

// ---- Preconditions of all that follows: validate(rules), level active_dp.

EncodingTerms encoding_of(const PrivacyRules& rules);

// What a round releases at the most. invalid_argument as honest_min_of.
Result<LedgerRelease> release_of(const PrivacyRules& rules, uint64_t value_count);

// refused, with the reason "epsilon_round", if a round costs more than rules.epsilon_round at rules.delta, or if
// updates would have weights, which noise does not hide.
Status check_promise(const PrivacyRules& rules, uint64_t value_count);

// Standard deviation of a value of a sum of so many updates, in steps of the grid, if all devices add their noise: of
// that and of their rounding, which is at random and has 1/4 a device at most.
double sum_sigma(const PrivacyRules& rules, uint64_t updates);

// Takes milliseconds.
Result<NoiseSampler> device_sampler(const PrivacyRules& rules);

// Total variation distance of one draw of any device_sampler() from its distribution, at most: thresholds of 2^-128, of
// which there are fewer than 2^15.
inline constexpr double kDeviceDrawVariationMax = 0x1p-112;

// The signs by which the devices of a round rotate their updates, from the context of its sessions (secure/secagg/
// round_session.h): the same for all cohorts, so that their sums can be added. Anybody may know them.
Result<KeyStreamSource> rotation_signs(const Digest& context);

}  // namespace coterie
