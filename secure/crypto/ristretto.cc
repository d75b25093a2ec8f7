#include "secure/crypto/ristretto.h"

#include <sodium.h>

#include "secure/crypto/ristretto_encoding.h"
#include "secure/crypto/sodium.h"

namespace coterie {

static_assert(sizeof(RistrettoElement) == crypto_core_ristretto255_BYTES);
static_assert(RistrettoScalar::kSize == crypto_core_ristretto255_SCALARBYTES);

bool ristretto_is_valid(const RistrettoElement& element) {
  ensure_sodium();
  return is_canonical_ristretto(element) && crypto_core_ristretto255_is_valid_point(element.bytes.data()) == 1;
}

RistrettoElement ristretto_from_hash(std::span<const uint8_t, 64> hash) {
  ensure_sodium();
  RistrettoElement element;
  crypto_core_ristretto255_from_hash(element.bytes.data(), hash.data());
  return element;
}

RistrettoHash ristretto_message_hash(std::initializer_list<ByteView> parts) {
  ensure_sodium();
  crypto_hash_sha512_state state;
  crypto_hash_sha512_init(&state);
  for (const ByteView part : parts) crypto_hash_sha512_update(&state, part.data(), part.size());
  RistrettoHash hash;
  static_assert(std::tuple_size_v<RistrettoHash> == crypto_hash_sha512_BYTES);
  crypto_hash_sha512_final(&state, hash.data());
  return hash;
}

RistrettoElement ristretto_of_message(std::initializer_list<ByteView> parts) {
  return ristretto_from_hash(ristretto_message_hash(parts));
}

RistrettoScalar ristretto_random_scalar() {
  ensure_sodium();
  RistrettoScalar scalar;
  crypto_core_ristretto255_scalar_random(scalar.mutable_bytes().data());
  return scalar;
}

RistrettoScalar ristretto_scalar_from_hash(std::span<const uint8_t, 64> hash) {
  ensure_sodium();
  RistrettoScalar scalar;
  crypto_core_ristretto255_scalar_reduce(scalar.mutable_bytes().data(), hash.data());
  return scalar;
}

Result<RistrettoElement> ristretto_multiply(const RistrettoScalar& scalar, const RistrettoElement& element) {
  ensure_sodium();
  RistrettoElement product;
  if (!is_canonical_ristretto(element) ||
      crypto_scalarmult_ristretto255(product.bytes.data(), scalar.reveal().data(), element.bytes.data()) != 0) {
    return Error(ErrorCode::malformed, "not an element of ristretto255, or its product is the neutral one");
  }
  return product;
}

Result<RistrettoElement> ristretto_multiply_base(const RistrettoScalar& scalar) {
  ensure_sodium();
  RistrettoElement product;
  if (crypto_scalarmult_ristretto255_base(product.bytes.data(), scalar.reveal().data()) != 0) {
    return Error(ErrorCode::invalid_argument, "a ristretto255 scalar must not be zero");
  }
  return product;
}

}  // namespace coterie
