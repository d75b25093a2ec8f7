// Ciphertexts and keys that no honest party sends: both ends of each cipher refuse them, and say which one it was.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/matchers.h"
#include "tests/unit/secure/he/schemes.h"

namespace coterie {
namespace {

using he::test::KnownKey;

class HostileCiphertexts : public testing::TestWithParam<const he::test::Scheme*> {
 protected:
  static KnownKey known() { return GetParam()->known(he::kTestKeyBits, 0, he::lane_kernel()); }
  static size_t bytes() { return known().side.key->ciphertext_bytes(); }
  static std::string out_of_range() { return std::string("ciphertext 1 is not in ") + GetParam()->range; }

  // Both ends refuse `bad` behind a good ciphertext, and say which one it was.
  static void expect_refused(const Bytes& bad, std::string_view words) {
    const he::test::Side side = known().side;
    Bytes both(side.key->ciphertext_bytes());
    side.key->encrypt({1, 0}, both);
    both.insert(both.end(), bad.begin(), bad.end());
    EXPECT_ERROR(side.cipher->read(both), ErrorCode::malformed, words);
    EXPECT_ERROR(side.key->decrypt(both), ErrorCode::malformed, words);
  }
};

Bytes bytes_of(const he::Big& number, size_t count) {
  Bytes bytes(count);
  he::write_big(number, bytes);
  return bytes;
}

TEST_P(HostileCiphertexts, ZeroIsRefused) { expect_refused(Bytes(bytes(), 0), out_of_range()); }

TEST_P(HostileCiphertexts, TheModulusIsRefused) { expect_refused(bytes_of(known().modulus, bytes()), out_of_range()); }

TEST_P(HostileCiphertexts, AllOnesAreRefused) { expect_refused(Bytes(bytes(), 0xff), out_of_range()); }

TEST_P(HostileCiphertexts, AMultipleOfAPrimeIsRefused) {
  expect_refused(bytes_of(known().prime, bytes()), "ciphertext 1 is not invertible modulo n");
}

TEST_P(HostileCiphertexts, APieceIsRefused) {
  expect_refused(Bytes(5, 1), "expected a multiple of " + std::to_string(bytes()));
}

TEST_P(HostileCiphertexts, NothingIsNoCiphertexts) {
  EXPECT_OK(known().side.cipher->read({}));
  EXPECT_TRUE(known().side.key->decrypt({})->empty());
}

TEST_P(HostileCiphertexts, KeysThatCannotBeAreRefused) {
  const auto refuse = [](ByteView key, std::string_view words) {
    EXPECT_ERROR(GetParam()->cipher(key, Secret<32>()), ErrorCode::invalid_argument, words);
  };
  refuse(known().side.key->public_key(), "512 bits");
  refuse({}, "0 bits");
  Bytes padded(256, 0);
  padded[255] = 3;
  refuse(padded, "2 bits in 256 bytes");
  refuse(Bytes(128, 0xff), "1024 bits");
  refuse(Bytes(256, 0xfe), "even");
  he::Big prime = he::big();
  he::must(BN_generate_prime_ex(prime.get(), 2048, 0, nullptr, nullptr, nullptr) == 1);
  refuse(bytes_of(prime, 256), "is a prime");
}

INSTANTIATE_TEST_SUITE_P(Schemes, HostileCiphertexts,
                         testing::Values(&he::test::kPaillierScheme, &he::test::kOkamotoUchiyamaScheme),
                         [](const auto& one) { return std::string(one.param->name); });

}  // namespace
}  // namespace coterie
