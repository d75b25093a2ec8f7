#include "secure/crypto/dev_ca.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "secure/crypto/openssl_handles.h"
#include "secure/crypto/random.h"

namespace coterie {
namespace {

Error failed(const char* what) { return Error(ErrorCode::internal, std::string("libcrypto could not ") + what); }

std::string drain(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

Result<PemPair> to_pem(X509* certificate, EVP_PKEY* key) {
  Bio certificate_bio(BIO_new(BIO_s_mem()));
  Bio key_bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_bio.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(key_bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return failed("write PEM");
  }
  return PemPair{drain(certificate_bio.get()), drain(key_bio.get())};
}

Certificate read_certificate(const std::string& pem) {
  Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

EvpKey read_key(const std::string& pem) {
  Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return EvpKey(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// Version 3, random 127-bit serial (RFC 5280 wants it positive), subject CN, validity from an hour ago.
bool fill_in(X509* certificate, EVP_PKEY* key, const char* common_name, WallTime now, int days) {
  Bytes serial_bytes = random_bytes(16);
  serial_bytes[0] &= 0x7f;
  BigNumber serial(BN_bin2bn(serial_bytes.data(), static_cast<int>(serial_bytes.size()), nullptr));
  const time_t start = static_cast<time_t>(unix_ms(now) / 1000 - 3600);
  X509_NAME* name = X509_get_subject_name(certificate);
  return X509_set_version(certificate, X509_VERSION_3) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const uint8_t*>(common_name), -1, -1,
                                    0) == 1 &&
         ASN1_TIME_set(X509_getm_notBefore(certificate), start) != nullptr &&
         ASN1_TIME_adj(X509_getm_notAfter(certificate), start, days, 0) != nullptr &&
         X509_set_pubkey(certificate, key) == 1;
}

bool is_ip_address(const std::string& name) {
  uint8_t address[16];
  return inet_pton(AF_INET, name.c_str(), address) == 1 || inet_pton(AF_INET6, name.c_str(), address) == 1;
}

}  // namespace

Result<PemPair> make_dev_ca(WallTime now, int days) {
  EvpKey key(EVP_EC_gen("P-256"));
  Certificate certificate(X509_new());
  if (!key || !certificate) return failed("generate a key");
  X509* const ca = certificate.get();
  if (!fill_in(ca, key.get(), "Coterie development CA", now, days) ||
      X509_set_issuer_name(ca, X509_get_subject_name(ca)) != 1 ||
      !add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(ca, ca, NID_subject_key_identifier, "hash") || X509_sign(ca, key.get(), EVP_sha256()) == 0) {
    return failed("make the development CA");
  }
  return to_pem(ca, key.get());
}

namespace {

Result<PemPair> make_certificate(const PemPair& ca, const std::vector<std::string>& names, const char* uses,
                                 WallTime now, int days) {
  COT_ASSERT(!names.empty());
  const Certificate issuer = read_certificate(ca.certificate);
  const EvpKey issuer_key = read_key(ca.private_key);
  if (!issuer || !issuer_key) return Error(ErrorCode::invalid_argument, "the CA's PEM does not parse");
  std::string alternative_names;
  for (const std::string& name : names) {
    if (!alternative_names.empty()) alternative_names += ",";
    alternative_names += (is_ip_address(name) ? "IP:" : "DNS:") + name;
  }
  EvpKey key(EVP_EC_gen("P-256"));
  Certificate certificate(X509_new());
  X509* const leaf = certificate.get();
  if (!key || !certificate || !fill_in(leaf, key.get(), names.front().c_str(), now, days) ||
      X509_set_issuer_name(leaf, X509_get_subject_name(issuer.get())) != 1 ||
      !add_extension(leaf, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(leaf, issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !add_extension(leaf, issuer.get(), NID_ext_key_usage, uses) ||
      !add_extension(leaf, issuer.get(), NID_authority_key_identifier, "keyid") ||
      !add_extension(leaf, issuer.get(), NID_subject_alt_name, alternative_names) ||
      X509_sign(leaf, issuer_key.get(), EVP_sha256()) == 0) {
    return failed("make the certificate");
  }
  return to_pem(leaf, key.get());
}

}  // namespace

Result<PemPair> make_server_certificate(const PemPair& ca, const std::vector<std::string>& names, WallTime now,
                                        int days) {
  return make_certificate(ca, names, "serverAuth", now, days);
}

Result<PemPair> make_peer_certificate(const PemPair& ca, const std::vector<std::string>& names, WallTime now,
                                      int days) {
  return make_certificate(ca, names, "serverAuth,clientAuth", now, days);
}

Result<WallTime> certificate_not_after(const std::string& pem) {
  const Certificate certificate = read_certificate(pem);
  struct tm fields {};
  if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &fields) != 1) {
    return Error(ErrorCode::malformed, "not a PEM certificate");
  }
  return wall_time_from_unix_ms(static_cast<int64_t>(timegm(&fields)) * 1000);
}

}  // namespace coterie
