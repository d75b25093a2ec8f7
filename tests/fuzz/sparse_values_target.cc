// Any bytes as an update of the largest values, of a shape that the first of them choose: an error, or values that are
// packed to the same bytes again.
#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "proto/codec/update/sparse_values.h"
#include "proto/messages/top_k.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  if (size < 5) return 0;
  constexpr uint32_t kBits[] = {2, 3, 8, 16, kTopKFloatBits};
  SparseShape shape;
  shape.value_count = 1u + data[0] + 256u * data[1];
  shape.sent_count = 1 + (data[2] + 256u * data[3]) % shape.value_count;
  shape.bits = kBits[data[4] % std::size(kBits)];
  Bytes payload(data + 5, data + size);
  std::vector<float> values(shape.value_count);
  const uint64_t bytes = sparse_bytes(shape).value();
  if (payload.size() != bytes) COT_ASSERT(!unpack_sparse(payload, shape, 1, values));
  payload.resize(bytes);
  const Status unpacked = unpack_sparse(payload, shape, 1, values);
  if (!unpacked) {
    COT_ASSERT(unpacked.error().code() == ErrorCode::malformed);
    return 0;
  }
  std::vector<uint32_t> indices;
  std::vector<uint16_t> levels;
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    indices.push_back(i);
    if (shape.bits == kTopKFloatBits) continue;
    levels.push_back(static_cast<uint16_t>(static_cast<int32_t>(values[i]) + level_reach(shape.bits)));
  }
  COT_ASSERT(indices.size() <= shape.sent_count);
  if (indices.size() < shape.sent_count) return 0;  // zeros that were sent look like those that were not
  Bytes again(bytes);
  pack_sparse(shape, indices, values, levels, again);
  COT_ASSERT(again == payload);
  return 0;
}
