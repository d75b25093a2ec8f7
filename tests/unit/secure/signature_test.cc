#include "secure/crypto/signature.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

Bytes hex(std::string_view text) { return *from_hex(text); }

std::unique_ptr<Signer> signer_of(KeyAlgorithm algorithm, ByteView secret) {
  Result<std::unique_ptr<Signer>> signer = make_signer(algorithm, secret);
  EXPECT_OK(signer);
  return std::move(*signer);
}

struct Vector {
  const char* secret;
  const char* public_key;
  const char* message;
  const char* signature;
};

// RFC 8032 section 7.1: TEST 1, 2, 3 and SHA(abc).
constexpr Vector kRfc8032[] = {{"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39"
                                "701cf9b46bd25bf5f0595bbe2465"
                                "5141438e7a100b"},
                               {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f36"
                                "13d0f11d8c387b2eaeb4302aeeb0"
                                "0d291612bb0c00"},
                               {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
                                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f7"
                                "60984dc6594a7c15e9716ed28dc0"
                                "27beceea1ec40a"},
                               {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
                                "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
                                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c"
                                "23a3feebbd454d4423643ce80e2a"
                                "9ac94fa54ca49f",
                                "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7"
                                "c66431e0303dca179c138ac17ad9"
                                "bef1177331a704"}};

TEST(Ed25519, SignsAndVerifiesTheVectorsOfRfc8032) {
  for (const Vector& vector : kRfc8032) {
    const auto signer = signer_of(KeyAlgorithm::ed25519, hex(vector.secret));
    EXPECT_EQ(signer->algorithm(), KeyAlgorithm::ed25519);
    EXPECT_EQ(to_hex(signer->public_key()), vector.public_key);
    EXPECT_EQ(to_hex(*signer->sign(hex(vector.message))), vector.signature);
    EXPECT_TRUE(
        signature_is_valid(KeyAlgorithm::ed25519, hex(vector.public_key), hex(vector.message), hex(vector.signature)));
    EXPECT_TRUE(public_key_is_valid(KeyAlgorithm::ed25519, hex(vector.public_key)));
  }
}

// S' = S + L is the same number modulo the group's order: who accepted it would let anybody make a second signature.
TEST(Ed25519, RefusesTheSecondFormOfASignature) {
  const Vector& vector = kRfc8032[1];
  Bytes signature = hex(vector.signature);
  const Bytes order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");  // little-endian
  unsigned carry = 0;
  for (size_t i = 0; i < 32; ++i) {
    carry += signature[32 + i] + order[i];
    signature[32 + i] = static_cast<uint8_t>(carry);
    carry >>= 8;
  }
  EXPECT_FALSE(signature_is_valid(KeyAlgorithm::ed25519, hex(vector.public_key), hex(vector.message), signature));
}

// Lengths, S that are wrong or beyond the group's order, R that are no points or another encoding.
TEST(Ed25519, RefusesSignaturesOfAnotherForm) {
  const Vector& vector = kRfc8032[1];
  const Bytes good = hex(vector.signature);
  const auto accepts = [&](const Bytes& signature) {
    return signature_is_valid(KeyAlgorithm::ed25519, hex(vector.public_key), hex(vector.message), signature);
  };
  ASSERT_TRUE(accepts(good));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(accepts(Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)))) << size << " bytes";
  }
  for (const uint8_t behind : {0x00, 0x20, 0xff}) {
    Bytes longer = good;
    longer.push_back(behind);
    EXPECT_FALSE(accepts(longer));
  }
  const char* const bad_s[] = {"0000000000000000000000000000000000000000000000000000000000000000",
                               "0100000000000000000000000000000000000000000000000000000000000000",
                               "ecd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010",
                               "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010",
                               "0000000000000000000000000000000000000000000000000000000000000010",
                               "0000000000000000000000000000000000000000000000000000000000000020",
                               "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"};
  for (const char* s : bad_s) {
    Bytes signature = good;
    std::ranges::copy(hex(s), signature.begin() + 32);
    EXPECT_FALSE(accepts(signature)) << "S = " << s;
  }
  const char* const bad_r[] = {"0000000000000000000000000000000000000000000000000000000000000000",
                               "0100000000000000000000000000000000000000000000000000000000000000",
                               "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                               "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"};
  for (const char* r : bad_r) {
    Bytes signature = good;
    std::ranges::copy(hex(r), signature.begin());
    EXPECT_FALSE(accepts(signature)) << "R = " << r;
  }
}

