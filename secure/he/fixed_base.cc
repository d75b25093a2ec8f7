#include "secure/he/fixed_base.h"

namespace coterie::he {
namespace {

// libcrypto's Montgomery calls do not change the context, and do not say so.
BN_MONT_CTX* form_of(const BN_MONT_CTX* form) { return const_cast<BN_MONT_CTX*>(form); }

}  // namespace

FixedBase::FixedBase(const Big& base, size_t exponent_bits, size_t window_bits, const BN_MONT_CTX* modulus_form,
                     const BigContext& context)
    : form_(modulus_form), window_bits_(window_bits), windows_((exponent_bits + window_bits - 1) / window_bits) {
  Big step = copy_of(base);
  must(BN_to_montgomery(step.get(), step.get(), form_of(form_), context.get()) == 1);
  Big one = big();
  must(BN_one(one.get()) == 1 && BN_to_montgomery(one.get(), one.get(), form_of(form_), context.get()) == 1);
  for (std::vector<Big>& window : windows_) {
    window.push_back(copy_of(one));
    for (size_t digit = 1; digit <= size_t{1} << window_bits_; ++digit) {
      Big entry = big();
      must(BN_mod_mul_montgomery(entry.get(), window.back().get(), step.get(), form_of(form_), context.get()) == 1);
      window.push_back(std::move(entry));
    }
    // The last entry is one beyond the digits: the next window's base.
    step = std::move(window.back());
    window.pop_back();
  }
}

Big FixedBase::power(const Big& exponent, const BigContext& context) const {
  Big result = big();
  for (size_t window = 0; window < windows_.size(); ++window) {
    // One multiplication for each digit of the exponent, no squaring: entry d of window w is base^(d 2^(w bits)).
    size_t digit = 0;
    for (size_t bit = 0; bit < window_bits_; ++bit) {
      const auto position = static_cast<int>(window * window_bits_ + bit);
      digit |= static_cast<size_t>(BN_is_bit_set(exponent.get(), position)) << bit;
    }
    const BIGNUM* entry = windows_[window][digit].get();
    must(window == 0 ? BN_copy(result.get(), entry) != nullptr
                     : BN_mod_mul_montgomery(result.get(), result.get(), entry, form_of(form_), context.get()) == 1);
  }
  return result;
}

}  // namespace coterie::he
