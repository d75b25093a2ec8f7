#include "secure/crypto/x509_chain.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "secure/crypto/openssl_handles.h"

namespace coterie {
namespace {

inline void free_stack(STACK_OF(X509) * stack) { sk_X509_free(stack); }  // not what is in it
inline void free_memory(void* memory) { OPENSSL_free(memory); }

using Store = std::unique_ptr<X509_STORE, OpensslDelete<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, OpensslDelete<X509_STORE_CTX_free>>;
using Stack = std::unique_ptr<STACK_OF(X509), OpensslDelete<free_stack>>;
using Oid = std::unique_ptr<ASN1_OBJECT, OpensslDelete<ASN1_OBJECT_free>>;
using Text = std::unique_ptr<char, OpensslDelete<free_memory>>;

constexpr size_t kPointBytes = 65;
constexpr int kSecurityLevel = 2;  // of libcrypto: 112 bits, so RSA from 2048 bits on and no SHA-1
constexpr int kIsAuthority = 1;    // X509_check_ca: it has the basic constraint, not only the looks of an old one

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, "chain of certificates: " + what); }
Error denied(const std::string& what) { return Error(ErrorCode::permission_denied, "chain of certificates: " + what); }
Error failed() { return Error(ErrorCode::internal, "libcrypto could not verify a chain of certificates"); }

Result<std::vector<Certificate>> read_chain(ByteView chain) {
  std::vector<Certificate> certificates;
  const uint8_t* at = chain.data();
  const uint8_t* const end = at + chain.size();
  while (at != end) {
    if (certificates.size() == kChainCertificatesMax) {
      return malformed("it has more than " + std::to_string(kChainCertificatesMax) + " certificates");
    }
    Certificate certificate(d2i_X509(nullptr, &at, end - at));
    ERR_clear_error();
    if (!certificate) return malformed("certificate " + std::to_string(certificates.size() + 1) + " is none");
    certificates.push_back(std::move(certificate));
  }
  if (certificates.empty()) return malformed("there is none in it");
  return certificates;
}

Result<Store> read_roots(const std::string& pem) {
  Store store(X509_STORE_new());
  Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!store || !bio) return failed();
  size_t count = 0;
  while (const Certificate root{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(store.get(), root.get()) != 1) return failed();
    ++count;
  }
  ERR_clear_error();
  // The end of the text left an error behind as well: libcrypto's queue must be empty for whoever asks it next.
  if (count > 0) return store;
  return Error(ErrorCode::invalid_argument, "roots: there is no certificate in PEM among them");
}

std::string serial_of(X509* certificate) {
  const BigNumber number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  const Text text(number ? BN_bn2hex(number.get()) : nullptr);
  if (!text) return {};
  std::string serial(text.get());
  std::ranges::transform(serial, serial.begin(), [](char c) { return c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c; });
  serial.erase(0, std::min(serial.find_first_not_of('0'), serial.size()));
  return serial;
}

// The path from the first certificate to a root, both included, at terms.now.
Status verify_path(const std::vector<Certificate>& certificates, X509_STORE* store, const ChainTerms& terms) {
  Stack others(sk_X509_new_null());
  StoreContext context(X509_STORE_CTX_new());
  if (!others || !context) return failed();
  for (size_t i = 1; i < certificates.size(); ++i) {
    if (sk_X509_push(others.get(), certificates[i].get()) == 0) return failed();
  }
  if (X509_STORE_CTX_init(context.get(), store, certificates[0].get(), others.get()) != 1) return failed();
  // The caller's time: libcrypto would take this machine's clock.
  X509_STORE_CTX_set_time(context.get(), 0, static_cast<time_t>(unix_ms(terms.now) / 1000));
  X509_VERIFY_PARAM* const parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_depth(parameters, static_cast<int>(kChainCertificatesMax));
  X509_VERIFY_PARAM_set_auth_level(parameters, kSecurityLevel);
  if (X509_verify_cert(context.get()) != 1) {
    const int error = X509_STORE_CTX_get_error(context.get());
    ERR_clear_error();
    return denied(X509_verify_cert_error_string(error));
  }
  // The path that was found, with its root: a chain may carry certificates that are not on it.
  STACK_OF(X509)* path = X509_STORE_CTX_get0_chain(context.get());
  for (int i = 0; i < sk_X509_num(path); ++i) {
    X509* const certificate = sk_X509_value(path, i);
    if (i > 0 && X509_check_ca(certificate) != kIsAuthority) return denied("an issuer in it is no authority");
    if (std::ranges::count(terms.revoked_serials, serial_of(certificate)) > 0) {
      return denied("the certificate with serial " + serial_of(certificate) + " is revoked");
    }
  }
  return {};
}

// The first certificate's. Twice or elsewhere: whoever looked at another one would believe something else.
Result<Bytes> only_extension(const std::vector<Certificate>& certificates, const std::string& oid_text) {
  const Oid oid(OBJ_txt2obj(oid_text.c_str(), 1));
  if (!oid) return failed();
  for (size_t i = 1; i < certificates.size(); ++i) {
    if (X509_get_ext_by_OBJ(certificates[i].get(), oid.get(), -1) >= 0) {
      return denied("extension " + oid_text + " is in a certificate of an issuer");
    }
  }
  X509* const leaf = certificates[0].get();
  const int at = X509_get_ext_by_OBJ(leaf, oid.get(), -1);
  if (at < 0) return denied("the first certificate has no extension " + oid_text);
  if (X509_get_ext_by_OBJ(leaf, oid.get(), at) >= 0) return denied("extension " + oid_text + " is there twice");
  const ASN1_OCTET_STRING* octets = X509_EXTENSION_get_data(X509_get_ext(leaf, at));
  const uint8_t* data = ASN1_STRING_get0_data(octets);
  return Bytes(data, data + ASN1_STRING_length(octets));
}

Result<Bytes> p256_key_of(X509* certificate) {
  const EvpKey key(X509_get_pubkey(certificate));
  ERR_clear_error();
  char group[32] = "";
  size_t size = 0;
  // The curve by name: a key with parameters of its own could be on a curve that its owner chose to be weak.
  if (!key || EVP_PKEY_get_group_name(key.get(), group, sizeof group, &size) != 1 ||
      std::string_view(group, size) != "prime256v1") {
    ERR_clear_error();
    return denied("the first certificate's key is not of P-256");
  }
  Bytes point(kPointBytes);
  if (EVP_PKEY_set_utf8_string_param(key.get(), OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, "uncompressed") != 1 ||
      EVP_PKEY_get_octet_string_param(key.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(), &size) != 1 ||
      size != kPointBytes) {
    ERR_clear_error();
    return failed();
  }
  return point;
}

}  // namespace

Result<VerifiedLeaf> verify_x509_chain(ByteView chain, const ChainTerms& terms) {
  COT_ASSIGN(const Store store, read_roots(terms.roots_pem));
  COT_ASSIGN(const std::vector<Certificate> certificates, read_chain(chain));
  COT_TRY(verify_path(certificates, store.get(), terms));
  VerifiedLeaf leaf;
  COT_ASSIGN(leaf.extension, only_extension(certificates, terms.extension_oid));
  COT_ASSIGN(leaf.public_key, p256_key_of(certificates[0].get()));
  return leaf;
}

}  // namespace coterie
