#include "device_sdk/agent/certificate_store.h"

#include <algorithm>

#include "base/os/file.h"
#include "proto/codec/limits.h"
#include "secure/identity/certificate_authority.h"
#include "secure/identity/certificate_request.h"

namespace coterie {
namespace {

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }
Error refused(const std::string& what) { return Error(ErrorCode::refused, what); }

}  // namespace

Result<CertificateStore> CertificateStore::open(std::string directory, Bytes authority_key, Bytes given,
                                                const Signer& signer) {
  if (authority_key.empty() && !given.empty()) {
    return bad("certificate: needs the authority_key that it is by: devices without an authority take no certificates");
  }
  if (!authority_key.empty() && !public_key_is_valid(KeyAlgorithm::ed25519, authority_key)) {
    return bad("authority_key: must be the 32 bytes of an Ed25519 public key");
  }
  CertificateStore store(std::move(directory), std::move(authority_key), signer);
  if (!given.empty()) COT_TRY(store.use_given(std::move(given)));
  if (!store.authority_key_.empty()) store.use_stored();
  return store;
}

Status CertificateStore::use_given(Bytes given) {
  Result<CertificateStatement> statement = read_device_certificate(own(given), authority_key_);
  // One of the form before 0.3 is let in: obstacle() says of it what its owner has to do.
  if (!statement && !is_endless_certificate(own(given), authority_key_)) {
    return bad("certificate: is not by this authority for this device's key: have the key " +
               to_hex(signer_.public_key()) + " certified");
  }
  certificate_ = std::move(given);
  if (statement) statement_ = *std::move(statement);
  return {};
}

void CertificateStore::use_stored() {
  if (Result<Bytes> kept = os::read_file(path("certificate"), limits::kCertificateBytesMax)) {
    const auto statement = read_device_certificate(own(*kept), authority_key_);
    // The newer of the two: an app may give what it was installed with long after a renewal was stored. A file that is
    // none counts as absent, so that the device asks for another one.
    if (statement && (!statement_ || statement->not_before > statement_->not_before)) {
      certificate_ = *std::move(kept);
      statement_ = *statement;
    }
  }
  if (const Result<Bytes> kept = os::read_file(path("revocations"), kRevocationListBytesMax)) {
    if (auto list = read_revocation_list(*kept, authority_key_)) list_ = *std::move(list);
  }
}

WallTime CertificateStore::now(const DeviceClocks& clocks) const {
  // No earlier than what the authority has signed: a clock that is behind would keep an old list in force.
  const WallTime begun = statement_ ? statement_->not_before : WallTime{};
  const WallTime listed = list_ ? list_->issued_at : WallTime{};
  return certificate_time({.own = clocks.own, .server = clocks.server, .floor = std::max(begun, listed)}, statement_);
}

CertificateTerms CertificateStore::terms(const Population& population, const DeviceClocks& clocks) const {
  return {.authority_key = authority_key_,
          .population = population,
          .now = now(clocks),
          .list = list_ ? &*list_ : nullptr,
          .asks_for_list = needs_list()};
}

std::string CertificateStore::obstacle(const Population& population, const DeviceClocks& clocks) const {
  if (authority_key_.empty()) return "";
  if (certificate_.empty()) return "has none";
  CertificateTerms own_terms = terms(population, clocks);
  own_terms.asks_for_list = false;  // it is fetched when a session begins
  const Status good = statement_ ? judge_statement(*statement_, own_terms)
                                 : Status(read_device_certificate(own(certificate_), authority_key_).error());
  return good ? "" : "has none that is good: " + good.error().message();
}

Status CertificateStore::judge(const DeviceIdentity& other, const Population& population,
                               const DeviceClocks& clocks) const {
  if (!authority_key_.empty()) return judge_certificate(other, terms(population, clocks));
  if (other.certificate.empty()) return {};
  return Error(ErrorCode::unauthenticated, "certificate: there is one, and this device knows of no authority");
}

// ---- Renewal

bool CertificateStore::is_due(const Population& population, const DeviceClocks& clocks) const {
  if (authority_key_.empty()) return false;
  return !obstacle(population, clocks).empty() || !statement_ || now(clocks) >= renewal_due(*statement_);
}

Result<Bytes> CertificateStore::request(const Population& population, Attestation attestation) const {
  if (authority_key_.empty()) return bad("certificate request: this client has no authority_key");
  return make_certificate_request({own(certificate_), population, std::move(attestation)}, signer_);
}

Status CertificateStore::take(Bytes certificate, const Population& population) {
  if (authority_key_.empty()) return bad("certificate: this client has no authority_key");
  const auto statement = read_device_certificate(own(certificate), authority_key_);
  if (!statement) return bad(statement.error().message());
  if (statement->population != population) {
    return bad("certificate: it is for population " + statement->population.value() + ", this device is in " +
               population.value());
  }
  // A server that replays an older answer must not take a renewal back.
  if (statement_ && statement->not_before < statement_->not_before) {
    return Error(ErrorCode::conflict, "certificate: it began before the one that this device has");
  }
  COT_TRY(os::write_file_atomically(path("certificate"), certificate));
  certificate_ = std::move(certificate);
  statement_ = *statement;
  return {};
}

// ---- Lists

Status CertificateStore::take_list(const Bytes& bytes) {
  Result<RevocationList> list = read_revocation_list(bytes, authority_key_);
  if (!list) return refused(list.error().message());
  // An older list would bring back what was revoked since.
  if (list->number <= list_number()) {
    return refused("list of revoked certificates: number " + std::to_string(list->number) + " is not after number " +
                   std::to_string(list_number()) + ", which this device has seen");
  }
  COT_TRY(os::write_file_atomically(path("revocations"), bytes));
  list_ = *std::move(list);
  return {};
}

Status CertificateStore::list_is_current(const DeviceClocks& clocks) const {
  if (!needs_list()) return {};
  if (!list_) return refused("the server has no list of what this device's authority revoked");
  if (now(clocks) - kCertificateClockAllowance <= list_->next_update) return {};
  return refused("the newest list of what this device's authority revoked is out of date: number " +
                 std::to_string(list_->number));
}

}  // namespace coterie
