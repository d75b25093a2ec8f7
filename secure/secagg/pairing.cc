#include "secure/secagg/pairing.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/xchacha20_poly1305.h"
#include "secure/secagg/fault.h"

namespace coterie::secagg {
namespace {

// A box key seals one message, that of one dealer to one holder in one session. So its nonce may be fixed.
constexpr std::array<uint8_t, kCipherNonceBytes> kZeroNonce{};

Result<Secret<32>> agree(const X25519KeyPair& own, const Key32& peer_key, uint32_t peer) {
  Result<Secret<32>> secret = own.agree(X25519PublicKey{peer_key});
  if (!secret)
    return fault(Fault::low_order_point, "the key of device " + std::to_string(peer) + " agrees on no secret");
  return secret;
}

Secret<32> box_key(const Digest& session, const Secret<32>& agreed, uint32_t dealer, uint32_t holder) {
  DomainFields info("coterie/v1/share-box");
  // The agreed secret is the same in both directions. The order of the two makes a key for each.
  info.add(dealer).add(holder);
  return hkdf<32>(session.view(), agreed.reveal(), info.view());
}

}  // namespace

Result<Secret<32>> pair_mask_seed(const Digest& session, const X25519KeyPair& mask_key, const Key32& peer_key,
                                  uint32_t self, uint32_t peer) {
  COT_ASSIGN(const Secret<32> agreed, agree(mask_key, peer_key, peer));
  DomainFields info("coterie/v1/pair-mask");
  // In one order at both ends: they must come to the same seed, which one adds and the other subtracts.
  info.add(std::min(self, peer)).add(std::max(self, peer));
  return hkdf<32>(session.view(), agreed.reveal(), info.view());
}

Secret<32> own_mask_seed(const Digest& session, const Secret<32>& own_seed) {
  DomainFields info("coterie/v1/own-mask");
  info.add(session.view());
  Secret<32> seed;
  hkdf_expand(own_seed, info.view(), seed.mutable_bytes());
  return seed;
}

Result<Secret<32>> agree_on_seal(const X25519KeyPair& seal_key, const Key32& peer_key, uint32_t peer) {
  return agree(seal_key, peer_key, peer);
}

SealedBox seal_shares(const Digest& session, const Secret<32>& agreed, uint32_t dealer, uint32_t holder,
                      ByteView seed_share, ByteView mask_key_share) {
  COT_ASSERT(seed_share.size() == 32 && mask_key_share.size() == 32);
  Secret<64> text;
  std::ranges::copy(seed_share, text.mutable_bytes().begin());
  std::ranges::copy(mask_key_share, text.mutable_bytes().begin() + 32);
  SealedBox box;
  seal_xchacha20_poly1305(box_key(session, agreed, dealer, holder), kZeroNonce, session.view(), text.reveal(), box);
  return box;
}

Result<SharePair> open_shares(const Digest& session, const Secret<32>& agreed, uint32_t dealer, uint32_t holder,
                              const SealedBox& box) {
  Secret<64> text;
  COT_TRY(open_xchacha20_poly1305(box_key(session, agreed, dealer, holder), kZeroNonce, session.view(), box,
                                  text.mutable_bytes()));
  SharePair shares;
  std::ranges::copy(text.reveal().first(32), shares.seed.mutable_bytes().begin());
  std::ranges::copy(text.reveal().last(32), shares.mask_key.mutable_bytes().begin());
  return shares;
}

}  // namespace coterie::secagg
