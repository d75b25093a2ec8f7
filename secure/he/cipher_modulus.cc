#include "secure/he/paillier_modulus.h"

#include <string>

namespace coterie::he {

PaillierModulus::PaillierModulus(Big key, const BigContext& context)
    : n(std::move(key)), square(product(n, n, context)), n_bytes(static_cast<size_t>(BN_num_bytes(n.get()))) {}

Result<std::vector<Big>> PaillierModulus::numbers(ByteView ciphertexts) const {
  if (ciphertexts.size() % ciphertext_bytes() != 0) {
    return Error(ErrorCode::malformed, "ciphertexts have " + std::to_string(ciphertexts.size()) +
                                           " bytes, expected a multiple of " + std::to_string(ciphertext_bytes()));
  }
  std::vector<Big> all;
  for (size_t i = 0; i < ciphertexts.size() / ciphertext_bytes(); ++i) {
    all.push_back(big_from(ciphertexts.subspan(i * ciphertext_bytes(), ciphertext_bytes())));
    if (BN_is_zero(all[i].get()) != 0 || BN_cmp(all[i].get(), square.get()) >= 0) {
      return Error(ErrorCode::malformed, "ciphertext " + std::to_string(i) + " is not in (0, n^2)");
    }
  }
  return all;
}

Status PaillierModulus::check_invertible(const Big& product, std::span<const Big> numbers,
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

Error not_invertible(size_t ciphertext) {
  return Error(ErrorCode::malformed, "ciphertext " + std::to_string(ciphertext) + " is not invertible modulo n");
}

}  // namespace coterie::he
