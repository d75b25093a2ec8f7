#include "proto/delta/model_delta.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "proto/codec/update/bit_packing.h"

namespace coterie {
namespace {

int32_t level_max(uint32_t bits) { return (1 << (bits - 1)) - 1; }

Error bad(const char* what) { return Error(ErrorCode::malformed, std::string("delta: ") + what); }

Result<ByteView> take_front(ByteView& payload, size_t bytes) {
  if (payload.size() < bytes) return bad("ends before the model's last value");
  const ByteView front = payload.first(bytes);
  payload = payload.subspan(bytes);
  return front;
}

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

std::vector<DeltaRange> delta_ranges(const ModelGraph& graph) {
  std::vector<DeltaRange> ranges;
  for (const TensorInfo& tensor : graph.tensors) {
    if (tensor.role != TensorRole::parameter && tensor.role != TensorRole::state) continue;
    const Result<uint64_t> count = element_count(tensor.shape);
    COT_ASSERT(count.has_value());
    ranges.push_back({{tensor.payload_offset / sizeof(float), *count}, tensor.role == TensorRole::state});
  }
  std::ranges::sort(ranges, {}, [](const DeltaRange& range) { return range.values.first; });
  return ranges;
}

uint64_t payload_bytes_max(std::span<const DeltaRange> ranges, uint32_t bits) {
  uint64_t bytes = 0;
  for (const DeltaRange& range : ranges) {
    const uint64_t count = range.values.count;
    const uint64_t tail = count % kDeltaBlockValues;
    const auto block = [&](uint64_t values) { return sizeof(float) + packed_bytes(values, bits).value(); };
    if (range.is_exact) bytes += count * sizeof(float);
    else bytes += count / kDeltaBlockValues * block(kDeltaBlockValues) + (tail > 0 ? block(tail) : 0);
  }
  return bytes;
}

void append_block(std::span<const float> base, std::span<const float> next, uint32_t bits, Bytes& payload) {
  COT_ASSERT(base.size() == next.size() && base.size() <= kDeltaBlockValues);
  COT_ASSERT(bits >= kDeltaBitsMin && bits <= kDeltaBitsMax);
  const int32_t most = level_max(bits);
  double largest = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(next[i]) - static_cast<double>(base[i])));
  }
  // Below float32's smallest it is 0, and nothing moves.
  const auto scale = static_cast<float>(std::min<double>(largest / most, std::numeric_limits<float>::max()));
  const auto* const scale_bytes = reinterpret_cast<const uint8_t*>(&scale);
  payload.insert(payload.end(), scale_bytes, scale_bytes + sizeof scale);
  if (scale == 0) return;
  std::array<uint16_t, kDeltaBlockValues> levels;
  for (size_t i = 0; i < base.size(); ++i) {
    const double steps = (static_cast<double>(next[i]) - static_cast<double>(base[i])) / static_cast<double>(scale);
    const auto level = static_cast<int32_t>(std::lround(std::clamp<double>(steps, -most, most)));
    levels[i] = static_cast<uint16_t>(level + most);
  }
  const size_t place = payload.size();
  payload.resize(place + packed_bytes(base.size(), bits).value());
  pack_bits(std::span<const uint16_t>(levels).first(base.size()), bits, std::span(payload).subspan(place));
}

Status move_block(ByteView& payload, uint32_t bits, std::span<float> values) {
  COT_ASSERT(values.size() <= kDeltaBlockValues && bits >= kDeltaBitsMin && bits <= kDeltaBitsMax);
  float scale = 0;
  COT_ASSIGN(const ByteView scale_bytes, take_front(payload, sizeof scale));
  std::memcpy(&scale, scale_bytes.data(), sizeof scale);
  if (!std::isfinite(scale) || std::signbit(scale)) return bad("has a scale that is no finite number of at least 0");
  if (scale == 0) return {};
  COT_ASSIGN(const ByteView packed, take_front(payload, packed_bytes(values.size(), bits).value()));
  std::array<uint16_t, kDeltaBlockValues> levels;
  COT_TRY(unpack_bits(packed, bits, std::span(levels).first(values.size())));
  const int32_t most = level_max(bits);
  for (size_t i = 0; i < values.size(); ++i) {
    if (levels[i] > 2 * most) return bad("has a level beyond the grid");
    const double step = static_cast<double>(scale) * (static_cast<int32_t>(levels[i]) - most);
    values[i] = static_cast<float>(static_cast<double>(values[i]) + step);
  }
  return all_finite(values) ? Status() : bad("leads to values that are not finite");
}

Status take_exact(ByteView& payload, std::span<float> values) {
  COT_ASSIGN(const ByteView bytes, take_front(payload, values.size_bytes()));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return all_finite(values) ? Status() : bad("has values that are not finite");
}

Status append_moved(const DeltaRange& range, std::span<const float> next, uint32_t bits, std::span<float> base,
                    Bytes& payload) {
  COT_ASSERT(base.size() == next.size());
  if (range.is_exact) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(next.data());
    payload.insert(payload.end(), bytes, bytes + next.size_bytes());
    std::ranges::copy(next, base.begin());
    return all_finite(next) ? Status() : bad("has values that are not finite");
  }
  for (size_t at = 0; at < base.size(); at += kDeltaBlockValues) {
    const size_t count = std::min(kDeltaBlockValues, base.size() - at);
    const size_t begin = payload.size();
    append_block(base.subspan(at, count), next.subspan(at, count), bits, payload);
    ByteView block = ByteView(payload).subspan(begin);
    COT_TRY(move_block(block, bits, base.subspan(at, count)));
  }
  return {};
}

}  // namespace coterie
