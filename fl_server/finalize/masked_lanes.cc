#include "fl_server/finalize/masked_lanes.h"

#include <algorithm>
#include <string>
#include <vector>

namespace coterie {
namespace {

// Masks of 16- and 32-bit lanes cancel modulo 2^16 and 2^32, while partial sums were added in 64 bits. So the low bits
// are taken out first; what is above them are carries and means nothing.
template <typename Lane>
void unmask_narrow(std::span<const MaskSum> masks, uint64_t first_lane, std::span<uint64_t> sum) {
  std::vector<Lane> narrow(sum.begin(), sum.end());
  for (const MaskSum& own : masks) own.apply(first_lane, std::span(narrow));
  std::copy(narrow.begin(), narrow.end(), sum.begin());
}

template <typename Lane>
Status verify_narrow(const secagg::SessionParameters& parameters, std::span<const secagg::SummedSession> sessions,
                     std::span<const uint64_t> checks) {
  const std::vector<Lane> narrow(checks.begin(), checks.end());
  return secagg::verify_check_lanes<Lane>(parameters, sessions, std::span(narrow));
}

}  // namespace

void unmask(const secagg::SessionParameters& parameters, std::span<const MaskSum> masks, uint64_t first_lane,
            std::span<uint64_t> sum) {
  switch (secagg::lane_bits(parameters)) {
    case 16: unmask_narrow<uint16_t>(masks, first_lane, sum); break;
    case 32: unmask_narrow<uint32_t>(masks, first_lane, sum); break;
    default:
      for (const MaskSum& own : masks) own.apply(first_lane, sum);
  }
  // A ring may be narrower than its lanes. The bits above it are carries of the addition.
  if (parameters.ring_bits == 64) return;
  for (uint64_t& lane : sum) lane &= (uint64_t{1} << parameters.ring_bits) - 1;
}

Status verify_checks(const secagg::SessionParameters& parameters, std::span<const secagg::SummedSession> sessions,
                     std::span<const uint64_t> checks) {
  switch (secagg::lane_bits(parameters)) {
    case 16: return verify_narrow<uint16_t>(parameters, sessions, checks);
    case 32: return verify_narrow<uint32_t>(parameters, sessions, checks);
    default: return secagg::verify_check_lanes<uint64_t>(parameters, sessions, checks);
  }
}

Status check_weight_sum(uint64_t weight_sum, uint64_t updates, uint64_t weight_max) {
  if (weight_sum >= 1 && weight_sum <= updates * weight_max) return {};
  return Error(ErrorCode::data_loss, "finalize: the updates' weights sum to " + std::to_string(weight_sum) +
                                         ", which no devices that follow the plan can have");
}

}  // namespace coterie
