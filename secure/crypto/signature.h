// Signatures: Ed25519 (RFC 8032, libsodium) and ECDSA over P-256 with SHA-256 (FIPS 186-4, libcrypto; an SDK without
// OpenSSL verifies it by itself, and makes no such keys).
//
// Both, because phones keep keys in hardware that often knows P-256 only. Ed25519: public key 32 bytes, signature 64.
// P-256: public key 65 bytes (uncompressed point, X9.62), signature DER as secure elements produce it.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/checkin.h"

namespace coterie {

// Whether `signature` over `message` is valid under `public_key`. A malformed key or signature is simply not valid.
bool signature_is_valid(KeyAlgorithm algorithm, ByteView public_key, ByteView message, ByteView signature);

// ECDSA over P-256 with SHA-256, its signature as 32 bytes r and 32 bytes s (JWS, RFC 7518 section 3.4; IEEE P1363):
// any other length, DER among them, is not valid.
bool p256_raw_signature_is_valid(ByteView public_key, ByteView message, ByteView r_and_s);

// Whether the bytes are a public key of this algorithm (for P-256: a point on the curve).
bool public_key_is_valid(KeyAlgorithm algorithm, ByteView public_key);

// A private key that can sign. An app that keeps its key in hardware implements this itself.
class Signer {
 public:
  virtual ~Signer() = default;
  virtual KeyAlgorithm algorithm() const = 0;
  virtual const Bytes& public_key() const = 0;
  virtual Result<Bytes> sign(ByteView message) const = 0;
};

// Private keys in software. `secret` is the algorithm's stored form: Ed25519 the 32-byte seed; P-256 the 32-byte
// scalar.
Result<std::unique_ptr<Signer>> make_signer(KeyAlgorithm algorithm, ByteView secret);

// Whether this build makes keys of this algorithm; an error says what to do instead.
Status can_make_keys(KeyAlgorithm algorithm);

// The stored form of a fresh private key, of an algorithm that this build makes keys of.
Bytes generate_secret(KeyAlgorithm algorithm);

}  // namespace coterie
