#include "secure/he/pair_packing.h"

#include <algorithm>

#include "base/assert.h"

namespace coterie {
namespace {

__extension__ using uint128 = unsigned __int128;

// limbs += value 2^position, modulo 2^(64 limbs).
void add_at(PlainNumber& limbs, int128 value, size_t position) {
  const size_t shift = position % 64;
  // The value's bits from its lowest limb on, sign-extended without end.
  const auto limb_of = [&](size_t i) {
    const auto raw = [&](size_t k) {
      return k < 2 ? static_cast<uint64_t>(static_cast<uint128>(value) >> (64 * k)) : (value < 0 ? ~uint64_t{0} : 0);
    };
    return shift == 0 ? raw(i) : (raw(i) << shift) | (i == 0 ? 0 : raw(i - 1) >> (64 - shift));
  };
  uint64_t carry = 0;
  for (size_t i = position / 64; i < limbs.size(); ++i) {
    const uint128 sum = uint128{limbs[i]} + limb_of(i - position / 64) + carry;
    limbs[i] = static_cast<uint64_t>(sum);
    carry = static_cast<uint64_t>(sum >> 64);
  }
}

uint128 bits_at(const PlainNumber& limbs, size_t position, size_t count) {
  const uint64_t sign = (limbs.back() >> 63) != 0 ? ~uint64_t{0} : 0;
  uint128 bits = 0;
  for (size_t done = 0; done < count;) {
    const size_t limb = (position + done) / 64;
    const size_t offset = (position + done) % 64;
    const size_t part = std::min(count - done, 64 - offset);
    uint64_t piece = (limb < limbs.size() ? limbs[limb] : sign) >> offset;
    if (part < 64) piece &= (uint64_t{1} << part) - 1;
    bits |= uint128{piece} << done;
    done += part;
  }
  return bits;
}

}  // namespace

PlainNumber PairPacking::encode(std::span<const SumPair> pairs) const {
  COT_ASSERT(pairs.size() <= pairs_max());
  PlainNumber limbs((pairs.size() * pair_bits()) / 64 + 1, 0);
  for (size_t k = 0; k < pairs.size(); ++k) {
    add_at(limbs, pairs[k].second, k * pair_bits());
    add_at(limbs, pairs[k].first, k * pair_bits() + value_bits_);
  }
  return limbs;
}

Result<std::vector<SumPair>> PairPacking::decode(const PlainNumber& number, size_t count) const {
  COT_ASSERT(count <= pairs_max() && !number.empty());
  uint128 carry = 0;
  const auto next = [&](size_t position) {
    const uint128 raw = bits_at(number, position, value_bits_) + carry;
    const bool negative = raw >> (value_bits_ - 1) != 0;
    carry = negative ? 1 : 0;
    return static_cast<int128>(negative ? raw - (uint128{1} << value_bits_) : raw);
  };
  std::vector<SumPair> pairs(count);
  for (size_t k = 0; k < count; ++k) {
    pairs[k].second = next(k * pair_bits());
    pairs[k].first = next(k * pair_bits() + value_bits_);
  }
  // Nothing above: zeros, or ones which the last borrow takes.
  const uint64_t rest = carry != 0 ? ~uint64_t{0} : 0;
  for (size_t position = count * pair_bits(); position < 64 * number.size(); position += 64) {
    const size_t bits = std::min<size_t>(64, 64 * number.size() - position);
    if (bits_at(number, position, bits) != (bits == 64 ? rest : rest & ((uint64_t{1} << bits) - 1))) {
      return Error(ErrorCode::malformed, "a packed plaintext has more in it than its numbers");
    }
  }
  return pairs;
}

}  // namespace coterie
