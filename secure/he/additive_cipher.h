// Additively homomorphic encryption of signed integers for two parties: whoever has the key encrypts and decrypts, the
// other one adds what it cannot read. Paillier stands behind it (paillier.h); others can.
//
// All randomness comes from seeds, so that a stage that runs again sends the same bytes. Objects are used by one thread
// at a time.
//
// Who has several of a thing to do asks for all at once: CPUs compute eight for little more than the price of one
// (lane_kernel.h). The results are the same bytes either way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

// A signed integer as 64-bit limbs in two's complement, the least first. Its magnitude is below 2^plaintext_bits.
using PlainNumber = std::vector<uint64_t>;

// A ciphertext in the form in which its cipher adds; opaque. It is used with the cipher that made it.
class Ciphertext {
 public:
  virtual ~Ciphertext() = default;
};
using CiphertextPtr = std::unique_ptr<Ciphertext>;
using CiphertextList = std::vector<const Ciphertext*>;

struct CiphertextAddition {
  Ciphertext* sum;
  const Ciphertext* term;
};

// What anybody can do who has the public key.
class AdditiveCipher {
 public:
  virtual ~AdditiveCipher() = default;

  virtual size_t ciphertext_bytes() const = 0;
  virtual size_t plaintext_bits() const = 0;

  // Several ciphertexts, one behind the other, which the adversary may have made. malformed names the first one that is
  // out of range or not invertible.
  virtual Result<std::vector<CiphertextPtr>> read(ByteView ciphertexts) const = 0;
  // `out` has ciphertext_bytes().
  virtual void write(const Ciphertext& ciphertext, std::span<uint8_t> out) const = 0;

  // A ciphertext of 0, the same each time: rerandomize what comes of it.
  virtual CiphertextPtr zero() const = 0;
  virtual CiphertextPtr copy(const Ciphertext& ciphertext) const = 0;
  // The sum of the plaintexts.
  virtual void add(Ciphertext& sum, const Ciphertext& term) const = 0;
  // Adds a number that whoever sums knows, of a magnitude below 2^plaintext_bits. The result hides it from nobody who
  // has seen `sum` before: rerandomize. Precondition: the cipher is Paillier's; another one's key names no generator.
  virtual void add_number(Ciphertext& sum, const PlainNumber& number) const = 0;
  // The plaintext times 2^bits.
  virtual void shift_left(Ciphertext& ciphertext, size_t bits) const = 0;
  // Multiplies by an encryption of zero that nobody else knows. A sum needs it before it goes back: whoever encrypted
  // the terms knows their randomness, and could tell from the product which ones were added.
  virtual void rerandomize(Ciphertext& ciphertext) = 0;

  // The same of several; one after the other unless a cipher can do better.
  // The sum of each list; null for an empty one.
  virtual std::vector<CiphertextPtr> sums(std::span<const CiphertextList> lists) const;
  // No sum comes twice, or is a term.
  virtual void add_each(std::span<const CiphertextAddition> additions) const;
  virtual void shift_left_each(std::span<Ciphertext* const> ciphertexts, size_t bits) const;
  virtual void rerandomize_each(std::span<Ciphertext* const> ciphertexts);
};

// What the holder of the key can do.
class AdditiveKey {
 public:
  virtual ~AdditiveKey() = default;

  virtual size_t ciphertext_bytes() const = 0;
  virtual size_t plaintext_bits() const = 0;
  virtual Bytes public_key() const = 0;

  // `out` has ciphertext_bytes(). Each call has randomness of its own.
  virtual void encrypt(const PlainNumber& number, std::span<uint8_t> out) = 0;
  // Several, one behind the other; one after the other unless a key can do better.
  virtual void encrypt_each(std::span<const PlainNumber> numbers, std::span<uint8_t> out);
  // Several ciphertexts, one behind the other, from outside: malformed as AdditiveCipher::read.
  virtual Result<std::vector<PlainNumber>> decrypt(ByteView ciphertexts) const = 0;
};

}  // namespace coterie
