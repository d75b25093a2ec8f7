#include "tests/unit/secure/android_chain.h"

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <memory>

namespace coterie::test {
namespace {

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Free<X509_free>>;

constexpr const char* kOid = "1.3.6.1.4.1.11129.2.1.17";
constexpr long kDay = 86'400;

void add(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  ASSERT_NE(extension, nullptr);
  ASSERT_EQ(X509_add_ext(certificate, extension.get(), -1), 1);
}

void add_description(X509* certificate, const Bytes& description) {
  std::unique_ptr<ASN1_OBJECT, Free<ASN1_OBJECT_free>> oid(OBJ_txt2obj(kOid, 1));
  std::unique_ptr<ASN1_OCTET_STRING, Free<ASN1_OCTET_STRING_free>> octets(ASN1_OCTET_STRING_new());
  ASN1_OCTET_STRING_set(octets.get(), description.data(), static_cast<int>(description.size()));
  std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> extension(
      X509_EXTENSION_create_by_OBJ(nullptr, oid.get(), 0, octets.get()));
  ASSERT_EQ(X509_add_ext(certificate, extension.get(), -1), 1);
}

struct Subject {
  const char* name;
  long serial;
  bool is_authority;
  WallTime now;
  long days = 30;
};

Cert make_certificate(const Subject& subject, EVP_PKEY* key, X509* issuer,
                      const std::function<void(X509*, X509*)>& extend) {
  Cert certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), subject.serial);
  const auto now = static_cast<time_t>(unix_ms(subject.now) / 1000);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), now - 60 * kDay);
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), now + subject.days * kDay);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const uint8_t*>(subject.name), -1, -1, 0);
  X509* const by = issuer == nullptr ? certificate.get() : issuer;
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(by));
  X509_set_pubkey(certificate.get(), key);
  if (subject.is_authority) {
    add(certificate.get(), by, NID_basic_constraints, "critical,CA:TRUE");
    add(certificate.get(), by, NID_key_usage, "critical,keyCertSign");
  }
  if (extend) extend(certificate.get(), by);
  return certificate;
}

void sign(X509* certificate, EVP_PKEY* by, const EVP_MD* digest = EVP_sha256()) {
  ASSERT_GT(X509_sign(certificate, by, digest), 0);
}

void append(Bytes& chain, X509* certificate) {
  uint8_t* der_bytes = nullptr;
  const int size = i2d_X509(certificate, &der_bytes);
  ASSERT_GT(size, 0);
  chain.insert(chain.end(), der_bytes, der_bytes + size);
  OPENSSL_free(der_bytes);
}

Bytes text_bytes(const std::string& text) { return Bytes(text.begin(), text.end()); }
Bytes small_integer(uint8_t value) { return der(0x02, {value}); }

// [tag] EXPLICIT, of an authorization list: two bytes of seven bits.
Bytes tagged(uint32_t tag, const Bytes& content) {
  Bytes all = {0xbf, static_cast<uint8_t>(0x80 | tag >> 7), static_cast<uint8_t>(tag & 0x7f)};
  const Bytes body = der(0, content);
  all.insert(all.end(), body.begin() + 1, body.end());
  return all;
}

Bytes hardware_members(const DescriptionText& text) {
  Bytes members;
  if (text.origin) members = members + tagged(702, small_integer(*text.origin));
  if (!text.has_root_of_trust) return members;
  const Bytes root = der(0x04, Bytes(32, 1)) + der(0x01, {static_cast<uint8_t>(text.is_locked ? 0xff : 0)}) +
                     der(0x0a, {text.boot_state}) + der(0x04, Bytes(32, 2));
  return members + tagged(704, der(0x30, root)) + tagged(705, small_integer(14));
}

}  // namespace

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes der(uint8_t tag, const Bytes& content) {
  Bytes bytes = {tag};
  if (content.size() < 128) {
    bytes.push_back(static_cast<uint8_t>(content.size()));
  } else if (content.size() < 256) {
    bytes = bytes + Bytes{0x81, static_cast<uint8_t>(content.size())};
  } else {
    bytes = bytes + Bytes{0x82, static_cast<uint8_t>(content.size() >> 8), static_cast<uint8_t>(content.size())};
  }
  return bytes + content;
}

Bytes der_of(const DescriptionText& text) {
  Bytes packages, digests;
  for (const std::string& name : text.packages) {
    packages = packages + der(0x30, der(0x04, text_bytes(name)) + small_integer(1));
  }
  for (const Bytes& digest : text.digests) digests = digests + der(0x04, digest);
  const Bytes application = der(0x30, der(0x31, packages) + der(0x31, digests));
  // purpose [1], which is of a tag of one byte, and creationDateTime [701] beside what is read.
  const Bytes purpose = der(0xa1, der(0x31, small_integer(2)));
  Bytes software = tagged(701, der(0x02, {1, 2, 3})) + tagged(709, der(0x04, application)), hardware = purpose;
  (text.hardware_says_in_software ? software : hardware) =
      (text.hardware_says_in_software ? software : hardware) + hardware_members(text);
  return der(0x30, small_integer(4) + der(0x0a, {text.attestation_level}) + small_integer(41) +
                       der(0x0a, {text.key_level}) + der(0x04, text.challenge) + der(0x04, {}) + der(0x30, software) +
                       der(0x30, hardware));
}

AndroidChain make_android_chain(const ChainOptions& options) {
  const Key root_key(EVP_EC_gen("P-256")), issuer_key(EVP_EC_gen("P-256"));
  const Key key(options.key_is_rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"));
  const Cert root = make_certificate({"root", 1, true, options.now}, root_key.get(), nullptr, nullptr);
  sign(root.get(), root_key.get());
  const auto extend_issuer = [&](X509* certificate, X509*) {
    if (options.extension_in_issuer) add_description(certificate, options.extension);
  };
  const Cert issuer =
      make_certificate({"issuer", 0xabcdef, options.issuer_is_authority, options.now, options.has_ended ? -1L : 30L},
                       issuer_key.get(), root.get(), extend_issuer);
  sign(issuer.get(), root_key.get());
  const auto extend = [&](X509* certificate, X509*) {
    if (options.has_extension) add_description(certificate, options.extension);
    if (options.extension_twice) add_description(certificate, options.extension);
  };
  const Cert leaf = make_certificate({"key", 3, false, options.now}, key.get(), issuer.get(), extend);
  sign(leaf.get(), issuer_key.get(), options.is_signed_with_sha1 ? EVP_sha1() : EVP_sha256());

  AndroidChain made;
  made.issuer_serial = "abcdef";
  append(made.chain, leaf.get());
  append(made.chain, issuer.get());
  append(made.chain, root.get());
  std::unique_ptr<BIO, Free<BIO_free_all>> pem(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_X509(pem.get(), root.get()), 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(pem.get(), &text);
  made.root_pem.assign(text, static_cast<size_t>(size));
  if (options.key_is_rsa) return made;
  made.public_key.resize(65);
  size_t point_size = 0;
  EXPECT_EQ(
      EVP_PKEY_get_octet_string_param(key.get(), OSSL_PKEY_PARAM_PUB_KEY, made.public_key.data(), 65, &point_size), 1);
  BIGNUM* scalar = nullptr;
  EXPECT_EQ(EVP_PKEY_get_bn_param(key.get(), OSSL_PKEY_PARAM_PRIV_KEY, &scalar), 1);
  made.secret.resize(32);
  EXPECT_EQ(BN_bn2binpad(scalar, made.secret.data(), 32), 32);
  BN_clear_free(scalar);
  return made;
}

}  // namespace coterie::test
