#include "device_sdk/runtime/arena.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/checked.h"
#include "base/os/block.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/memory_plan.h"

namespace coterie {
namespace {

uint64_t saturating_add_rounded(uint64_t sum, uint64_t bytes) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  if (bytes > kMax - kBufferAlignment) return kMax;
  return checked_add(sum, round_up(bytes, kBufferAlignment)).value_or(kMax);
}

}  // namespace

uint64_t ArenaLayout::bytes() const {
  uint64_t sum = 0;
  for (const uint64_t bytes : region_bytes) sum = saturating_add_rounded(sum, bytes);
  return saturating_add_rounded(sum, planned_bytes);
}

bool ArenaLayout::contains(const ArenaLayout& other) const {
  for (size_t i = 0; i < kRegions; ++i) {
    if (region_bytes[i] < other.region_bytes[i]) return false;
  }
  return planned_bytes >= other.planned_bytes;
}

void ArenaLayout::join(const ArenaLayout& other) {
  for (size_t i = 0; i < kRegions; ++i) region_bytes[i] = std::max(region_bytes[i], other.region_bytes[i]);
  planned_bytes = std::max(planned_bytes, other.planned_bytes);
}

void Arena::Deleter::operator()(uint8_t* block) const { os::free_block(block); }

Result<Arena> Arena::create(const ArenaLayout& layout, uint64_t bytes_max) {
  const uint64_t bytes = layout.bytes();
  if (bytes > bytes_max) {
    return Error(ErrorCode::too_large,
                 concat({"the model needs ", bytes, " bytes, at most ", bytes_max, " bytes are allowed"}));
  }
  Arena arena;
  arena.layout_ = layout;
  uint64_t offset = 0;
  for (size_t i = 0; i < kRegions; ++i) {
    arena.offsets_[i] = offset;
    offset += round_up(layout.region_bytes[i], kBufferAlignment);
  }
  arena.planned_offset_ = offset;
  arena.block_.reset(os::allocate_block(bytes, kBufferAlignment));
  if (arena.block_ == nullptr) {
    return Error(ErrorCode::too_large, concat({"the model needs ", bytes, " bytes and the system has not as many"}));
  }
  std::memset(arena.block_.get(), 0, bytes);
  return arena;
}

std::span<float> Arena::region(Region region) const {
  const size_t i = static_cast<size_t>(region);
  return {reinterpret_cast<float*>(block_.get() + offsets_[i]), layout_.region_bytes[i] / sizeof(float)};
}

}  // namespace coterie
