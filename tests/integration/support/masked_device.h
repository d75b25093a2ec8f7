// MaskedDevice: a device's part of a round with secure aggregation, without a trainer: real messages over real TLS, as
// far as the test wants.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "tests/integration/support/raw_device.h"

namespace coterie::integration {

// What a device does last.
enum class Stop : uint8_t { at_once, behind_advert, behind_shares, behind_update, never };

// The secrets of a device that must never lie at the server before the sum does.
struct Traces {
  std::vector<Bytes> patterns;
};

struct MaskedPart {
  std::span<const float> values;
  uint32_t weight = 1;  // at most the plan's
  Stop stop = Stop::never;
  bool asks_apart = false;              // questions in requests of their own
  Traces* traces = nullptr;             // to be filled
  std::function<void()> accepted = {};  // called when the update has its receipt: its session goes on behind it
};

// One device's part; an error if the server would not have it any further.
Status take_masked_part(RawDevice& device, const Assignment& assignment, const MaskedPart& part);

}  // namespace coterie::integration
