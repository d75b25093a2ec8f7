#include "secure/dp/noise/wide_uint.h"

#include <bit>
#include <cmath>

#include "base/assert.h"

namespace coterie {
namespace {

__extension__ using uint128 = unsigned __int128;

}  // namespace

WideUint& WideUint::operator+=(const WideUint& other) {
  uint64_t carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const uint128 sum = static_cast<uint128>(limbs_[i]) + other.limbs_[i] + carry;
    limbs_[i] = static_cast<uint64_t>(sum);
    carry = static_cast<uint64_t>(sum >> 64);
  }
  COT_ASSERT(carry == 0);
  return *this;
}

WideUint& WideUint::operator-=(const WideUint& other) {
  uint64_t borrow = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const uint128 difference = static_cast<uint128>(limbs_[i]) - other.limbs_[i] - borrow;
    limbs_[i] = static_cast<uint64_t>(difference);
    borrow = static_cast<uint64_t>(difference >> 64) & 1;
  }
  COT_ASSERT(borrow == 0);
  return *this;
}

WideUint WideUint::operator<<(int count) const {
  COT_ASSERT(count >= 0 && (bit_width() == 0 || bit_width() + count <= kBits));
  WideUint result;
  const int whole = count / 64, part = count % 64;
  for (int i = kLimbs - 1; i >= whole; --i) {
    result.limbs_[i] = limbs_[i - whole] << part;
    if (part != 0 && i > whole) result.limbs_[i] |= limbs_[i - whole - 1] >> (64 - part);
  }
  return result;
}

WideUint WideUint::operator>>(int count) const {
  COT_ASSERT(count >= 0);
  WideUint result;
  const int whole = count / 64, part = count % 64;
  for (int i = 0; i + whole < kLimbs; ++i) {
    result.limbs_[i] = limbs_[i + whole] >> part;
    if (part != 0 && i + whole + 1 < kLimbs) result.limbs_[i] |= limbs_[i + whole + 1] << (64 - part);
  }
  return result;
}

WideUint WideUint::times(uint64_t factor) const {
  WideUint result;
  uint64_t carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const uint128 product = static_cast<uint128>(limbs_[i]) * factor + carry;
    result.limbs_[i] = static_cast<uint64_t>(product);
    carry = static_cast<uint64_t>(product >> 64);
  }
  COT_ASSERT(carry == 0);
  return result;
}

WideUint WideUint::divided_by(uint64_t divisor) const {
  COT_ASSERT(divisor > 0);
  WideUint result;
  uint64_t remainder = 0;
  for (int i = kLimbs - 1; i >= 0; --i) {
    const uint128 dividend = static_cast<uint128>(remainder) << 64 | limbs_[i];
    result.limbs_[i] = static_cast<uint64_t>(dividend / divisor);
    remainder = static_cast<uint64_t>(dividend % divisor);
  }
  return result;
}

WideUint WideUint::times(const WideUint& other, int shift) const {
  std::array<uint64_t, 2 * kLimbs> product{};
  for (int i = 0; i < kLimbs; ++i) {
    uint64_t carry = 0;
    for (int j = 0; j < kLimbs; ++j) {
      const uint128 sum = static_cast<uint128>(limbs_[i]) * other.limbs_[j] + product[i + j] + carry;
      product[i + j] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
    product[i + kLimbs] = carry;
  }
  COT_ASSERT(shift >= 0 && shift < 2 * kBits);
  WideUint result;
  const int whole = shift / 64, part = shift % 64;
  for (int i = whole; i < 2 * kLimbs; ++i) {
    const uint64_t above = part != 0 && i + 1 < 2 * kLimbs ? product[i + 1] << (64 - part) : 0;
    const uint64_t limb = product[i] >> part | above;
    COT_ASSERT(i - whole < kLimbs || limb == 0);
    if (i - whole < kLimbs) result.limbs_[i - whole] = limb;
  }
  return result;
}

bool WideUint::operator<(const WideUint& other) const {
  for (int i = kLimbs - 1; i >= 0; --i) {
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i];
  }
  return false;
}

int WideUint::bit_width() const {
  for (int i = kLimbs - 1; i >= 0; --i) {
    if (limbs_[i] != 0) return 64 * i + static_cast<int>(std::bit_width(limbs_[i]));
  }
  return 0;
}

double WideUint::to_double() const {
  const int drop = bit_width() > 64 ? bit_width() - 64 : 0;
  return std::ldexp(static_cast<double>((*this >> drop).low()), drop);
}

}  // namespace coterie
