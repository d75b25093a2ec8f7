#include "device_sdk/agent/late_update.h"

#include <cstring>
#include <vector>

#include "device_sdk/agent/encode_update.h"
#include "proto/codec/codec.h"

namespace coterie {

Result<Bytes> late_update(ByteView frame, const RoundKey& round, float weight) {
  const Result<Decoded<UpdateHeader>> update = decode_update(frame);
  if (!update) return Error(ErrorCode::data_loss, update.error().message());
  UpdateHeader header = update->header;
  if (header.encoding != UpdateEncoding::float32 || update->payload.size() != header.value_count * sizeof(float)) {
    return Error(ErrorCode::data_loss, "update: a later round can take float32 values alone");
  }
  header.round = round;
  std::vector<float> values(header.value_count);
  std::memcpy(values.data(), update->payload.data(), update->payload.size());
  weigh_late(values, weight);
  return encode_update(header, values);
}

}  // namespace coterie
