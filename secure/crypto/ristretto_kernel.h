// RistrettoKernel: one way to multiply many elements of ristretto255 by one scalar. All give the same elements and
// refuse the same encodings. Private to secure/crypto, tests and benchmarks; ristretto_batch.h chooses.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "secure/crypto/ristretto.h"

namespace coterie {

struct RistrettoKernel {
  std::string_view name;  // "avx512-ifma", "libsodium"
  // products[i] = scalar elements[i]. How many are right from the first one on: all, or the place of the first whose
  // element is not valid or whose product is neutral; what lies from there on in `products` is not defined.
  size_t (*multiply)(const RistrettoScalar& scalar, std::span<const RistrettoElement> elements,
                     std::span<RistrettoElement> products);
  // The same of the elements that hashes stand for.
  size_t (*multiply_hashes)(const RistrettoScalar& scalar, std::span<const RistrettoHash> hashes,
                            std::span<RistrettoElement> products);
};

// Those that run on this CPU, the fastest first; the last is libsodium's, the oracle of the others.
std::span<const RistrettoKernel> ristretto_kernels();

// Whether the kernel computes what libsodium computes: elements, hashes, and each of RFC 9496's ways not to be an
// encoding; some 5 ms. An `internal` error names the kernel and what it gets wrong.
Status ristretto_self_test(const RistrettoKernel& kernel);

// The first that passes its self test; the last one if none before it does.
const RistrettoKernel& choose_ristretto_kernel(std::span<const RistrettoKernel> kernels);

// For tests and benchmarks: the whole process multiplies by this kernel, or by the chosen one again if it is null.
// Nobody else may be multiplying.
void force_ristretto_kernel(const RistrettoKernel* kernel);

#if defined(__x86_64__)
// Eight at a time, only where cpu_has_ifma(). Constant time: neither branches nor addresses depend on the scalar, on an
// element or on a hash, but for the place of the first element that is refused.
extern const RistrettoKernel kIfmaRistretto;
#endif

}  // namespace coterie
