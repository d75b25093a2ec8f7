#include "secure/crypto/dev_ca.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "tests/support/matchers.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

struct FreeX509 {
  void operator()(X509* c) const { X509_free(c); }
  void operator()(X509_STORE* s) const { X509_STORE_free(s); }
  void operator()(X509_STORE_CTX* c) const { X509_STORE_CTX_free(c); }
  void operator()(EVP_PKEY* k) const { EVP_PKEY_free(k); }
  void operator()(BIO* b) const { BIO_free(b); }
  void operator()(ASN1_INTEGER* i) const { ASN1_INTEGER_free(i); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeX509>;

constexpr int64_t kDayMs = 86'400'000;
const WallTime kNow = wall_time_from_unix_ms(1'750'000'000'000);

Owned<X509> certificate_of(const std::string& pem) {
  const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Owned<X509>(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

Owned<EVP_PKEY> key_of(const std::string& pem) {
  const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

// What a TLS client does: chain to the root, purpose, time. The reason, or "ok".
std::string verdict(const PemPair& root, const std::string& leaf_pem, WallTime at, X509* intermediate = nullptr) {
  const Owned<X509_STORE> store(X509_STORE_new());
  const Owned<X509> ca = certificate_of(root.certificate);
  const Owned<X509> leaf = certificate_of(leaf_pem);
  X509_STORE_add_cert(store.get(), ca.get());
  const Owned<X509_STORE_CTX> context(X509_STORE_CTX_new());
  STACK_OF(X509)* chain = sk_X509_new_null();
  if (intermediate != nullptr) sk_X509_push(chain, intermediate);
  X509_STORE_CTX_init(context.get(), store.get(), leaf.get(), chain);
  X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(parameters, static_cast<time_t>(unix_ms(at) / 1000));
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_X509_STRICT);
  const bool ok = X509_verify_cert(context.get()) == 1;
  const std::string reason = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  sk_X509_free(chain);
  return ok ? "ok" : reason;
}

class DevCa : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ca_ = new PemPair(*make_dev_ca(kNow, 100));
    server_ =
        new PemPair(*make_server_certificate(*ca_, {"localhost", "fl.example.org", "127.0.0.1", "::1"}, kNow, 50));
  }
  static void TearDownTestSuite() {
    delete ca_;
    delete server_;
  }
  static inline const PemPair* ca_ = nullptr;
  static inline const PemPair* server_ = nullptr;
};

TEST_F(DevCa, MakesAServerCertificateThatVerifiesAgainstIt) {
  EXPECT_EQ(verdict(*ca_, server_->certificate, kNow), "ok");
  EXPECT_EQ(verdict(*ca_, ca_->certificate, kNow), "unsuitable certificate purpose") << "the CA itself is no server";
}

TEST_F(DevCa, NamesEveryHostAndAddressItWasAskedFor) {
  const Owned<X509> leaf = certificate_of(server_->certificate);
  for (const char* host : {"localhost", "fl.example.org"})
    EXPECT_EQ(X509_check_host(leaf.get(), host, 0, 0, nullptr), 1);
  for (const char* address : {"127.0.0.1", "::1"}) EXPECT_EQ(X509_check_ip_asc(leaf.get(), address, 0), 1) << address;
  for (const char* host : {"example.org", "127.0.0.1", "a.fl.example.org"}) {
    EXPECT_EQ(X509_check_host(leaf.get(), host, 0, 0, nullptr), 0) << host;
  }
  for (const char* address : {"127.0.0.2", "::2"}) EXPECT_EQ(X509_check_ip_asc(leaf.get(), address, 0), 0) << address;
}

TEST_F(DevCa, IsValidForTheDaysItWasAskedForFromAnHourBefore) {
  const auto at = [](int64_t ms) { return kNow + Millis(ms); };
  EXPECT_EQ(verdict(*ca_, server_->certificate, at(-3'000'000)), "ok") << "a client whose clock is behind";
  EXPECT_EQ(verdict(*ca_, server_->certificate, at(-3'700'000)), "certificate is not yet valid");
  EXPECT_EQ(verdict(*ca_, server_->certificate, at(50 * kDayMs - 3'700'000)), "ok");
  EXPECT_EQ(verdict(*ca_, server_->certificate, at(50 * kDayMs)), "certificate has expired");
  EXPECT_EQ(*certificate_not_after(server_->certificate), at(50 * kDayMs - 3'600'000));
  EXPECT_EQ(*certificate_not_after(ca_->certificate), at(100 * kDayMs - 3'600'000));
}

TEST_F(DevCa, IsNotTrustedByWhoTrustsAnotherCa) {
  const PemPair other = *make_dev_ca(kNow, 100);
  EXPECT_NE(verdict(other, server_->certificate, kNow), "ok");
}

// A stolen server key signs a certificate for another name.
TEST_F(DevCa, CannotBeExtendedByAServersKey) {
  const Owned<X509> server = certificate_of(server_->certificate);
  const Owned<EVP_PKEY> stolen = key_of(server_->private_key);
  const Owned<X509> forged(X509_dup(server.get()));
  X509_set_issuer_name(forged.get(), X509_get_subject_name(server.get()));
  ASSERT_GT(X509_sign(forged.get(), stolen.get(), EVP_sha256()), 0);
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  ASSERT_EQ(PEM_write_bio_X509(bio.get(), forged.get()), 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  EXPECT_NE(verdict(*ca_, std::string(text, static_cast<size_t>(size)), kNow, server.get()), "ok");
}

TEST_F(DevCa, GivesEveryCertificateItsOwnSerialAndTheKeyThatBelongsToIt) {
  const Owned<X509> leaf = certificate_of(server_->certificate);
  const Owned<X509> ca = certificate_of(ca_->certificate);
  EXPECT_EQ(X509_check_private_key(leaf.get(), key_of(server_->private_key).get()), 1);
  EXPECT_EQ(X509_check_private_key(ca.get(), key_of(ca_->private_key).get()), 1);
  EXPECT_EQ(X509_get_version(leaf.get()), X509_VERSION_3);
  EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(leaf.get()), X509_get0_serialNumber(ca.get())), 0);
  EXPECT_EQ(X509_get_extension_flags(ca.get()) & EXFLAG_CA, EXFLAG_CA);
  EXPECT_EQ(X509_get_pathlen(ca.get()), 0) << "it signs leaves only";
  EXPECT_EQ(X509_get_extension_flags(leaf.get()) & EXFLAG_CA, 0u);
  EXPECT_EQ(X509_get_key_usage(leaf.get()), static_cast<uint32_t>(KU_DIGITAL_SIGNATURE));
}

TEST_F(DevCa, SaysWhenItsInputIsNoPem) {
  EXPECT_ERROR(make_server_certificate({"no PEM", ca_->private_key}, {"a"}, kNow, 1), ErrorCode::invalid_argument,
               "does not parse");
  EXPECT_ERROR(make_server_certificate({ca_->certificate, ""}, {"a"}, kNow, 1), ErrorCode::invalid_argument,
               "does not parse");
  EXPECT_ERROR(certificate_not_after(""), ErrorCode::malformed, "not a PEM certificate");
  EXPECT_ERROR(certificate_not_after(ca_->private_key), ErrorCode::malformed, "not a PEM certificate");
  const test::ThrowingAsserts guard;
  EXPECT_THROW((void)make_server_certificate(*ca_, {}, kNow, 1), AssertionFailure);
}

}  // namespace
}  // namespace coterie
