#include "proto/delta/apply_delta.h"

#include <algorithm>

#include "proto/codec/codec.h"
#include "proto/delta/model_delta.h"

namespace coterie {
namespace {

Error bad(const char* what) { return Error(ErrorCode::malformed, std::string("delta: ") + what); }

}  // namespace

Result<MovedModel> apply_delta(Bytes base, const Digest& base_digest, ByteView delta, uint32_t bits) {
  COT_ASSIGN(const auto change, decode_model_delta(delta));
  if (change.header.base != base_digest) return bad("is of another model");
  if (change.header.bits != bits) return bad("has another number of bits than the plan");
  COT_ASSIGN(const auto model, decode_model(base));
  COT_ASSIGN(const std::optional<uint64_t> seal, seal_place(base));
  const size_t payload_place = base.size() - model.payload.size();
  if (seal) std::fill_n(base.begin() + static_cast<std::ptrdiff_t>(*seal), sizeof(Digest), uint8_t{0});
  // A frame's payload begins at a multiple of 64 bytes of a buffer from the heap.
  const std::span<float> values(reinterpret_cast<float*>(base.data() + payload_place),
                                model.payload.size() / sizeof(float));
  ByteView rest = change.payload;
  for (const DeltaRange& range : delta_ranges(model.header)) {
    const std::span<float> tensor = values.subspan(range.values.first, range.values.count);
    if (range.is_exact) {
      COT_TRY(take_exact(rest, tensor));
      continue;
    }
    for (size_t at = 0; at < tensor.size(); at += kDeltaBlockValues) {
      COT_TRY(move_block(rest, bits, tensor.subspan(at, std::min(kDeltaBlockValues, tensor.size() - at))));
    }
  }
  if (!rest.empty()) return bad("has bytes behind the model's last value");
  return MovedModel{std::move(base), change.header.result};
}

}  // namespace coterie
