// Client: a device's side of one session of secure aggregation. Pure: bytes in, bytes out, no clock and no entropy but
// the seed it is given; the same seed and messages give the same answers.
//
//   make -> [choose, drawn graphs] -> share -> mask -> [confirm, active] -> unmask
//
// It keeps these promises whatever the server says, at the active levels (at masked those that do not need a
// signature):
//   * the session's name is its own hash of what it was shown, so keys and masks are bound to context, roster and
//   parameters;
//   * it shares its secrets with holders that are in the one roster, `threshold` of whom must agree to open one;
//   * it opens its shares once, for one survivor set, which `threshold` of its holders confirmed, which it is in itself
//   and
//     which has survivors_min devices; of any device it opens one kind of share, never both.
// Sources: Bonawitz et al., CCS 2017, figure 4; Bell et al., CCS 2020, section 4 (holders drawn by the devices).
//
// A step that fails ends the session: the error's reason is a Fault (fault.h), the secrets are wiped, and every later
// step is bad_phase. An app that may be killed saves the seed and each message before it acts on it, and replays them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "proto/messages/secagg.h"
#include "secure/secagg/advert.h"
#include "secure/secagg/device_secrets.h"
#include "secure/secagg/masking.h"
#include "secure/secagg/pairing.h"
#include "secure/secagg/session.h"

namespace coterie::secagg {

class Client {
 public:
  // `seed` is fresh for every session, from fill_random. invalid_argument if the parameters are not valid.
  static Result<Client> make(const SessionParameters& parameters, Secret<32> seed, DeviceCredentials credentials,
                             CertificateCheck certificate_is_good);

  const KeyAdvert& advert() const { return advert_; }

  // Each checks the server's message, and makes this device's answer.
  Result<HolderChoice> choose(const RosterSlot& slot);
  Result<SealedShares> share(const RosterView& view);
  Result<Masking> mask(const ShareInbox& inbox);
  Result<Confirmation> confirm(const ConfirmRequest& request);
  Result<Unmasking> unmask(const UnmaskRequest& request);

  const Digest& context() const { return parameters_.context; }
  // All zeros before share().
  const Digest& session() const { return session_; }

  // Randomness of the device's own for what it masks (rounding, noise), the same for the same seed: a stream for each
  // `purpose`, other than this directory's own. bad_phase once the session is over.
  Result<KeyStream> key_stream(std::string_view purpose) const;

 private:
  enum class Phase : uint8_t { advertised, chosen, shared, masked, confirmed, over };

  struct Peer {  // a neighbour
    uint32_t device = 0;
    Key32 mask_key{}, seal_key{};
    DeviceIdentity identity;
    std::optional<Secret<32>> seal_agreement;  // from the first use to the end of mask(): an agreement costs 27 us
  };
  struct HeldShare {
    uint32_t dealer = 0;
    SharePair pair;
  };

  Client(const SessionParameters& parameters, DeviceSecrets secrets, DeviceCredentials credentials,
         CertificateCheck certificate_is_good, KeyAdvert advert)
      : parameters_(parameters),
        credentials_(std::move(credentials)),
        certificate_is_good_(std::move(certificate_is_good)),
        advert_(std::move(advert)),
        secrets_(std::move(secrets)) {}

  template <typename Answer, typename Step>
  Result<Answer> step(Step step);

  Status require(Phase phase) const;
  Status check_session(const Digest& session) const;
  Status check_view(const RosterView& view) const;
  Status check_survivors(const SurvivorSet& survivors) const;
  Status check_confirmations(const UnmaskRequest& request) const;
  const Peer* peer(uint32_t device) const;
  Result<const Secret<32>*> seal_agreement(uint32_t device);
  const DeviceIdentity* identity_of(uint32_t device) const;
  Result<std::vector<AddressedBox>> seal_all();
  Status open_all(const ShareInbox& inbox, std::vector<uint32_t>& unopened);

  SessionParameters parameters_;
  DeviceCredentials credentials_;
  CertificateCheck certificate_is_good_;
  KeyAdvert advert_;
  std::optional<DeviceSecrets> secrets_;  // none once the session is over

  Phase phase_ = Phase::advertised;
  GraphShape shape_;
  uint32_t device_ = 0, size_ = 0;
  Digest root_, session_;
  std::vector<uint32_t> holders_;
  std::vector<Peer> peers_;
  std::vector<uint32_t> present_;
  std::vector<HeldShare> held_;
  std::optional<SurvivorSet> confirmed_;
};

}  // namespace coterie::secagg
