#include "secure/crypto/sha256.h"

#include <openssl/evp.h>

#include "base/assert.h"
#include "base/cpu.h"
#include "secure/crypto/sha256_lanes.h"

namespace coterie {
namespace {

Digest hash(ByteView prefix, ByteView message) {
  // Fetching the algorithm costs more than hashing a short message: once a process.
  static EVP_MD* const md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local struct Context {
    EVP_MD_CTX* ctx = EVP_MD_CTX_new();
    ~Context() { EVP_MD_CTX_free(ctx); }
  } context;
  Digest digest;
  const bool ok = EVP_DigestInit_ex(context.ctx, md, nullptr) == 1 &&
                  EVP_DigestUpdate(context.ctx, prefix.data(), prefix.size()) == 1 &&
                  EVP_DigestUpdate(context.ctx, message.data(), message.size()) == 1 &&
                  EVP_DigestFinal_ex(context.ctx, digest.bytes.data(), nullptr) == 1;
  COT_ASSERT(ok);
  return digest;
}

}  // namespace

Digest sha256(ByteView message) { return hash({}, message); }

Digest sha256(uint8_t prefix, ByteView message) { return hash(ByteView(&prefix, 1), message); }

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
