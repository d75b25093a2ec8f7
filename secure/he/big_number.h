// libcrypto's integers, owned and wiped. Private to secure/he. Out of memory is the one way in which these calls fail,
// and ends the process as it does elsewhere.
#pragma once

#include <openssl/bn.h>

#include <memory>
#include <span>

#include "base/assert.h"
#include "base/bytes.h"
#include "secure/he/additive_cipher.h"

namespace coterie::he {

struct FreeBigNumber {
  void operator()(BIGNUM* number) const { BN_clear_free(number); }
  void operator()(BN_CTX* context) const { BN_CTX_free(context); }
  void operator()(BN_MONT_CTX* context) const { BN_MONT_CTX_free(context); }
};
using Big = std::unique_ptr<BIGNUM, FreeBigNumber>;
using BigContext = std::unique_ptr<BN_CTX, FreeBigNumber>;
using Montgomery = std::unique_ptr<BN_MONT_CTX, FreeBigNumber>;

inline void must(bool ok) { COT_ASSERT(ok); }
inline Big checked(BIGNUM* number) {
  must(number != nullptr);
  return Big(number);
}
inline Big big() { return checked(BN_new()); }
// Computations on it take the same time whatever its value, where libcrypto can.
inline Big secret_big() {
  Big number = checked(BN_secure_new());
  BN_set_flags(number.get(), BN_FLG_CONSTTIME);
  return number;
}
inline Big copy_of(const Big& number) { return checked(BN_dup(number.get())); }
inline Big big_from(ByteView bytes) {
  return checked(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
}
inline void write_big(const Big& number, std::span<uint8_t> out) {
  must(BN_bn2binpad(number.get(), out.data(), static_cast<int>(out.size())) == static_cast<int>(out.size()));
}
inline BigContext big_context() {
  BigContext context(BN_CTX_secure_new());
  must(context != nullptr);
  return context;
}
inline Montgomery montgomery(const Big& modulus, const BigContext& context) {
  Montgomery made(BN_MONT_CTX_new());
  must(made != nullptr && BN_MONT_CTX_set(made.get(), modulus.get(), context.get()) == 1);
  return made;
}
inline Big product(const Big& a, const Big& b, const BigContext& context) {
  Big result = big();
  must(BN_mul(result.get(), a.get(), b.get(), context.get()) == 1);
  return result;
}
inline Big minus_one(const Big& a) {
  Big result = copy_of(a);
  must(BN_sub_word(result.get(), 1) == 1);
  return result;
}

// Between signed limbs and residues: a residue above half of the modulus is negative.
Big residue_of(const PlainNumber& number, const Big& modulus);
PlainNumber signed_number(const Big& residue, const Big& modulus, const Big& half, size_t limbs);

}  // namespace coterie::he
