#include "secure/he/big_number.h"

#include <algorithm>

namespace coterie::he {
namespace {

void negate(PlainNumber& limbs) {
  uint64_t carry = 1;
  for (uint64_t& limb : limbs) {
    limb = ~limb + carry;
    carry = carry != 0 && limb == 0 ? 1 : 0;
  }
}

}  // namespace

Big residue_of(const PlainNumber& number, const Big& modulus) {
  const bool negative = !number.empty() && (number.back() >> 63) != 0;
  PlainNumber magnitude = number;
  if (negative) negate(magnitude);
  Bytes bytes(8 * magnitude.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[bytes.size() - 1 - i] = static_cast<uint8_t>(magnitude[i / 8] >> (8 * (i % 8)));
  }
  Big residue = big_from(bytes);
  COT_ASSERT(BN_cmp(residue.get(), modulus.get()) < 0);
  // A negative number -m stands for n - m: the upper half of the residues are the negative numbers.
  if (negative) must(BN_sub(residue.get(), modulus.get(), residue.get()) == 1);
  return residue;
}

PlainNumber signed_number(const Big& residue, const Big& modulus, const Big& half, size_t limbs) {
  const bool negative = BN_cmp(residue.get(), half.get()) > 0;
  Big magnitude = copy_of(residue);
  if (negative) must(BN_sub(magnitude.get(), modulus.get(), residue.get()) == 1);
  Bytes bytes(8 * limbs);
  write_big(magnitude, bytes);
  PlainNumber number(limbs, 0);
  for (size_t i = 0; i < bytes.size(); ++i) {
    number[i / 8] |= uint64_t{bytes[bytes.size() - 1 - i]} << (8 * (i % 8));
  }
  if (negative) negate(number);
  return number;
}

}  // namespace coterie::he
