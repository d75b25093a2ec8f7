#include "secure/he/additive_cipher.h"

namespace coterie {

std::vector<CiphertextPtr> AdditiveCipher::sums(std::span<const CiphertextList> lists) const {
  std::vector<CiphertextPtr> all;
  for (const CiphertextList& list : lists) {
    all.push_back(list.empty() ? nullptr : copy(*list[0]));
    for (size_t i = 1; i < list.size(); ++i) add(*all.back(), *list[i]);
  }
  return all;
}

void AdditiveCipher::add_each(std::span<const CiphertextAddition> additions) const {
  for (const CiphertextAddition& one : additions) add(*one.sum, *one.term);
}

void AdditiveCipher::shift_left_each(std::span<Ciphertext* const> ciphertexts, size_t bits) const {
  for (Ciphertext* const one : ciphertexts) shift_left(*one, bits);
}

void AdditiveCipher::rerandomize_each(std::span<Ciphertext* const> ciphertexts) {
  for (Ciphertext* const one : ciphertexts) rerandomize(*one);
}

void AdditiveKey::encrypt_each(std::span<const PlainNumber> numbers, std::span<uint8_t> out) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    encrypt(numbers[i], out.subspan(i * ciphertext_bytes(), ciphertext_bytes()));
  }
}

}  // namespace coterie
