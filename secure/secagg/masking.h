// Masking: what turns a device's update into what it sends.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "proto/messages/secagg.h"
#include "secure/mask/mask_sum.h"
#include "secure/secagg/session.h"

namespace coterie::secagg {

class Masking {
 public:
  Masking(const SessionParameters& parameters, MaskSum masks, MaskedInput head)
      : parameters_(parameters), masks_(std::move(masks)), head_(std::move(head)) {}

  // masked_lane_count lanes of lane_bits: the encoded update, which is masked in place, and room for the check lanes
  // behind it. Part `part` of `parts`, for one thread; const and thread-safe on parts of their own. After all parts,
  // once, the lanes may travel; an update masked twice, or two updates masked by one Masking, are as good as sent in
  // the clear.
  template <typename Lane>
  void apply(std::span<Lane> lanes, size_t part = 0, size_t parts = 1) const;

  // The header of the message, but for the digest of the lanes.
  const MaskedInput& head() const { return head_; }

 private:
  SessionParameters parameters_;
  MaskSum masks_;
  MaskedInput head_;
};

// lane_range (fault.h) if a lane of a masked update has bits from ring_bits on set: nobody who masked it made it.
template <typename Lane>
Status check_range(const SessionParameters& parameters, std::span<const Lane> lanes);

}  // namespace coterie::secagg
