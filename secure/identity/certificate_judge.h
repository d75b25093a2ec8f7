// Whether a certificate is good now: what a device asks of all others of a session, and a server of who wants to be in
// one.
//
// Which "now"? The adversary of these checks is the server, so that its clock must not decide: it could turn back time
// until the certificates of corrupt devices are valid again. A device takes its own clock as long as its own
// certificate is valid by it. If it is not, the device's clock may be wrong, and there is nothing left but the server's
// (ADR 56), which is never believed to be before something that the authority has signed.
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "secure/identity/device_certificate.h"

namespace coterie {

struct RevocationList;

struct CertificateClocks {
  WallTime own;     // the device's
  WallTime server;  // what the server said that it is, or the device's
  WallTime floor;   // the latest time that the authority has signed, of all that this device saw: it is not earlier
};

WallTime certificate_time(const CertificateClocks& clocks, const std::optional<CertificateStatement>& own);

struct CertificateTerms {
  ByteView authority_key;
  Population population;
  WallTime now;
  const RevocationList* list = nullptr;  // the newest that is known; null: none is
  // Whether certificates of an authority with lists are refused without a list that is not out of date: at devices.
  bool asks_for_list = true;
};

// unauthenticated: not this authority's, of another population, not begun, ended, revoked; or nobody can say whether it
// was revoked.
Status judge_certificate(const DeviceIdentity& identity, const CertificateTerms& terms);
// The same for one that was read before.
Status judge_statement(const CertificateStatement& statement, const CertificateTerms& terms);

}  // namespace coterie
