#include "secure/crypto/p256.h"

#include <openssl/core_names.h>
#include <openssl/obj_mac.h>
#include <openssl/param_build.h>

#include "secure/crypto/openssl_handles.h"

namespace coterie {
namespace {

using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, OpensslDelete<OSSL_PARAM_BLD_free>>;
using EcdsaSignature = std::unique_ptr<ECDSA_SIG, OpensslDelete<ECDSA_SIG_free>>;
using Params = std::unique_ptr<OSSL_PARAM, OpensslDelete<OSSL_PARAM_free>>;

constexpr size_t kPointBytes = 65;
constexpr size_t kScalarBytes = 32;

EvpKey make_key(int selection, OSSL_PARAM* params) {
  EvpKeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* key = nullptr;
  if (!context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, selection, params) != 1) {
    return nullptr;
  }
  return EvpKey(key);
}

EvpKey public_key_from(ByteView point) {
  // Uncompressed points only: a key has one encoding, as its digest is a device's name.
  if (point.size() != kPointBytes || point[0] != 0x04) return nullptr;
  char group[] = "P-256";
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, const_cast<uint8_t*>(point.data()), point.size()),
      OSSL_PARAM_construct_end()};
  return make_key(EVP_PKEY_PUBLIC_KEY, params);
}

// The public point of a private scalar, uncompressed; empty if the scalar is not in [1, n).
Bytes point_of(ByteView scalar) {
  EcGroup group(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  BigNumber number(BN_bin2bn(scalar.data(), static_cast<int>(scalar.size()), nullptr));
  if (!group || !number || BN_is_zero(number.get()) || BN_cmp(number.get(), EC_GROUP_get0_order(group.get())) >= 0) {
    return {};
  }
  EcPoint point(EC_POINT_new(group.get()));
  Bytes bytes(kPointBytes);
  if (!point || EC_POINT_mul(group.get(), point.get(), number.get(), nullptr, nullptr, nullptr) != 1 ||
      EC_POINT_point2oct(group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED, bytes.data(), bytes.size(),
                         nullptr) != bytes.size()) {
    return {};
  }
  return bytes;
}

EvpKey private_key_from(ByteView scalar, const Bytes& point) {
  BigNumber number(BN_bin2bn(scalar.data(), static_cast<int>(scalar.size()), nullptr));
  ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, number.get()) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1) {
    return nullptr;
  }
  Params params(OSSL_PARAM_BLD_to_param(builder.get()));
  return params ? make_key(EVP_PKEY_KEYPAIR, params.get()) : nullptr;
}

class P256Signer : public Signer {
 public:
  P256Signer(EvpKey key, Bytes point) : key_(std::move(key)), public_key_(std::move(point)) {}
  KeyAlgorithm algorithm() const override { return KeyAlgorithm::p256; }
  const Bytes& public_key() const override { return public_key_; }
  Result<Bytes> sign(ByteView message) const override {
    EvpDigestContext context(EVP_MD_CTX_new());
    Bytes signature(80);
    size_t size = signature.size();
    if (!context ||
        EVP_DigestSignInit_ex(context.get(), nullptr, "SHA256", nullptr, nullptr, key_.get(), nullptr) != 1 ||
        EVP_DigestSign(context.get(), signature.data(), &size, message.data(), message.size()) != 1) {
      return Error(ErrorCode::internal, "libcrypto could not sign with the P-256 key");
    }
    signature.resize(size);
    return signature;
  }

 private:
  EvpKey key_;
  Bytes public_key_;
};

}  // namespace

bool p256_is_valid(ByteView public_key, ByteView message, ByteView der_signature) {
  const EvpKey key = public_key_from(public_key);
  EvpDigestContext context(EVP_MD_CTX_new());
  return key && context &&
         EVP_DigestVerifyInit_ex(context.get(), nullptr, "SHA256", nullptr, nullptr, key.get(), nullptr) == 1 &&
         EVP_DigestVerify(context.get(), der_signature.data(), der_signature.size(), message.data(), message.size()) ==
             1;
}

bool p256_raw_signature_is_valid(ByteView public_key, ByteView message, ByteView r_and_s) {
  if (r_and_s.size() != 2 * kScalarBytes) return false;
  BigNumber r(BN_bin2bn(r_and_s.data(), kScalarBytes, nullptr));
  BigNumber s(BN_bin2bn(r_and_s.data() + kScalarBytes, kScalarBytes, nullptr));
  EcdsaSignature signature(ECDSA_SIG_new());
  // Which takes the two numbers over. That they are in [1, n) is checked when the signature is.
  if (!r || !s || !signature || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return false;
  (void)r.release();
  (void)s.release();
  const int size = i2d_ECDSA_SIG(signature.get(), nullptr);
  if (size <= 0) return false;
  Bytes der(static_cast<size_t>(size));
  uint8_t* end = der.data();
  return i2d_ECDSA_SIG(signature.get(), &end) == size && p256_is_valid(public_key, message, der);
}

bool p256_key_is_valid(ByteView public_key) {
  const EvpKey key = public_key_from(public_key);
  if (!key) return false;
  EvpKeyContext context(EVP_PKEY_CTX_new(key.get(), nullptr));
  return context && EVP_PKEY_public_check(context.get()) == 1;
}

Status p256_can_sign() { return {}; }

Result<std::unique_ptr<Signer>> make_p256_signer(ByteView scalar) {
  if (scalar.size() != kScalarBytes) return Error(ErrorCode::invalid_argument, "a P-256 private key has 32 bytes");
  Bytes point = point_of(scalar);
  EvpKey key = point.empty() ? nullptr : private_key_from(scalar, point);
  if (!key) return Error(ErrorCode::invalid_argument, "not a P-256 private key: must be in [1, n)");
  return std::unique_ptr<Signer>(std::make_unique<P256Signer>(std::move(key), std::move(point)));
}

}  // namespace coterie
