#include "secure/identity/certificate_authority.h"

#include <string>

#include "secure/crypto/signature.h"
#include "secure/identity/authority_nonce.h"
#include "secure/identity/certificate_judge.h"
#include "secure/identity/certificate_request.h"
#include "secure/identity/revocation_list.h"
#include "secure/identity/signed_seconds.h"

namespace coterie {
namespace {

Error denied(const std::string& why) { return Error(ErrorCode::permission_denied, why); }

// That the request's certificate was not revoked, whatever else is wrong with it.
Status check_not_revoked(const CertificateRequest& request, const AuthorityTerms& terms, ByteView authority_key) {
  const auto statement = read_device_certificate(request.identity, authority_key);
  if (!statement || terms.list == nullptr || !terms.list->names(statement->serial)) return {};
  return denied("certificate request: the certificate of this device was revoked");
}

Status judge_attestation(const CertificateRequest& request, const AuthorityTerms& terms, const Signer& authority) {
  // Also with a fresh attestation: a device that was shut out must not come back by attesting again.
  COT_TRY(check_not_revoked(request, terms, authority.public_key()));
  COT_TRY(check_authority_nonce(request.attestation.nonce, terms.now, authority));
  for (const AttestationJudge* judge : terms.judges) {
    if (judge->format() == request.attestation.format) return judge->judge(request, terms.now);
  }
  return denied("certificate request: this authority judges no attestation of format " +
                std::string(to_string(request.attestation.format)));
}

Status judge_renewal(const CertificateRequest& request, const AuthorityTerms& terms, const Signer& authority) {
  if (request.identity.certificate.empty()) {
    return denied("certificate request: there is neither a certificate to renew nor an attestation");
  }
  const Bytes authority_key = authority.public_key();
  const Status good = judge_certificate(request.identity, {.authority_key = authority_key,
                                                           .population = request.population,
                                                           .now = terms.now,
                                                           .list = terms.list,
                                                           .asks_for_list = false});
  return good ? Status() : denied(good.error().message());
}

}  // namespace

Result<Bytes> answer_request(const CertificateRequest& request, const AuthorityTerms& terms, const Signer& authority) {
  const bool is_attested = request.attestation.format != AttestationFormat::none;
  COT_TRY(is_attested ? judge_attestation(request, terms, authority) : judge_renewal(request, terms, authority));
  const WallTime begins = time_of_seconds(signed_seconds(terms.now));
  return make_device_certificate({.issuer = {},
                                  .serial = terms.serial,
                                  .population = request.population,
                                  .not_before = begins,
                                  .not_after = begins + terms.validity,
                                  .has_lists = terms.has_lists},
                                 request.identity.key_algorithm, request.identity.public_key, authority);
}

WallTime renewal_due(const CertificateStatement& statement) {
  const Millis validity = statement.not_after - statement.not_before;
  const auto spread = static_cast<uint64_t>((validity / 12).count());
  // Devices that were certified on one day do not all renew on one day. By the serial, so that a device keeps to its
  // moment.
  const Millis earlier(spread == 0 ? 0 : static_cast<int64_t>(statement.serial % spread));
  return statement.not_after - validity / 3 - earlier;
}

}  // namespace coterie
