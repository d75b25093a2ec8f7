#include "secure/mask/lane_op.h"

#include <cstring>

#include "base/assert.h"

namespace coterie {
namespace {

template <typename Lane, bool kAdd>
void combine_lanes(ByteView stream, std::span<uint8_t> lanes) {
  COT_ASSERT(lanes.size() % sizeof(Lane) == 0);
  const size_t count = lanes.size() / sizeof(Lane);
  const uint8_t* const from = stream.data();
  uint8_t* const to = lanes.data();
  for (size_t i = 0; i < count; ++i) {
    Lane lane, mask;
    // The builtin, because std::memcpy checks sizes in a hardened build, and a loop with checks does not become
    // vectors.
    __builtin_memcpy(&lane, to + i * sizeof lane, sizeof lane);
    __builtin_memcpy(&mask, from + i * sizeof mask, sizeof mask);
    lane = static_cast<Lane>(kAdd ? lane + mask : lane - mask);
    __builtin_memcpy(to + i * sizeof lane, &lane, sizeof lane);
  }
}

}  // namespace

void combine(LaneOp op, ByteView stream, std::span<uint8_t> lanes) {
  COT_ASSERT(stream.size() == lanes.size());
  switch (op) {
    case LaneOp::store:
      if (!lanes.empty()) std::memcpy(lanes.data(), stream.data(), lanes.size());
      return;
    case LaneOp::add16: return combine_lanes<uint16_t, true>(stream, lanes);
    case LaneOp::add32: return combine_lanes<uint32_t, true>(stream, lanes);
    case LaneOp::add64: return combine_lanes<uint64_t, true>(stream, lanes);
    case LaneOp::subtract16: return combine_lanes<uint16_t, false>(stream, lanes);
    case LaneOp::subtract32: return combine_lanes<uint32_t, false>(stream, lanes);
    case LaneOp::subtract64: return combine_lanes<uint64_t, false>(stream, lanes);
  }
}

}  // namespace coterie
