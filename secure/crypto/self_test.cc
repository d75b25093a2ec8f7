#include "secure/crypto/self_test.h"

#include <algorithm>

#include "base/bytes.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/mac.h"
#include "secure/crypto/ristretto.h"
#include "secure/crypto/sha256.h"
#include "secure/crypto/signature.h"
#include "secure/crypto/slow_hash.h"
#include "secure/crypto/stream_cipher.h"
#include "secure/crypto/x25519.h"
#include "secure/crypto/xchacha20_poly1305.h"

namespace coterie {
namespace {

Bytes hex(std::string_view text) { return *from_hex(text); }

Secret<32> secret_of(std::string_view text) { return Secret<32>(std::span<const uint8_t, 32>(hex(text))); }

std::string first_32_of(CipherSuite suite, const Secret<32>& key) {
  const Result<KeyStream> stream = KeyStream::make(suite, key);
  Bytes bytes(32);
  if (stream) stream->write(0, bytes);
  return to_hex(bytes);
}

constexpr KnownAnswer kKnownAnswers[] = {
    // FIPS 180-4's example
    {"SHA-256", [] { return sha256(as_bytes("abc")).hex(); },
     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    // by Python: hmac.new(key, b"coterie test\0message", hashlib.sha256)
    {"HMAC-SHA256",
     [] {
       return mac(secret_of("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"), "coterie test",
                  as_bytes("message"))
           .hex();
     },
     "ddcdd7d9f3ec0c24584015f3e507878df8afd977aefbbcac2f520b0e15ee5b3b"},
    // RFC 5869 A.1
    {"HKDF-SHA256",
     [] {
       const Bytes salt = hex("000102030405060708090a0b0c"), input(22, 0x0b), info = hex("f0f1f2f3f4f5f6f7f8f9");
       return to_hex(hkdf<42>(salt, input, info).reveal());
     },
     "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
    // RFC 7748 6.1
    {"X25519",
     [] {
       const X25519KeyPair alice(secret_of("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
       const X25519KeyPair bob(secret_of("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
       const Result<Secret<32>> shared = alice.agree(bob.public_key());
       return shared ? to_hex(shared->reveal()) : shared.error().message();
     },
     "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"},
    // RFC 8032 7.1, TEST 2; empty if what was signed does not verify
    {"Ed25519",
     []() -> std::string {
       const auto signer =
           make_signer(KeyAlgorithm::ed25519, hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
       if (!signer) return signer.error().message();
       const Result<Bytes> signature = (*signer)->sign(hex("72"));
       if (!signature) return signature.error().message();
       const bool valid = signature_is_valid(KeyAlgorithm::ed25519, (*signer)->public_key(), hex("72"), *signature) &&
                          !signature_is_valid(KeyAlgorithm::ed25519, (*signer)->public_key(), hex("73"), *signature);
       return valid ? to_hex(*signature) : "";
     },
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
     "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
    // RFC 6979 A.2.5, "sample" with SHA-256: 01 if it verifies, and not for another message
    {"ECDSA P-256",
     []() -> std::string {
       const Bytes key = hex(
           "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb67903fe1008b8bc99a41ae9e95628bc64f2f1b20c"
           "2d7e9f5177a3c294d4462299");
       const Bytes signature = hex(
           "3046022100efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716022100f7cb1c942d657c41d436c7a1b6"
           "e29f65f3e900dbb9aff4064dc4ab2f843acda8");
       const auto valid = [&](std::string_view message) {
         return signature_is_valid(KeyAlgorithm::p256, key, as_bytes(message), signature);
       };
       return valid("sample") && !valid("Sample") ? "01" : "00";
     },
     "01"},
    // draft-irtf-cfrg-xchacha-03 A.3.1: the tag; empty if it does not open again
    {"XChaCha20-Poly1305",
     []() -> std::string {
       const CipherKey key = secret_of("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
       const Bytes nonce = hex("404142434445464748494a4b4c4d4e4f5051525354555657");
       const Bytes context = hex("50515253c0c1c2c3c4c5c6c7");
       constexpr std::string_view kText =
           "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
           "would be it.";
       Bytes sealed(kText.size() + kCipherTagBytes), opened(kText.size());
       const AuthenticatedCipher::Nonce given(nonce.data(), kCipherNonceBytes);
       seal_xchacha20_poly1305(key, given, context, as_bytes(kText), sealed);
       if (!open_xchacha20_poly1305(key, given, context, sealed, opened)) return "";
       return as_text(opened) == kText ? to_hex(ByteView(sealed).last(kCipherTagBytes)) : "";
     },
     "c0875924c1c7987947deafd8780acf49"},
    // the block numbers 0 and 1 by FIPS 197
    {"AES-256-CTR",
     [] {
       return first_32_of(CipherSuite::aes256_ctr,
                          secret_of("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"));
     },
     "f29000b62a499fd0a9f39a6add2e7780f05d76ae4ab99fe5a6f69b3148c2363d"},
    // RFC 8439 A.1, test vector 1
    {"ChaCha20", [] { return first_32_of(CipherSuite::chacha20, Secret<32>()); },
     "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"},
    // by libargon2: argon2id_hash_encoded of "coterie", salt 00..0f, 8 KiB, one pass
    {"Argon2id",
     [] {
       constexpr std::string_view kHash =
           "$argon2id$v=19$m=8,t=1,p=1$AAECAwQFBgcICQoLDA0ODw$sRWyaA5Dj5DtbqOBzYUy+N3zx5fj5oivFoPzmHhoRVM";
       return std::string(slow_hash_matches(kHash, "coterie") && !slow_hash_matches(kHash, "Coterie") ? "01" : "00");
     },
     "01"},
    // RFC 9496 A.1: twice the generator
    {"ristretto255",
     [] {
       Secret<32> two;
       two.mutable_bytes()[0] = 2;
       const Result<RistrettoElement> element = ristretto_multiply_base(two);
       return element ? to_hex(element->view()) : element.error().message();
     },
     "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919"},
};

}  // namespace

std::span<const KnownAnswer> known_answers() { return kKnownAnswers; }

Status check(std::span<const KnownAnswer> answers) {
  for (const KnownAnswer& answer : answers) {
    if (answer.compute() == answer.expected) continue;
    return Error(ErrorCode::internal, std::string(answer.primitive) +
                                          " gives a wrong answer, so nothing was started: install libsodium and "
                                          "OpenSSL of this machine's architecture anew");
  }
  return {};
}

Result<void> crypto_self_test() {
  static const Status once = check(known_answers());
  return once;
}

}  // namespace coterie
