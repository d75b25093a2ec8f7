#include "secure/identity/device_certificate.h"

#include <algorithm>

#include "proto/messages/secagg.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/field_reader.h"
#include "secure/crypto/sha256.h"
#include "secure/crypto/signature.h"
#include "secure/identity/signed_seconds.h"

namespace coterie {
namespace {

constexpr std::string_view kDomain = "coterie/v2/device-certificate";
constexpr size_t kSignatureBytes = 64;

Error bad(const std::string& problem) { return Error(ErrorCode::invalid_argument, "device certificate: " + problem); }
Error not_good(const std::string& problem) { return Error(ErrorCode::unauthenticated, "certificate: " + problem); }

bool is_short_enough(WallTime not_before, WallTime not_after) {
  return not_after > not_before && not_after - not_before <= kCertificateValidityMax;
}

DomainFields fields_of(const CertificateStatement& statement) {
  DomainFields fields(kDomain);
  fields.add(statement.issuer.view())
      .add(statement.serial)
      .add(std::string_view(statement.population.value()))
      .add(signed_seconds(statement.not_before))
      .add(signed_seconds(statement.not_after))
      .add(uint64_t{statement.has_lists});
  return fields;
}

// What is signed: the fields, and the key that they are about.
Bytes signed_text(ByteView fields, KeyAlgorithm algorithm, ByteView public_key) {
  // Two fields as DomainFields has them; the list that they end begins with a domain of its own.
  DomainFields key("key");
  key.add(static_cast<uint64_t>(algorithm)).add(public_key);
  Bytes text(fields.begin(), fields.end());
  text.insert(text.end(), key.view().begin(), key.view().end());
  return text;
}

DomainFields endless_text(const DeviceIdentity& identity) {
  DomainFields fields("coterie/v1/device-certificate");
  fields.add(static_cast<uint64_t>(identity.key_algorithm)).add(identity.public_key);
  return fields;
}

Result<CertificateStatement> parse(FieldReader& reader) {
  CertificateStatement statement;
  COT_TRY(reader.domain(kDomain));
  COT_ASSIGN(const ByteView issuer,
             reader.bytes("issuer", sizeof statement.issuer.bytes, sizeof statement.issuer.bytes));
  std::ranges::copy(issuer, statement.issuer.bytes.begin());
  COT_ASSIGN(statement.serial, reader.number("serial", UINT64_MAX));
  COT_ASSIGN(const ByteView population, reader.bytes("population", 1, kCertifiedPopulationBytesMax));
  statement.population = Population(std::string(as_text(population)));
  COT_ASSIGN(const uint64_t not_before, reader.number("not_before", kSignedSecondsMax));
  COT_ASSIGN(const uint64_t not_after, reader.number("not_after", kSignedSecondsMax));
  COT_ASSIGN(const uint64_t has_lists, reader.number("lists", 1));
  statement.not_before = time_of_seconds(not_before);
  statement.not_after = time_of_seconds(not_after);
  statement.has_lists = has_lists == 1;
  return statement;
}

std::string words(Millis duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) + " s";
}

}  // namespace

Digest authority_id(ByteView authority_key) {
  DomainFields fields("coterie/v1/authority-id");
  fields.add(authority_key);
  return sha256(fields.view());
}

Result<Bytes> make_device_certificate(CertificateStatement statement, KeyAlgorithm algorithm, ByteView public_key,
                                      const Signer& authority) {
  if (authority.algorithm() != KeyAlgorithm::ed25519) return bad("the authority's key must be Ed25519");
  if (!public_key_is_valid(algorithm, public_key)) return bad("not a public key of its algorithm");
  const size_t name_bytes = statement.population.value().size();
  if (name_bytes < 1 || name_bytes > kCertifiedPopulationBytesMax) return bad("a population has 1 to 64 characters");
  if (statement.serial == 0) return bad("a serial is not 0");
  if (!is_whole_second(statement.not_before) || !is_whole_second(statement.not_after)) {
    return bad("its times must be whole seconds since 1970");
  }
  if (!is_short_enough(statement.not_before, statement.not_after)) {
    return bad("it must end after it begins, and within " + std::to_string(kCertificateValidityMax.count()) + " days");
  }
  statement.issuer = authority_id(authority.public_key());
  DomainFields fields = fields_of(statement);
  COT_ASSIGN(const Bytes signature, authority.sign(signed_text(fields.view(), algorithm, public_key)));
  fields.add(signature);
  return Bytes(fields.view().begin(), fields.view().end());
}

Result<CertificateStatement> read_device_certificate(const DeviceIdentity& identity, ByteView authority_key) {
  if (identity.certificate.empty()) return not_good("there is none");
  if (identity.certificate.size() == kEndlessCertificateBytes) {
    return not_good("it is of the form before 0.3, which has no end: have the key certified anew");
  }
  FieldReader reader(identity.certificate, "certificate");
  const auto unauthenticated = [](const Error& error) { return Error(ErrorCode::unauthenticated, error.message()); };
  const Result<CertificateStatement> statement = parse(reader);
  if (!statement) return unauthenticated(statement.error());
  // The key is not in the certificate but is signed with it: it stands in the identity, and cannot be another one
  // there.
  const Bytes text = signed_text(reader.read_so_far(), identity.key_algorithm, identity.public_key);
  const Result<ByteView> signature = reader.bytes("signature", kSignatureBytes, kSignatureBytes);
  if (!signature) return unauthenticated(signature.error());
  if (const Status ended = reader.end(); !ended) return unauthenticated(ended.error());
  if (statement->issuer != authority_id(authority_key) ||
      !signature_is_valid(KeyAlgorithm::ed25519, authority_key, text, *signature)) {
    return not_good("it is not by this authority for this device's key");
  }
  // An authority of ours makes no other; one that is not ours might.
  if (statement->serial == 0 || !is_short_enough(statement->not_before, statement->not_after)) {
    return not_good("its serial is 0, or it is valid for more than " + std::to_string(kCertificateValidityMax.count()) +
                    " days");
  }
  return statement;
}

Status check_certificate_terms(const CertificateStatement& statement, const Population& population, WallTime now) {
  if (statement.population != population) {
    return not_good("it is for population " + statement.population.value() + ", not for " + population.value());
  }
  if (now + kCertificateClockAllowance < statement.not_before) {
    return not_good("it begins in " + words(statement.not_before - now));
  }
  if (now - kCertificateClockAllowance > statement.not_after) {
    return not_good("it ended " + words(now - statement.not_after) + " ago");
  }
  return {};
}

bool is_endless_certificate(const DeviceIdentity& identity, ByteView authority_key) {
  return identity.certificate.size() == kEndlessCertificateBytes &&
         signature_is_valid(KeyAlgorithm::ed25519, authority_key, endless_text(identity).view(), identity.certificate);
}

}  // namespace coterie
