// The verification that an SDK without OpenSSL has, beside libcrypto's: they say the same of everything.
#include "secure/crypto/p256_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "secure/crypto/signature.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

constexpr size_t kKeys = 60;

Bytes random_bytes_of(Prng& prng, size_t size) {
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng.below(256));
  return bytes;
}

void flip_a_bit(Prng& prng, Bytes& bytes) {
  bytes[prng.below(bytes.size())] ^= static_cast<uint8_t>(1 << prng.below(8));
}

void expect_same(ByteView key, ByteView message, ByteView signature) {
  EXPECT_EQ(p256_check_key(key), public_key_is_valid(KeyAlgorithm::p256, key)) << to_hex(key);
  EXPECT_EQ(p256_check_signature(key, message, signature),
            signature_is_valid(KeyAlgorithm::p256, key, message, signature))
      << "key " << to_hex(key) << " message " << to_hex(message) << " signature " << to_hex(signature);
}

// Every other scalar is a small one: the sum then has doubles of the base point, and both points may be the same.
TEST(P256Check, AgreesWithLibcryptoOnSignaturesAndOnWhatIsLeftOfThem) {
  Prng prng(5);
  for (size_t i = 0; i < kKeys; ++i) {
    Bytes scalar = i % 2 == 0 ? random_bytes_of(prng, 32) : Bytes(32);
    if (i % 2 != 0) scalar[31] = static_cast<uint8_t>(i / 2 + 1);
    const auto signer = make_signer(KeyAlgorithm::p256, scalar);
    ASSERT_OK(signer);
    const Bytes key = (*signer)->public_key(), message = random_bytes_of(prng, prng.below(100));
    const Result<Bytes> signature = (*signer)->sign(message);
    ASSERT_OK(signature);
    EXPECT_TRUE(p256_check_key(key));
    EXPECT_TRUE(p256_check_signature(key, message, *signature)) << to_hex(scalar);
    for (int change = 0; change < 6; ++change) {
      Bytes changed = *signature, other_key = key;
      flip_a_bit(prng, change % 3 == 0 ? other_key : changed);
      expect_same(other_key, message, changed);
    }
    Bytes longer = *signature;
    longer.push_back(0);
    expect_same(key, message, longer);
    for (size_t size = 0; size < signature->size(); size += 7) {
      expect_same(key, message, ByteView(*signature).first(size));
      expect_same(ByteView(key).first(size), message, *signature);
    }
  }
}

// Numbers at the ends of their ranges, as DER has them; none is of a signature.
TEST(P256Check, RefusesNumbersThatAreNone) {
  const Bytes key = (*make_signer(KeyAlgorithm::p256, Bytes(32, 7)))->public_key();
  const Bytes order = *from_hex("00ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
  Bytes beyond = order, below = order;
  ++beyond.back();
  --below.back();
  const Bytes numbers[] = {{},           {0},   {1},    {0x7f}, {0x80}, {0, 0x80}, {0, 0x7f}, Bytes(32, 0xff),
                           Bytes(34, 1), order, beyond, below};
  for (const Bytes& r : numbers) {
    for (const Bytes& s : numbers) {
      Bytes der{0x30, static_cast<uint8_t>(4 + r.size() + s.size())};
      for (const Bytes* number : {&r, &s}) {
        der.insert(der.end(), {0x02, static_cast<uint8_t>(number->size())});
        der.insert(der.end(), number->begin(), number->end());
      }
      EXPECT_FALSE(p256_check_signature(key, as_bytes("m"), der)) << to_hex(der);
      expect_same(key, as_bytes("m"), der);
    }
  }
}

TEST(P256Check, RefusesPointsThatAreNone) {
  const Bytes good = (*make_signer(KeyAlgorithm::p256, Bytes(32, 7)))->public_key();
  const Bytes prime = *from_hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff");
  Bytes x_is_p = good, y_is_p = good, compressed = good, origin(65);
  std::ranges::copy(prime, x_is_p.begin() + 1);
  std::ranges::copy(prime, y_is_p.begin() + 33);
  compressed[0] = 0x02;
  origin[0] = 0x04;
  for (const Bytes& key : {x_is_p, y_is_p, compressed, origin, Bytes(65), Bytes{0x00}, Bytes{}}) {
    EXPECT_FALSE(p256_check_key(key)) << to_hex(key);
    EXPECT_FALSE(public_key_is_valid(KeyAlgorithm::p256, key)) << to_hex(key);
  }
}

}  // namespace
}  // namespace coterie
