#include "secure/crypto/rsa.h"

#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <bit>

#include "secure/crypto/openssl_handles.h"

namespace coterie {
namespace {

using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, OpensslDelete<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, OpensslDelete<OSSL_PARAM_free>>;

constexpr size_t kExponentBytesMax = 4;

bool is_minimal_and_odd(ByteView number) { return !number.empty() && number.front() != 0 && (number.back() & 1) == 1; }

EvpKey key_from(const RsaPublicKey& key) {
  BigNumber modulus(BN_bin2bn(key.modulus.data(), static_cast<int>(key.modulus.size()), nullptr));
  BigNumber exponent(BN_bin2bn(key.exponent.data(), static_cast<int>(key.exponent.size()), nullptr));
  ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!modulus || !exponent || !builder ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1) {
    return nullptr;
  }
  Params params(OSSL_PARAM_BLD_to_param(builder.get()));
  EvpKeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  EVP_PKEY* made = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return nullptr;
  }
  return EvpKey(made);
}

}  // namespace

bool rsa_key_is_valid(const RsaPublicKey& key) {
  if (!is_minimal_and_odd(key.modulus) || !is_minimal_and_odd(key.exponent)) return false;
  if (key.modulus.size() > kRsaModulusBitsMax / 8 || key.exponent.size() > kExponentBytesMax) return false;
  const size_t bits = key.modulus.size() * 8 - static_cast<size_t>(std::countl_zero(key.modulus.front()));
  uint32_t exponent = 0;
  for (uint8_t byte : key.exponent) exponent = exponent << 8 | byte;
  return bits >= kRsaModulusBitsMin && exponent >= kRsaExponentMin;
}

bool rs256_is_valid(const RsaPublicKey& key, ByteView message, ByteView signature) {
  if (!rsa_key_is_valid(key) || signature.size() != key.modulus.size()) return false;
  const EvpKey public_key = key_from(key);
  EvpDigestContext context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* options = nullptr;  // the digest context's
  return public_key && context &&
         EVP_DigestVerifyInit_ex(context.get(), &options, "SHA256", nullptr, nullptr, public_key.get(), nullptr) == 1 &&
         EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PADDING) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(), message.size()) == 1;
}

}  // namespace coterie
