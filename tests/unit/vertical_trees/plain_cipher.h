// A cipher that hides nothing, so that many trees can be trained in a test: numbers modulo 2^2048 in the clear.
#pragma once

#include <algorithm>

#include "secure/crypto/secret.h"
#include "secure/he/additive_cipher.h"

namespace coterie::vertical::test {

constexpr size_t kPlainLimbs = 32;

struct PlainCiphertext : Ciphertext {
  explicit PlainCiphertext(PlainNumber value) : number(std::move(value)) {}
  PlainNumber number;
};

inline PlainNumber plain_from(ByteView bytes) {
  PlainNumber number(kPlainLimbs, 0);
  for (size_t i = 0; i < 8 * kPlainLimbs; ++i) number[i / 8] |= uint64_t{bytes[i]} << (8 * (i % 8));
  return number;
}
inline void plain_write(const PlainNumber& number, std::span<uint8_t> out) {
  const uint64_t sign = number.back() >> 63 != 0 ? ~uint64_t{0} : 0;
  for (size_t i = 0; i < 8 * kPlainLimbs; ++i) {
    out[i] = static_cast<uint8_t>((i / 8 < number.size() ? number[i / 8] : sign) >> (8 * (i % 8)));
  }
}

class PlainCipher : public AdditiveCipher {
 public:
  size_t ciphertext_bytes() const override { return 8 * kPlainLimbs; }
  size_t plaintext_bits() const override { return 64 * kPlainLimbs - 2; }
  Result<std::vector<CiphertextPtr>> read(ByteView ciphertexts) const override {
    if (ciphertexts.size() % ciphertext_bytes() != 0) return Error(ErrorCode::malformed, "a piece of a plain number");
    std::vector<CiphertextPtr> all;
    for (size_t i = 0; i < ciphertexts.size(); i += ciphertext_bytes()) {
      all.push_back(std::make_unique<PlainCiphertext>(plain_from(ciphertexts.subspan(i, ciphertext_bytes()))));
    }
    return all;
  }
  void write(const Ciphertext& ciphertext, std::span<uint8_t> out) const override { plain_write(of(ciphertext), out); }
  CiphertextPtr zero() const override { return std::make_unique<PlainCiphertext>(PlainNumber(kPlainLimbs, 0)); }
  CiphertextPtr copy(const Ciphertext& c) const override { return std::make_unique<PlainCiphertext>(of(c)); }
  void add(Ciphertext& sum, const Ciphertext& term) const override {
    PlainNumber& number = static_cast<PlainCiphertext&>(sum).number;
    uint64_t carry = 0;
    for (size_t i = 0; i < kPlainLimbs; ++i) {
      const unsigned __int128 limb = static_cast<unsigned __int128>(number[i]) + of(term)[i] + carry;
      number[i] = static_cast<uint64_t>(limb);
      carry = static_cast<uint64_t>(limb >> 64);
    }
  }
  void add_number(Ciphertext& sum, const PlainNumber& number) const override {
    Bytes bytes(ciphertext_bytes());
    plain_write(number, bytes);
    add(sum, PlainCiphertext(plain_from(bytes)));
  }
  void shift_left(Ciphertext& ciphertext, size_t bits) const override {
    PlainNumber& number = static_cast<PlainCiphertext&>(ciphertext).number;
    PlainNumber shifted(kPlainLimbs, 0);
    for (size_t i = bits / 64; i < kPlainLimbs; ++i) {
      shifted[i] = number[i - bits / 64] << (bits % 64);
      if (bits % 64 != 0 && i > bits / 64) shifted[i] |= number[i - bits / 64 - 1] >> (64 - bits % 64);
    }
    number = std::move(shifted);
  }
  void rerandomize(Ciphertext&) override {}

 private:
  static const PlainNumber& of(const Ciphertext& c) { return static_cast<const PlainCiphertext&>(c).number; }
};

class PlainKey : public AdditiveKey {
 public:
  size_t ciphertext_bytes() const override { return 8 * kPlainLimbs; }
  size_t plaintext_bits() const override { return 64 * kPlainLimbs - 2; }
  Bytes public_key() const override { return {}; }
  void encrypt(const PlainNumber& number, std::span<uint8_t> out) override { plain_write(number, out); }
  Result<std::vector<PlainNumber>> decrypt(ByteView ciphertexts) const override {
    if (ciphertexts.size() % ciphertext_bytes() != 0) return Error(ErrorCode::malformed, "a piece of a plain number");
    std::vector<PlainNumber> numbers;
    for (size_t i = 0; i + ciphertext_bytes() <= ciphertexts.size(); i += ciphertext_bytes()) {
      numbers.push_back(plain_from(ciphertexts.subspan(i, ciphertext_bytes())));
    }
    return numbers;
  }
};

inline Result<std::unique_ptr<AdditiveCipher>> plain_cipher(ByteView public_key, Secret<32>) {
  if (!public_key.empty()) return Error(ErrorCode::malformed, "a plain cipher has no key");
  return std::unique_ptr<AdditiveCipher>(std::make_unique<PlainCipher>());
}

}  // namespace coterie::vertical::test
