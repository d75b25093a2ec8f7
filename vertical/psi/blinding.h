// Blinding: what a party makes of an id that the other may see. H(id) is an element of ristretto255, the party's key
// multiplies it, and the order in which a bucket's elements are sent is secret.
//
// H(id) = from_hash(SHA-512("fl-psi-v1|" || salt || id)). Nobody knows H(id) as a multiple of anything. k H(id) tells
// nothing about the id to who does not have k: decisional Diffie-Hellman in ristretto255, SHA-512 as a random oracle.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "secure/crypto/ristretto.h"
#include "secure/crypto/ristretto_batch.h"
#include "secure/crypto/secret.h"

namespace coterie::vertical {

// `salt` has 32 bytes for every id of a job.
RistrettoHash psi_hash(ByteView salt, std::string_view id);
inline RistrettoElement psi_element(ByteView salt, std::string_view id) {
  return ristretto_from_hash(psi_hash(salt, id));
}

// The front of a doubly blinded element; what is compared. Only the first psi_tag_bytes() count, the rest is zero.
using PsiTag = std::array<uint8_t, 16>;
PsiTag psi_tag(const RistrettoElement& doubly_blinded, size_t bytes);

class Blinding {
 public:
  // `seed`: 32 uniform secret bytes that serve for one job.
  explicit Blinding(const Secret<32>& seed);

  Result<RistrettoElement> blind(const RistrettoElement& element) const { return ristretto_multiply(key_, element); }
  // The same of many elements, or of those of many hashes: how many are right from the first one on.
  size_t blind_each(std::span<const RistrettoElement> elements, std::span<RistrettoElement> products) const {
    return ristretto_multiply_each(key_, elements, products);
  }
  size_t blind_hashes(std::span<const RistrettoHash> hashes, std::span<RistrettoElement> products) const {
    return ristretto_multiply_hashes(key_, hashes, products);
  }

  // A uniform order of `count` things of this bucket, the same whenever it is asked for.
  std::vector<uint32_t> order(uint32_t bucket, uint32_t count) const;

 private:
  RistrettoScalar key_;
  Secret<32> order_key_;
};

}  // namespace coterie::vertical
