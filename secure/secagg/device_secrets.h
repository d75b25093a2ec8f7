// DeviceSecrets: all that a device keeps to itself in one session, from 32 random bytes.
//
// Whoever saves those bytes and the messages that came can go on after an app was killed: the same session, the same
// keys, the same shares. They must serve one session only, and be wiped when it is over.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/secret.h"
#include "secure/crypto/stream_cipher.h"
#include "secure/crypto/x25519.h"

namespace coterie::secagg {

class DeviceSecrets {
 public:
  // HKDF-SHA256 of the seed, with what each secret is for and the session's context as information.
  static Result<DeviceSecrets> derive(Secret<32> seed, const Digest& context);

  const X25519KeyPair& mask_key() const { return mask_key_; }
  const X25519KeyPair& seal_key() const { return seal_key_; }
  const Secret<32>& own_seed() const { return own_seed_; }  // of the device's own mask
  const Key32& nonce() const { return nonce_; }

  // Fills `out` from the stream of that purpose; the same bytes each time.
  Status random(std::string_view purpose, std::span<uint8_t> out) const;
  // That stream itself.
  Result<KeyStream> key_stream(std::string_view purpose) const;
  // `count` different devices below `size` other than `self`, ascending, uniform. count < size.
  Result<std::vector<uint32_t>> draw_holders(uint32_t count, uint32_t size, uint32_t self) const;

 private:
  DeviceSecrets(Secret<32> seed, const Digest& context);
  Secret<32> secret_for(std::string_view purpose) const;

  Secret<32> seed_;
  Digest context_;
  X25519KeyPair mask_key_, seal_key_;
  Secret<32> own_seed_;
  Key32 nonce_{};
};

}  // namespace coterie::secagg
