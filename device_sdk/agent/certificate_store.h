// CertificateStore: what a device has of the authority that its app pins: its own certificate, the authority's newest
// list of revoked ones, and how it judges those of others (secure/identity/certificate_judge.h). In the state
// directory:
//
//   certificate   the one that was renewed last
//   revocations   the list with the highest number that this device saw: it takes none with a lower one
//
// Without an authority (no key) others are good that have no certificate. It may have two of its own: of the app's and
// the stored one, the one that began later counts. Files that are not this authority's are as if they were not there:
// an app may pin another one. Not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/signature.h"
#include "secure/identity/attestation.h"
#include "secure/identity/certificate_judge.h"
#include "secure/identity/revocation_list.h"

namespace coterie {

// What time it is: by this device, and by what the server said (DeviceApi::server_now).
struct DeviceClocks {
  WallTime own, server;
};

class CertificateStore {
 public:
  // `given`: the app's, may be empty. invalid_argument: a key that is none, or a certificate that is not by this
  // authority for this device's key. One that has ended is fine: it may be renewed. `signer` outlives the store.
  static Result<CertificateStore> open(std::string directory, Bytes authority_key, Bytes given, const Signer& signer);

  // To show to others; empty if there is none.
  const Bytes& certificate() const { return certificate_; }
  // Why others would end their session over this device, as the end of "this device ..."; empty if they would not.
  std::string obstacle(const Population& population, const DeviceClocks& clocks) const;
  // Whether another device may be in this one's session.
  Status judge(const DeviceIdentity& other, const Population& population, const DeviceClocks& clocks) const;

  // ---- Renewal
  // Whether to ask the authority for the next certificate: with a third of the validity left, or if there is none that
  // is good.
  bool is_due(const Population& population, const DeviceClocks& clocks) const;
  // For the authority. invalid_argument: there is no authority, or no such attestation.
  Result<Bytes> request(const Population& population, Attestation attestation) const;
  // The authority's answer, kept from now on. invalid_argument: not by this authority for this device's key and
  // `population`; conflict: it began before the present one. Errors of the disk: nothing has changed.
  Status take(Bytes certificate, const Population& population);

  // ---- Lists
  // Whether this device judges others with a list: its certificate says so.
  bool needs_list() const { return statement_ && statement_->has_lists; }
  uint64_t list_number() const { return list_ ? list_->number : 0; }
  // What a server handed out. refused: not the authority's, or no newer than the one that this device has.
  Status take_list(const Bytes& bytes);
  // refused: a list is needed, and there is none, or one that is out of date.
  Status list_is_current(const DeviceClocks& clocks) const;

 private:
  CertificateStore(std::string directory, Bytes authority_key, const Signer& signer)
      : directory_(std::move(directory)), authority_key_(std::move(authority_key)), signer_(signer) {}
  std::string path(const char* name) const { return directory_ + "/" + name; }
  DeviceIdentity own(Bytes certificate) const {
    return {signer_.algorithm(), signer_.public_key(), std::move(certificate)};
  }
  Status use_given(Bytes given);
  void use_stored();
  WallTime now(const DeviceClocks& clocks) const;
  CertificateTerms terms(const Population& population, const DeviceClocks& clocks) const;

  std::string directory_;
  Bytes authority_key_;
  const Signer& signer_;
  Bytes certificate_;
  std::optional<CertificateStatement> statement_;  // what it says; nothing if there is none, or one without an end
  std::optional<RevocationList> list_;
};

}  // namespace coterie
