#include "secure/crypto/hkdf.h"

#include <sodium.h>

#include <algorithm>

#include "base/assert.h"
#include "secure/crypto/sodium.h"

namespace coterie {
namespace {

constexpr size_t kBlockBytes = crypto_auth_hmacsha256_BYTES;

// Its state holds what is as good as the key.
class Hmac {
 public:
  explicit Hmac(ByteView key) {
    static constexpr uint8_t kNothing = 0;  // libsodium wants a buffer even for nothing
    crypto_auth_hmacsha256_init(&state_, key.empty() ? &kNothing : key.data(), key.size());
  }
  ~Hmac() { sodium_memzero(&state_, sizeof state_); }
  Hmac(const Hmac&) = delete;
  Hmac& operator=(const Hmac&) = delete;

  Hmac& update(ByteView bytes) {
    crypto_auth_hmacsha256_update(&state_, bytes.data(), bytes.size());
    return *this;
  }
  void finish(std::span<uint8_t, kBlockBytes> tag) { crypto_auth_hmacsha256_final(&state_, tag.data()); }

 private:
  crypto_auth_hmacsha256_state state_;
};

}  // namespace

Secret<32> hkdf_extract(ByteView salt, ByteView input_key) {
  ensure_sodium();
  Secret<32> key;
  Hmac(salt).update(input_key).finish(key.mutable_bytes());
  return key;
}

void hkdf_expand(const Secret<32>& key, ByteView info, std::span<uint8_t> out) {
  ensure_sodium();
  COT_ASSERT(out.size() <= kHkdfBytesMax);
  Secret<kBlockBytes> block;
  size_t block_size = 0;  // the first block follows on nothing
  for (uint8_t number = 1; !out.empty(); ++number) {
    Hmac hmac(key.reveal());
    // T(i) = HMAC(key, T(i - 1) | info | i), as in RFC 5869, section 2.3.
    hmac.update(block.reveal().first(block_size)).update(info).update(std::span(&number, 1));
    hmac.finish(block.mutable_bytes());
    block_size = kBlockBytes;
    const std::span<uint8_t> piece = out.first(std::min(out.size(), kBlockBytes));
    std::ranges::copy(block.reveal().first(piece.size()), piece.begin());
    out = out.subspan(piece.size());
  }
}

}  // namespace coterie
