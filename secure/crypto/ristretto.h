// ristretto255 (RFC 9496): a group of prime order, for blinding what two parties compare.
#pragma once

#include <array>
#include <initializer_list>

#include "base/bytes.h"
#include "base/result.h"
#include "secure/crypto/secret.h"

namespace coterie {

struct RistrettoElement {
  std::array<uint8_t, 32> bytes{};  // zeros: the neutral element

  ByteView view() const { return bytes; }
  friend auto operator<=>(const RistrettoElement&, const RistrettoElement&) = default;
};

// A number below the group's order, little-endian.
using RistrettoScalar = Secret<32>;

// 64 uniform bytes that stand for an element.
using RistrettoHash = std::array<uint8_t, 64>;

// Whether the bytes encode an element (each has one encoding, RFC 9496 section 4.3.1). The neutral one is an element
// too.
bool ristretto_is_valid(const RistrettoElement& element);

// The element that a hash of 64 bytes stands for (RFC 9496 section 4.3.4).
RistrettoElement ristretto_from_hash(std::span<const uint8_t, 64> hash);

// SHA-512 over `parts`, one behind the other, and the element that it stands for. Whoever calls keeps different lists
// of parts different.
RistrettoHash ristretto_message_hash(std::initializer_list<ByteView> parts);
RistrettoElement ristretto_of_message(std::initializer_list<ByteView> parts);

// Uniform, and not zero.
RistrettoScalar ristretto_random_scalar();
// The number that 64 bytes are, little-endian, modulo the group's order: uniform if they are.
RistrettoScalar ristretto_scalar_from_hash(std::span<const uint8_t, 64> hash);

// scalar * element. An error if that is the neutral element or `element` is not valid. Time depends on neither.
Result<RistrettoElement> ristretto_multiply(const RistrettoScalar& scalar, const RistrettoElement& element);
// scalar * the group's generator.
Result<RistrettoElement> ristretto_multiply_base(const RistrettoScalar& scalar);

}  // namespace coterie
