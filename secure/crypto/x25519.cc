#include "secure/crypto/x25519.h"

#include <sodium.h>

#include <algorithm>

#include "base/assert.h"
#include "secure/crypto/random.h"
#include "secure/crypto/sodium.h"

namespace coterie {
namespace {

using Coordinate = std::array<uint8_t, 32>;  // little-endian

// p = 2^255 - 19 is ed ff .. ff 7f. Keys are public: comparisons may take their time.
bool is_below_p(const Coordinate& u) {
  Coordinate p;
  p.fill(0xff);
  p.front() = 0xed;
  p.back() = 0x7f;
  return std::lexicographical_compare(u.rbegin(), u.rend(), p.rbegin(), p.rend());
}

// The u of all points of order 1, 2, 4 and 8 on the curve and its twist, in their canonical encoding: 0, 1, -1 and two
// of order 8 (https://cr.yp.to/ecdh.html#validate).
constexpr Coordinate kSmallOrder[] = {
    {},
    {1},
    {0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
    {0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
     0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00},
    {0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
     0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57},
};

Secret<32> random_secret() {
  Secret<32> secret;
  fill_random(secret.mutable_bytes());
  return secret;
}

}  // namespace

bool x25519_public_key_is_valid(const X25519PublicKey& key) {
  return is_below_p(key.bytes) && std::ranges::find(kSmallOrder, key.bytes) == std::end(kSmallOrder);
}

X25519KeyPair X25519KeyPair::generate() { return X25519KeyPair(random_secret()); }

X25519KeyPair::X25519KeyPair(Secret<32> secret) : secret_(std::move(secret)) {
  ensure_sodium();
  const int failed = crypto_scalarmult_curve25519_base(public_key_.bytes.data(), secret_.reveal().data());
  COT_ASSERT(failed == 0);  // the base point is not of small order
}

Result<Secret<32>> X25519KeyPair::agree(const X25519PublicKey& peer) const {
  ensure_sodium();
  Secret<32> shared;
  // libsodium answers so where the shared secret is all zeros.
  if (crypto_scalarmult_curve25519(shared.mutable_bytes().data(), secret_.reveal().data(), peer.bytes.data()) != 0) {
    return Error(ErrorCode::malformed,
                 "the peer's X25519 key is a point of small order, with which nothing agreed is secret");
  }
  return shared;
}

}  // namespace coterie