TEST(Ed25519, RefusesKeysOfSmallOrderAndOtherEncodings) {
  const char* const bad[] = {
      "0100000000000000000000000000000000000000000000000000000000000000",  // the neutral element
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",  // of order 2
      "0000000000000000000000000000000000000000000000000000000000000000",  // of order 4
      "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",  // of order 8
      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",  // not canonical: p itself
      "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f70751",  // 31 bytes
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a00", ""};
  for (const char* key : bad) EXPECT_FALSE(public_key_is_valid(KeyAlgorithm::ed25519, hex(key))) << key;
  // Under the neutral element, R = [S]B verifies any message unless the key is refused: S = 0, R = neutral.
  Bytes universal(64);
  universal[0] = 1;
  EXPECT_FALSE(signature_is_valid(KeyAlgorithm::ed25519, hex(bad[0]), as_bytes("anything"), universal));
}

// ---- P-256

constexpr const char* kScalar = "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721";
constexpr const char* kPoint =
    "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb67903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f51"
    "77"
    "a3c294d4462299";
constexpr const char* kR = "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716";
constexpr const char* kS = "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8";
constexpr const char* kOrder = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";

Bytes integer(Bytes value) {
  if (value.empty() || (value[0] & 0x80) != 0) value.insert(value.begin(), 0);
  value.insert(value.begin(), {0x02, static_cast<uint8_t>(value.size())});
  return value;
}

Bytes sequence(const Bytes& first, const Bytes& second) {
  Bytes der = first;
  der.insert(der.end(), second.begin(), second.end());
  der.insert(der.begin(), {0x30, static_cast<uint8_t>(der.size())});
  return der;
}

bool p256_accepts(const Bytes& der) {
  return signature_is_valid(KeyAlgorithm::p256, hex(kPoint), as_bytes("sample"), der);
}

// RFC 6979 appendix A.2.5: P-256, SHA-256, message "sample".
TEST(P256, VerifiesTheVectorOfRfc6979AndMakesItsKey) {
  EXPECT_EQ(to_hex(signer_of(KeyAlgorithm::p256, hex(kScalar))->public_key()), kPoint);
  EXPECT_TRUE(public_key_is_valid(KeyAlgorithm::p256, hex(kPoint)));
  EXPECT_TRUE(p256_accepts(sequence(integer(hex(kR)), integer(hex(kS)))));
  EXPECT_FALSE(signature_is_valid(KeyAlgorithm::p256, hex(kPoint), as_bytes("Sample"),
                                  sequence(integer(hex(kR)), integer(hex(kS)))));
}

TEST(P256, VerifiesWhatItSigns) {
  const auto signer = signer_of(KeyAlgorithm::p256, hex(kScalar));
  EXPECT_EQ(signer->algorithm(), KeyAlgorithm::p256);
  for (const std::string& message : {std::string(), std::string("m"), std::string(10'000, 'x')}) {
    const Result<Bytes> signature = signer->sign(as_bytes(message));
    ASSERT_OK(signature);
    EXPECT_TRUE(signature_is_valid(KeyAlgorithm::p256, hex(kPoint), as_bytes(message), *signature));
  }
}

TEST(P256, RefusesSignaturesThatAreNotStrictDer) {
  const Bytes r = hex(kR);
  const Bytes s = hex(kS);
  const Bytes good = sequence(integer(r), integer(s));
  ASSERT_TRUE(p256_accepts(good));
  const Bytes order = hex(kOrder);
  Bytes negative_r = r;  // without the zero before it
  negative_r.insert(negative_r.begin(), {0x02, 32});
  Bytes padded_r = r;
  padded_r.insert(padded_r.begin(), {0x02, 34, 0, 0});
  Bytes long_length = good;  // 0x81 form where the short one fits
  long_length.insert(long_length.begin() + 1, 0x81);
  Bytes trailing = good;
  trailing.push_back(0);
  Bytes indefinite = good;
  indefinite[1] = 0x80;
  indefinite.insert(indefinite.end(), {0, 0});
  Bytes raw = r;
  raw.insert(raw.end(), s.begin(), s.end());
  Bytes beyond = order;
  ++beyond.back();
  const auto with = [&good](size_t at, uint8_t value) {
    Bytes der = good;
    der[at] = value;
    return der;
  };
  const std::pair<const char*, Bytes> bad[] = {
      {"nothing", {}},
      {"r without its zero", sequence(negative_r, integer(s))},
      {"r with two zeros", sequence(padded_r, integer(s))},
      {"a long length", long_length},
      {"a byte behind", trailing},
      {"indefinite length", indefinite},
      {"r and s without DER", raw},
      {"r = 0", sequence(integer({0}), integer(s))},
      {"s = 0", sequence(integer(r), integer({0}))},
      {"r = n", sequence(integer(order), integer(s))},
      {"s = n", sequence(integer(r), integer(order))},
      {"r = n + 1", sequence(integer(beyond), integer(s))},
      {"r of 33 bytes", sequence(integer(Bytes(33, 0x7f)), integer(s))},
      {"r of 1,000 bits and all ones", sequence(integer(Bytes(125, 0x7f)), integer({1}))},
      {"r = s = 1", sequence(integer({1}), integer({1}))},
      {"r = -1", sequence({0x02, 0x01, 0xff}, integer(s))},
      {"r without bytes", sequence({0x02, 0x00}, integer(s))},
      {"r as a bit string", sequence({0x03, 0x02, 0x00, 0x01}, integer(s))},
      {"r as NULL", sequence({0x05, 0x00}, integer(s))},
      {"three integers", sequence(integer(r), sequence(integer(s), integer({1})))},
      {"a set", with(0, 0x31)},
      {"a sequence in a sequence", sequence(good, {})},
      {"a length one too small", with(1, static_cast<uint8_t>(good[1] - 1))},
      {"a length one too large", with(1, static_cast<uint8_t>(good[1] + 1))},
      {"r and s swapped", sequence(integer(s), integer(r))},
      {"one integer", sequence(integer(r), {})},
  };
  for (const auto& [what, der] : bad) EXPECT_FALSE(p256_accepts(der)) << what;
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(p256_accepts(Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)))) << size << " bytes";
  }
}

