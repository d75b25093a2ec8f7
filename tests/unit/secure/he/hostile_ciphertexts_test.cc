#include <gtest/gtest.h>

#include "secure/he/paillier.h"
#include "secure/he/paillier_key.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

struct Small {
  he::Big p;
  he::Big square;
  std::unique_ptr<AdditiveKey> key;
  std::unique_ptr<AdditiveCipher> cipher;
};

Small small() {
  he::PaillierKey key = he::generate_paillier_key(he::kPaillierTestBits, Secret<32>());
  const he::BigContext context = he::big_context();
  Small made;
  made.p = he::copy_of(key.p.p);
  made.square = he::product(key.n, key.n, context);
  made.cipher = he::paillier_cipher_of(he::copy_of(key.n), Secret<32>());
  made.key = he::paillier_key_of(std::move(key), Secret<32>());
  return made;
}

Bytes bytes_of(const he::Big& number, size_t count) {
  Bytes bytes(count);
  he::write_big(number, bytes);
  return bytes;
}

// Both ends refuse `bad` behind a good ciphertext, and say which one it was.
void expect_refused(const Bytes& bad, std::string_view words) {
  Small s = small();
  Bytes both(s.key->ciphertext_bytes());
  s.key->encrypt({1, 0}, both);
  both.insert(both.end(), bad.begin(), bad.end());
  EXPECT_ERROR(s.cipher->read(both), ErrorCode::malformed, words);
  EXPECT_ERROR(s.key->decrypt(both), ErrorCode::malformed, words);
}

TEST(PaillierHostile, ZeroIsRefused) {
  expect_refused(Bytes(2 * he::kPaillierTestBits / 8, 0), "ciphertext 1 is not in (0, n^2)");
}

TEST(PaillierHostile, TheModulusIsRefused) {
  expect_refused(bytes_of(small().square, 2 * he::kPaillierTestBits / 8), "ciphertext 1 is not in (0, n^2)");
}

TEST(PaillierHostile, AllOnesAreRefused) {
  expect_refused(Bytes(2 * he::kPaillierTestBits / 8, 0xff), "ciphertext 1 is not in (0, n^2)");
}

TEST(PaillierHostile, AMultipleOfAPrimeIsRefused) {
  expect_refused(bytes_of(small().p, 2 * he::kPaillierTestBits / 8), "ciphertext 1 is not invertible modulo n");
}

TEST(PaillierHostile, APieceIsRefused) { expect_refused(Bytes(5, 1), "expected a multiple of 128"); }

TEST(PaillierHostile, NothingIsNoCiphertexts) {
  EXPECT_OK(small().cipher->read({}));
  EXPECT_TRUE(small().key->decrypt({})->empty());
}

TEST(PaillierHostile, SmallKeysAreRefused) {
  EXPECT_ERROR(paillier_cipher(small().key->public_key(), Secret<32>()), ErrorCode::invalid_argument, "512 bits");
  EXPECT_ERROR(paillier_cipher({}, Secret<32>()), ErrorCode::invalid_argument, "0 bits");
  Bytes padded(256, 0);
  padded[255] = 3;
  EXPECT_ERROR(paillier_cipher(padded, Secret<32>()), ErrorCode::invalid_argument, "2 bits in 256 bytes");
  Bytes even(256, 0xfe);
  EXPECT_ERROR(paillier_cipher(even, Secret<32>()), ErrorCode::invalid_argument, "even");
}

}  // namespace
}  // namespace coterie
