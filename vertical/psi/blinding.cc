#include "vertical/psi/blinding.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/stream_cipher.h"

namespace coterie::vertical {
namespace {

// Numbers below a bound from a key stream.
class SecretNumbers {
 public:
  explicit SecretNumbers(KeyStream stream) : stream_(std::move(stream)) {}

  // Uniform: what would favour small numbers is drawn again.
  uint32_t below(uint32_t bound) {
    const uint64_t fair = (uint64_t{1} << 32) / bound * bound;
    for (;;) {
      const uint64_t value = next();
      if (value < fair) return static_cast<uint32_t>(value % bound);
    }
  }

 private:
  uint32_t next() {
    if (at_ == block_.size()) {
      stream_.write(offset_, block_);
      offset_ += block_.size();
      at_ = 0;
    }
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | block_[at_++];
    return value;
  }

  KeyStream stream_;
  std::array<uint8_t, 4096> block_{};
  size_t at_ = 4096;
  uint64_t offset_ = 0;
};

}  // namespace

RistrettoHash psi_hash(ByteView salt, std::string_view id) {
  return ristretto_message_hash({as_bytes("fl-psi-v1|"), salt, as_bytes(id)});
}

PsiTag psi_tag(const RistrettoElement& doubly_blinded, size_t bytes) {
  PsiTag tag{};
  COT_ASSERT(bytes <= tag.size());
  std::copy_n(doubly_blinded.bytes.begin(), bytes, tag.begin());
  return tag;
}

Blinding::Blinding(const Secret<32>& seed) {
  Secret<64> wide;
  hkdf_expand(seed, as_bytes("coterie/v1/psi-key"), wide.mutable_bytes());
  key_ = ristretto_scalar_from_hash(wide.reveal());
  hkdf_expand(seed, as_bytes("coterie/v1/psi-order"), order_key_.mutable_bytes());
}

std::vector<uint32_t> Blinding::order(uint32_t bucket, uint32_t count) const {
  // An order of its own for each bucket: places that match in one bucket must not tell about places in another.
  DomainFields info("coterie/v1/psi-order-of-bucket");
  info.add(bucket);
  Secret<32> key;
  hkdf_expand(order_key_, info.view(), key.mutable_bytes());
  Result<KeyStream> stream = KeyStream::make(CipherSuite::chacha20, key);
  COT_ASSERT(stream.has_value());  // libcrypto of this build has ChaCha20: TLS needs it
  SecretNumbers numbers(std::move(*stream));
  std::vector<uint32_t> places(count);
  std::iota(places.begin(), places.end(), 0u);
  // Fisher and Yates: every order is as likely as any other.
  for (uint32_t i = count; i > 1; --i) std::swap(places[i - 1], places[numbers.below(i)]);
  return places;
}

}  // namespace coterie::vertical
