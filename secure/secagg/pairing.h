// What two devices of a session have between them: the seed of the mask that one adds and the other subtracts, and the
// box in which one hands the other shares of its secrets.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/secret.h"
#include "secure/crypto/x25519.h"
#include "secure/mask/mask_sum.h"

namespace coterie::secagg {

// Keys derived from an agreement are HKDF-SHA256 with the session as salt: the session's name holds every key of it, so
// that none of these values is of use in another.

// The seed of the mask between `self` and `peer`, the same for both. low_order_point (fault.h) if the peer's key is
// one.
Result<Secret<32>> pair_mask_seed(const Digest& session, const X25519KeyPair& mask_key, const Key32& peer_key,
                                  uint32_t self, uint32_t peer);
// With which sign `self` applies it: the device with the higher number adds.
inline MaskSign pair_mask_sign(uint32_t self, uint32_t peer) { return peer < self ? MaskSign::plus : MaskSign::minus; }
inline MaskSign opposite(MaskSign sign) { return sign == MaskSign::plus ? MaskSign::minus : MaskSign::plus; }

// The seed of the device's own mask, from what it shared.
Secret<32> own_mask_seed(const Digest& session, const Secret<32>& own_seed);

// Shares of a device's two secrets for one holder.
struct SharePair {
  Secret<32> seed;      // a share of its own mask's seed
  Secret<32> mask_key;  // a share of its mask key
};

// What two devices' seal keys agree on: for the boxes of both directions. low_order_point if the peer's key is one.
Result<Secret<32>> agree_on_seal(const X25519KeyPair& seal_key, const Key32& peer_key, uint32_t peer);

// XChaCha20-Poly1305 with a key for this dealer, this holder and this session alone, so that the nonce can be zeros;
// the dealer's and the holder's number are vouched for by the key.
SealedBox seal_shares(const Digest& session, const Secret<32>& agreed, uint32_t dealer, uint32_t holder,
                      ByteView seed_share, ByteView mask_key_share);
// malformed if the box is not that dealer's for this holder in this session.
Result<SharePair> open_shares(const Digest& session, const Secret<32>& agreed, uint32_t dealer, uint32_t holder,
                              const SealedBox& box);

}  // namespace coterie::secagg
