// What an authority answers to a device's request, and when a device asks. Pure: whoever calls has the time, the key
// and the list.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

class AttestationJudge;
class Signer;
struct CertificateRequest;
struct CertificateStatement;
struct RevocationList;

struct AuthorityTerms {
  WallTime now;
  std::span<const AttestationJudge* const> judges = {};  // of one format each
  uint64_t serial = 0;                                   // fresh: of the certificate that is made
  std::chrono::days validity{30};
  bool has_lists = false;
  const RevocationList* list = nullptr;  // what is revoked; null: nothing
};

// A certificate for the key that signed the request, without a token. Either because it has one (a renewal, for the
// same population: it must be this authority's, not ended and not revoked), or because of an attestation, which a judge
// of its format takes. An attestation that is there is judged, and decides: a device whose certificate has ended comes
// back with one, unless the certificate in the request is revoked. permission_denied, with the reason.
Result<Bytes> answer_request(const CertificateRequest& request, const AuthorityTerms& terms, const Signer& authority);

// When a device asks for the next one: with a third of the validity left, and up to a twelfth earlier, which the serial
// decides. It is random, so that devices that were certified together do not come back together.
WallTime renewal_due(const CertificateStatement& statement);

}  // namespace coterie
