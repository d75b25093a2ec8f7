// Owning pointers for libcrypto's objects. Private to secure/crypto.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

namespace coterie {

template <auto kFree>
struct OpensslDelete {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

inline void free_bio(BIO* bio) { BIO_free(bio); }

using Bio = std::unique_ptr<BIO, OpensslDelete<free_bio>>;
using BigNumber = std::unique_ptr<BIGNUM, OpensslDelete<BN_clear_free>>;
using EcGroup = std::unique_ptr<EC_GROUP, OpensslDelete<EC_GROUP_free>>;
using EcPoint = std::unique_ptr<EC_POINT, OpensslDelete<EC_POINT_free>>;
using EvpKey = std::unique_ptr<EVP_PKEY, OpensslDelete<EVP_PKEY_free>>;
using EvpKeyContext = std::unique_ptr<EVP_PKEY_CTX, OpensslDelete<EVP_PKEY_CTX_free>>;
using EvpCipher = std::unique_ptr<EVP_CIPHER, OpensslDelete<EVP_CIPHER_free>>;
using EvpCipherContext = std::unique_ptr<EVP_CIPHER_CTX, OpensslDelete<EVP_CIPHER_CTX_free>>;
using EvpDigestContext = std::unique_ptr<EVP_MD_CTX, OpensslDelete<EVP_MD_CTX_free>>;
using Certificate = std::unique_ptr<X509, OpensslDelete<X509_free>>;

}  // namespace coterie
