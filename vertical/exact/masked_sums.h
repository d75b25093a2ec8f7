// Masked sums: several signed sums in one plaintext, each hidden by a random number.
//
// A slot has 152 bits. It holds sum + 2^80 + mask, where -2^80 <= sum < 2^80 and the mask is uniform below 2^150:
// whoever decrypts it sees a number that is within 2^-69 of a uniform one, whatever the sum is. Slots are never
// negative and never carry. Slot k of a plaintext is at bit 152 k.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "secure/crypto/secret.h"
#include "secure/he/additive_cipher.h"
#include "secure/he/pair_packing.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {

constexpr size_t kMaskedSumBytes = 19;
constexpr size_t kMaskedSumBits = 8 * kMaskedSumBytes;
constexpr int kSumBits = 80;
using MaskedSum = std::array<uint8_t, kMaskedSumBytes>;  // little-endian

constexpr size_t masked_sums_of_plaintext(size_t plaintext_bits) { return (plaintext_bits - 1) / kMaskedSumBits; }

// What is added to each of `columns` sums of a step: mask + 2^80. A seed and a step give the same ones each time, and
// must serve for one set of sums alone.
std::vector<MaskedSum> draw_masks(const Secret<32>& seed, uint32_t step, size_t columns);

// Slots of one plaintext, and back; at most masked_sums_of_plaintext().
PlainNumber pack_masked(std::span<const MaskedSum> slots);
// malformed if `number` is negative or has more than `count` slots in it.
Result<std::vector<MaskedSum>> unpack_masked(const PlainNumber& number, size_t count);

// malformed if it is beyond +-2^80: then it is not what was masked.
Result<int128> unmask(const MaskedSum& masked, const MaskedSum& mask);

}  // namespace coterie::vertical
