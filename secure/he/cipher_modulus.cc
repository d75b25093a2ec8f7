#include "secure/he/cipher_modulus.h"

#include <algorithm>
#include <string>

namespace coterie::he {
namespace {

constexpr size_t kPublicKeyBits[] = {2048, 3072};

}  // namespace

CipherModulus::CipherModulus(Big key, Modulo ciphertexts, const BigContext& context)
    : modulo(ciphertexts),
      n(std::move(key)),
      ring(modulo == Modulo::n ? copy_of(n) : product(n, n, context)),
      n_bytes(static_cast<size_t>(BN_num_bytes(n.get()))) {}

Result<std::vector<Big>> CipherModulus::numbers(ByteView ciphertexts) const {
  if (ciphertexts.size() % ciphertext_bytes() != 0) {
    return Error(ErrorCode::malformed, "ciphertexts have " + std::to_string(ciphertexts.size()) +
                                           " bytes, expected a multiple of " + std::to_string(ciphertext_bytes()));
  }
  std::vector<Big> all;
  for (size_t i = 0; i < ciphertexts.size() / ciphertext_bytes(); ++i) {
    all.push_back(big_from(ciphertexts.subspan(i * ciphertext_bytes(), ciphertext_bytes())));
    if (BN_is_zero(all[i].get()) != 0 || BN_cmp(all[i].get(), ring.get()) >= 0) {
      return Error(ErrorCode::malformed,
                   "ciphertext " + std::to_string(i) + " is not in " + (modulo == Modulo::n ? "(0, n)" : "(0, n^2)"));
    }
  }
  return all;
}

Status CipherModulus::check_invertible(const Big& product, std::span<const Big> numbers,
                                       const BigContext& context) const {
  const auto is_invertible = [&](const Big& number) {
    Big divisor = big();
    must(BN_gcd(divisor.get(), number.get(), n.get(), context.get()) == 1);
    return BN_is_one(divisor.get()) != 0;
  };
  // One division for all: the product is invertible if each factor is.
  if (is_invertible(product)) return {};
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!is_invertible(numbers[i])) return not_invertible(i);
  }
  return {};
}

Big CipherModulus::open_ciphertext(const PlainNumber& number, const BigContext& context) const {
  COT_ASSERT(modulo == Modulo::square_of_n);
  // (1 + n)^m = 1 + m n modulo n^2: all other terms of the binomial have n^2 in them.
  Big ciphertext = product(residue_of(number, n), n, context);
  must(BN_add_word(ciphertext.get(), 1) == 1);
  return ciphertext;
}

Error not_invertible(size_t ciphertext) {
  return Error(ErrorCode::malformed, "ciphertext " + std::to_string(ciphertext) + " is not invertible modulo n");
}

Result<Big> read_public_modulus(ByteView public_key, std::string_view scheme) {
  const auto refused = [&scheme](const std::string& what) {
    return Error(ErrorCode::invalid_argument, "the " + std::string(scheme) + " key " + what);
  };
  Big n = big_from(public_key);
  const auto bits = static_cast<size_t>(BN_num_bits(n.get()));
  if (public_key.size() * 8 != bits || std::ranges::find(kPublicKeyBits, bits) == std::end(kPublicKeyBits)) {
    return refused("has " + std::to_string(bits) + " bits in " + std::to_string(public_key.size()) +
                   " bytes, expected 2048 or 3072");
  }
  if (BN_is_odd(n.get()) == 0) return refused("is an even number");
  // A prime n would make every ciphertext as good as its plaintext to whoever has it. That n is a product of the right
  // form cannot be seen from here.
  if (BN_check_prime(n.get(), big_context().get(), nullptr) != 0) return refused("is a prime, expected a product");
  return n;
}

}  // namespace coterie::he
