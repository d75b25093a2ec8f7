#include "secure/crypto/sha256.h"

#include "base/assert.h"
#include "secure/crypto/sha256_lanes.h"
#include "secure/crypto/sha256_stream.h"

namespace coterie {

Digest sha256(ByteView message) { return sha256_stream({}, message); }

Digest sha256(uint8_t prefix, ByteView message) { return sha256_stream(ByteView(&prefix, 1), message); }

void sha256_many_reference(uint8_t prefix, ByteView messages, size_t message_bytes, std::span<Digest> out) {
  COT_ASSERT(messages.size() == out.size() * message_bytes);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = sha256(prefix, messages.subspan(i * message_bytes, message_bytes));
  }
}

void sha256_many(uint8_t prefix, ByteView messages, size_t message_bytes, std::span<Digest> out) {
  COT_ASSERT(messages.size() == out.size() * message_bytes);
  const size_t lanes = sha256_lane_count();
  size_t done = 0;
  if (lanes > 1 && message_bytes > 0 && message_bytes % 64 == 0) {
    for (; done + lanes <= out.size(); done += lanes) {
      sha256_lanes(lanes, prefix, messages.data() + done * message_bytes, message_bytes, &out[done]);
    }
  }
  sha256_many_reference(prefix, messages.subspan(done * message_bytes), message_bytes, out.subspan(done));
}

}  // namespace coterie