TEST(P256, RefusesWhatIsNotAPointOfTheCurve) {
  const Bytes good = hex(kPoint);
  const auto with = [&](size_t at, uint8_t value) {
    Bytes changed = good;
    changed[at] = value;
    return changed;
  };
  Bytes compressed(good.begin(), good.begin() + 33);
  compressed[0] = 0x03;
  Bytes beyond_field = good;  // x = p, which is 0 in the field
  const Bytes p = hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff");
  std::copy(p.begin(), p.end(), beyond_field.begin() + 1);
  const std::pair<const char*, Bytes> bad[] = {{"nothing", {}},
                                               {"off the curve", with(64, good[64] ^ 1)},
                                               {"x is not y's", with(1, good[1] ^ 1)},
                                               {"infinity", {0}},
                                               {"zero",
                                                [] {
                                                  Bytes b(65);
                                                  b[0] = 4;
                                                  return b;
                                                }()},
                                               {"compressed", compressed},
                                               {"hybrid", with(0, 0x06)},
                                               {"x = p", beyond_field},
                                               {"64 bytes", Bytes(good.begin(), good.end() - 1)},
                                               {"66 bytes", [&] {
                                                  Bytes b = good;
                                                  b.push_back(0);
                                                  return b;
                                                }()}};
  for (const auto& [what, key] : bad) {
    EXPECT_FALSE(public_key_is_valid(KeyAlgorithm::p256, key)) << what;
    EXPECT_FALSE(
        signature_is_valid(KeyAlgorithm::p256, key, as_bytes("sample"), sequence(integer(hex(kR)), integer(hex(kS)))))
        << what;
  }
}

TEST(P256, TakesScalarsInOneToOrderOnly) {
  Bytes order_minus_one = hex(kOrder);
  order_minus_one[31] -= 1;
  Bytes order_plus_one = hex(kOrder);
  order_plus_one[31] += 1;
  Bytes one(32);
  one[31] = 1;
  EXPECT_OK(make_signer(KeyAlgorithm::p256, one));
  EXPECT_OK(make_signer(KeyAlgorithm::p256, order_minus_one));
  for (const Bytes& bad : {Bytes(32), hex(kOrder), order_plus_one, Bytes(32, 0xff)}) {
    EXPECT_ERROR(make_signer(KeyAlgorithm::p256, bad), ErrorCode::invalid_argument, "must be in [1, n)");
  }
  EXPECT_ERROR(make_signer(KeyAlgorithm::p256, Bytes(31, 1)), ErrorCode::invalid_argument, "has 32 bytes");
  EXPECT_ERROR(make_signer(KeyAlgorithm::p256, Bytes(33, 1)), ErrorCode::invalid_argument, "has 32 bytes");
}

