// Many elements of ristretto255 times one scalar: eight at a time where the CPU has 52-bit multiply-adds (AVX-512
// IFMA), one after the other by libsodium elsewhere, to the same bytes. Constant time in the scalar, the elements and
// the hashes, but for the place of the first element that is refused.
#pragma once

#include <cstddef>
#include <span>

#include "secure/crypto/ristretto.h"

namespace coterie {

// products[i] = scalar elements[i]. How many are right from the first one on: all, or the place of the first whose
// element is not valid or whose product is neutral (ristretto_multiply of it says so); what lies from there on in
// `products` is not defined.
size_t ristretto_multiply_each(const RistrettoScalar& scalar, std::span<const RistrettoElement> elements,
                               std::span<RistrettoElement> products);

// The same of the elements that hashes stand for (ristretto_from_hash), which is faster than to ask for these first.
size_t ristretto_multiply_hashes(const RistrettoScalar& scalar, std::span<const RistrettoHash> hashes,
                                 std::span<RistrettoElement> products);

}  // namespace coterie
