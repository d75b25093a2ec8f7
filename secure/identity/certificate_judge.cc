#include "secure/identity/certificate_judge.h"

#include <algorithm>

#include "secure/identity/revocation_list.h"

namespace coterie {
namespace {

Error refused(const std::string& why) { return Error(ErrorCode::unauthenticated, "certificate: " + why); }

}  // namespace

WallTime certificate_time(const CertificateClocks& clocks, const std::optional<CertificateStatement>& own) {
  const WallTime by_own_clock = std::max(clocks.own, clocks.floor);
  if (own && check_certificate_terms(*own, own->population, by_own_clock)) return by_own_clock;
  return std::max(clocks.server, clocks.floor);
}

Status judge_statement(const CertificateStatement& statement, const CertificateTerms& terms) {
  COT_TRY(check_certificate_terms(statement, terms.population, terms.now));
  if (terms.list != nullptr && terms.list->names(statement.serial)) {
    return refused("its authority has revoked it (serial " + std::to_string(statement.serial) + ")");
  }
  if (!statement.has_lists || !terms.asks_for_list) return {};
  if (terms.list == nullptr) return refused("its authority's list of revoked certificates is not here");
  if (terms.now - kCertificateClockAllowance > terms.list->next_update) {
    return refused("its authority's list of revoked certificates is out of date: the server has to get number " +
                   std::to_string(terms.list->number + 1));
  }
  return {};
}

Status judge_certificate(const DeviceIdentity& identity, const CertificateTerms& terms) {
  COT_ASSIGN(const CertificateStatement statement, read_device_certificate(identity, terms.authority_key));
  return judge_statement(statement, terms);
}

}  // namespace coterie
