// Secrets and shares by seed, for the tests of this folder.
#pragma once

#include <functional>
#include <vector>

#include "base/random.h"
#include "secure/secret_sharing/shamir.h"

namespace coterie::test {

inline std::function<void(std::span<uint8_t>)> by_prng(Prng& prng) {
  return [&prng](std::span<uint8_t> bytes) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng.next());
  };
}

inline Secret<32> random_secret(Prng& prng) {
  Secret<32> secret;
  by_prng(prng)(secret.mutable_bytes());
  return secret;
}

// Shares of a secret that a test may change.
struct Dealt {
  Secret<32> secret;
  std::vector<uint8_t> xs;
  std::vector<Bytes> values;

  // `count` of all the shares that there can be, in any order.
  static Dealt make(Prng& prng, size_t threshold, size_t count) {
    Dealt dealt{random_secret(prng), {}, {}};
    const Shares shares = *split(dealt.secret, threshold, kSharesMax, by_prng(prng));
    std::vector<size_t> indices(kSharesMax);
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = i;
    prng.shuffle(indices);
    for (size_t k = 0; k < count; ++k) {
      const Share share = shares[indices[k]];
      dealt.xs.push_back(share.x);
      dealt.values.emplace_back(share.value.begin(), share.value.end());
    }
    return dealt;
  }

  std::vector<Share> shares() const {
    std::vector<Share> views;
    for (size_t i = 0; i < xs.size(); ++i) views.push_back({xs[i], values[i]});
    return views;
  }
};

}  // namespace coterie::test
