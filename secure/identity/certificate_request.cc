#include "secure/identity/certificate_request.h"

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/field_reader.h"
#include "secure/crypto/signature.h"
#include "secure/identity/device_certificate.h"

namespace coterie {
namespace {

constexpr std::string_view kDomain = "coterie/v1/certificate-request", kWhat = "certificate request";
constexpr size_t kKeyBytesMax = 65, kCertificateBytesMax = 1024, kSignatureBytesMax = 80;  // as on the wire

Bytes owned(ByteView bytes) { return Bytes(bytes.begin(), bytes.end()); }

}  // namespace

Result<Bytes> make_certificate_request(CertificateRequest request, const Signer& device) {
  COT_TRY(validate(request.attestation));
  DomainFields fields(kDomain);
  fields.add(static_cast<uint64_t>(device.algorithm()))
      .add(device.public_key())
      .add(std::string_view(request.population.value()))
      .add(request.identity.certificate)
      .add(static_cast<uint64_t>(request.attestation.format))
      .add(request.attestation.nonce)
      .add(request.attestation.blob);
  COT_ASSIGN(const Bytes signature, device.sign(fields.view()));
  fields.add(signature);
  return owned(fields.view());
}

Result<CertificateRequest> read_certificate_request(ByteView bytes) {
  if (bytes.size() > kCertificateRequestBytesMax) {
    return Error(ErrorCode::too_large, std::string(kWhat) + ": has " + std::to_string(bytes.size()) +
                                           " bytes, at most " + std::to_string(kCertificateRequestBytesMax) +
                                           " are read");
  }
  CertificateRequest request;
  FieldReader reader(bytes, kWhat);
  COT_TRY(reader.domain(kDomain));
  COT_ASSIGN(const uint64_t algorithm, reader.number("key algorithm", static_cast<uint64_t>(KeyAlgorithm::p256)));
  request.identity.key_algorithm = static_cast<KeyAlgorithm>(algorithm);
  COT_ASSIGN(const ByteView key, reader.bytes("public key", kAuthorityKeyBytes, kKeyBytesMax));
  COT_ASSIGN(const ByteView population, reader.bytes("population", 1, kCertifiedPopulationBytesMax));
  COT_ASSIGN(const ByteView certificate, reader.bytes("certificate", 0, kCertificateBytesMax));
  COT_ASSIGN(const uint64_t format, reader.number("format", static_cast<uint64_t>(AttestationFormat::opaque)));
  COT_ASSIGN(const ByteView nonce, reader.bytes("nonce", 0, kAttestationNonceBytes));
  COT_ASSIGN(const ByteView blob, reader.bytes("attestation", 0, kAttestationBytesMax));
  const ByteView text = reader.read_so_far();
  COT_ASSIGN(const ByteView signature, reader.bytes("signature", 1, kSignatureBytesMax));
  COT_TRY(reader.end());
  request.identity.public_key = owned(key);
  request.identity.certificate = owned(certificate);
  request.population = Population(std::string(as_text(population)));
  request.attestation = {static_cast<AttestationFormat>(format), owned(nonce), owned(blob)};
  if (const Status valid = validate(request.attestation); !valid) {
    return Error(ErrorCode::malformed, std::string(kWhat) + ": " + valid.error().message());
  }
  if (!signature_is_valid(request.identity.key_algorithm, key, text, signature)) {
    return Error(ErrorCode::unauthenticated, std::string(kWhat) + ": it is not signed by the key that it is about");
  }
  return request;
}

}  // namespace coterie
