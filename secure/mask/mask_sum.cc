#include "secure/mask/mask_sum.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/checked.h"

namespace coterie {
namespace {

// `op` of the stream's bytes [offset, offset + lanes.size()), which may begin and end within a block.
void run_bytes(const MaskStream& stream, LaneOp op, uint64_t offset, std::span<uint8_t> lanes) {
  const auto within_block = [&](size_t skipped, std::span<uint8_t> out) {
    std::array<uint8_t, kMaskBlockBytes> block;
    stream.run(LaneOp::store, static_cast<uint32_t>(offset / kMaskBlockBytes), block);
    combine(op, ByteView(block).subspan(skipped, out.size()), out);
    // The stack would keep a piece of the mask, which is as secret as its seed.
    wipe(block);
  };
  if (const size_t skipped = offset % kMaskBlockBytes; skipped != 0) {
    const size_t head = std::min(lanes.size(), kMaskBlockBytes - skipped);
    within_block(skipped, lanes.first(head));
    lanes = lanes.subspan(head);
    offset += head;
  }
  const size_t tail = lanes.size() % kMaskBlockBytes;
  if (const size_t whole = lanes.size() - tail; whole != 0) {
    stream.run(op, static_cast<uint32_t>(offset / kMaskBlockBytes), lanes.first(whole));
    offset += whole;
  }
  if (tail != 0) within_block(0, lanes.last(tail));
}

template <typename Lane>
std::span<uint8_t> bytes_of(uint64_t first_lane, std::span<Lane> lanes) {
  constexpr uint64_t kLanesMax = kKeyStreamBytesMax / sizeof(Lane);
  COT_ASSERT(first_lane <= kLanesMax && lanes.size() <= kLanesMax - first_lane);
  return {reinterpret_cast<uint8_t*>(lanes.data()), lanes.size_bytes()};
}

}  // namespace

Result<MaskSum> MaskSum::make(CipherSuite suite) {
  const std::span<const MaskKernel> kernels = mask_kernels(suite);
  if (kernels.empty()) {
    return Error(ErrorCode::invalid_argument, "masks: there is no suite " + std::to_string(static_cast<int>(suite)) +
                                                  "; known are 1 (AES-256-CTR) and 2 (ChaCha20)");
  }
  return MaskSum(kernels.front());
}

Status MaskSum::add(const Secret<32>& seed, MaskSign sign) {
  COT_ASSIGN(std::unique_ptr<MaskStream> stream, kernel_->open(seed));
  masks_.push_back({std::move(stream), sign});
  return {};
}

void MaskSum::take(MaskSum other) {
  COT_ASSERT(other.kernel_ == kernel_);
  masks_.insert(masks_.end(), std::make_move_iterator(other.masks_.begin()),
                std::make_move_iterator(other.masks_.end()));
}

void MaskSum::apply(uint64_t first_lane, std::span<uint16_t> lanes) const {
  apply_bytes(LaneOp::add16, LaneOp::subtract16, first_lane * sizeof lanes[0], bytes_of(first_lane, lanes));
}
void MaskSum::apply(uint64_t first_lane, std::span<uint32_t> lanes) const {
  apply_bytes(LaneOp::add32, LaneOp::subtract32, first_lane * sizeof lanes[0], bytes_of(first_lane, lanes));
}
void MaskSum::apply(uint64_t first_lane, std::span<uint64_t> lanes) const {
  apply_bytes(LaneOp::add64, LaneOp::subtract64, first_lane * sizeof lanes[0], bytes_of(first_lane, lanes));
}

// All masks are applied to a tile while it is in the first cache. A pass over the update for each mask would read it
// from memory as often as the device has neighbours.
void MaskSum::apply_bytes(LaneOp plus, LaneOp minus, uint64_t offset, std::span<uint8_t> lanes) const {
  while (!lanes.empty()) {
    // Tiles are those of the stream: their borders are pages of counters, which kernels take whole.
    const size_t size = std::min<uint64_t>(lanes.size(), kMaskTileBytes - offset % kMaskTileBytes);
    const std::span<uint8_t> tile = lanes.first(size);
    for (const Mask& mask : masks_) {
      run_bytes(*mask.stream, mask.sign == MaskSign::plus ? plus : minus, offset, tile);
    }
    lanes = lanes.subspan(size);
    offset += size;
  }
}

LaneRange part_of_lanes(size_t lane_count, size_t lane_bytes, size_t part, size_t parts) {
  COT_ASSERT(lane_bytes != 0 && kMaskTileBytes % lane_bytes == 0 && part < parts);
  const size_t tile = kMaskTileBytes / lane_bytes;
  const size_t tiles = lane_count / tile + (lane_count % tile != 0);
  // Without a product that could overflow: the first tiles % parts parts have one tile more.
  const auto begin = [&](size_t i) {
    return std::min(lane_count, (tiles / parts * i + std::min(i, tiles % parts)) * tile);
  };
  return {begin(part), begin(part + 1) - begin(part)};
}

}  // namespace coterie