// ---- Both

class EitherAlgorithm : public testing::TestWithParam<KeyAlgorithm> {};
INSTANTIATE_TEST_SUITE_P(Signature, EitherAlgorithm, testing::Values(KeyAlgorithm::ed25519, KeyAlgorithm::p256),
                         [](const auto& parameter) {
                           return parameter.param == KeyAlgorithm::p256 ? "P256" : "Ed25519";
                         });

TEST_P(EitherAlgorithm, IsNeverValidAfterABitFlip) {
  const auto signer = signer_of(GetParam(), Bytes(32, 0x21));
  Bytes message = {'r', 'o', 'u', 'n', 'd'};
  Bytes signature = *signer->sign(message);
  Bytes key = signer->public_key();
  const auto valid = [&] { return signature_is_valid(GetParam(), key, message, signature); };
  ASSERT_TRUE(valid());
  for (Bytes* part : {&signature, &message, &key}) {
    for (size_t bit = 0; bit < part->size() * 8; ++bit) {
      (*part)[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_FALSE(valid()) << "bit " << bit << " of the "
                            << (part == &signature ? "signature"
                                : part == &key     ? "key"
                                                   : "message");
      (*part)[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
  }
  EXPECT_TRUE(valid());
}

TEST_P(EitherAlgorithm, IsNotValidUnderAnotherKeyOrTheOtherAlgorithm) {
  const auto signer = signer_of(GetParam(), Bytes(32, 1));
  const auto other = signer_of(GetParam(), Bytes(32, 2));
  const Bytes signature = *signer->sign(as_bytes("m"));
  EXPECT_TRUE(signature_is_valid(GetParam(), signer->public_key(), as_bytes("m"), signature));
  EXPECT_FALSE(signature_is_valid(GetParam(), other->public_key(), as_bytes("m"), signature));
  const KeyAlgorithm foreign = GetParam() == KeyAlgorithm::p256 ? KeyAlgorithm::ed25519 : KeyAlgorithm::p256;
  EXPECT_FALSE(signature_is_valid(foreign, signer->public_key(), as_bytes("m"), signature));
  EXPECT_FALSE(public_key_is_valid(foreign, signer->public_key()));
  const auto foreign_signer = signer_of(foreign, Bytes(32, 1));
  EXPECT_FALSE(signature_is_valid(GetParam(), foreign_signer->public_key(), as_bytes("m"), signature));
}

TEST_P(EitherAlgorithm, MakesFreshSecretsThatSign) {
  const Bytes secret = generate_secret(GetParam());
  EXPECT_EQ(secret.size(), 32u);
  EXPECT_NE(secret, generate_secret(GetParam()));
  const auto signer = signer_of(GetParam(), secret);
  EXPECT_TRUE(public_key_is_valid(GetParam(), signer->public_key()));
  EXPECT_TRUE(signature_is_valid(GetParam(), signer->public_key(), as_bytes("m"), *signer->sign(as_bytes("m"))));
  EXPECT_EQ(signer_of(GetParam(), secret)->public_key(), signer->public_key()) << "the secret is the whole key";
}

TEST(Signature, OfAnUnknownAlgorithmIsNothing) {
  const auto unknown = static_cast<KeyAlgorithm>(3);
  EXPECT_FALSE(signature_is_valid(unknown, Bytes(32), {}, Bytes(64)));
  EXPECT_FALSE(public_key_is_valid(unknown, Bytes(32)));
  EXPECT_ERROR(make_signer(unknown, Bytes(32)), ErrorCode::invalid_argument, "unknown key algorithm");
  EXPECT_ERROR(make_signer(KeyAlgorithm::ed25519, Bytes(31)), ErrorCode::invalid_argument, "32 bytes");
}

}  // namespace
}  // namespace coterie
