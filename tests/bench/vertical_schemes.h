// The additive ciphers that trees may be encrypted with, and what their operations are made of.
#pragma once

#include <memory>

#include "secure/crypto/secret.h"
#include "secure/he/additive_cipher.h"
#include "secure/he/lane_kernel.h"

namespace coterie::bench {

// What operations of a cipher are made of, a second: OpenSSL's own operations, or with a kernel the multiply-adds of
// its products.
struct CipherLimits {
  double encryptions = 0;
  double additions = 0;
  double decryptions = 0;
  double rerandomizations = 0;
};

struct CipherScheme {
  const char* name;  // with the key's bits: "Paillier-2048"
  // `kernel`: null for libcrypto's way.
  std::unique_ptr<AdditiveKey> (*key)(uint64_t seed, const he::LaneKernel* kernel);
  std::unique_ptr<AdditiveCipher> (*cipher)(ByteView public_key, Secret<32> seed, const he::LaneKernel* kernel);
  int ring_bits;                // of ciphertexts
  int prime_bits;               // of each prime p that a holder computes modulo the square of
  int primes;                   // how many
  double madds_of_digit_pairs;  // of a kernel's product modulo the ring, by the square of n's digits (lane_kernel.h)
};

extern const CipherScheme kPaillier, kOkamotoUchiyama;

// Each prints one JSON object.
CipherLimits measure_cipher(const CipherScheme& scheme, const he::LaneKernel* kernel);
struct TreeTable {
  uint32_t rows, label_columns, feature_columns;
};
void measure_tree(const CipherScheme& scheme, const CipherLimits& limits, const he::LaneKernel* kernel,
                  const TreeTable& size);

}  // namespace coterie::bench
