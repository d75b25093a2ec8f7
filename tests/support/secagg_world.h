// SecaggWorld: a whole session of secure aggregation in one process: every device's machine, the server's, and what
// travels between them, in a random order, with hooks for those who stop or lie.
//
// Devices are known by `who`, the order in which they were made; their place in the roster is place(who).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "secure/crypto/signature.h"
#include "secure/secagg/client.h"
#include "secure/secagg/fault.h"
#include "secure/secagg/server.h"

namespace coterie::test {

// Ed25519 for all; some may have others.
secagg::SessionParameters secagg_parameters(SecurityLevel level, uint64_t lane_count = 5);

class SecaggWorld {
 public:
  using Phase = secagg::Server::Phase;
  template <typename Message>
  using Tamper = std::function<void(uint32_t who, Message&)>;

  // seed: of everything that is random.
  SecaggWorld(const secagg::SessionParameters& parameters, uint32_t devices, uint64_t seed = 1);

  // Each of these may be set before run(). Messages of devices are tampered with on their way to the server, the
  // server's on theirs to the device.
  std::function<bool(uint32_t who, Phase)> takes_part;  // whether it answers in this phase; once not, never again
  std::function<Digest(uint32_t who)> context_of;       // of a device that was told something else
  Tamper<KeyAdvert> on_advert;
  Tamper<RosterSlot> on_slot;
  Tamper<HolderChoice> on_choice;
  Tamper<RosterView> on_view;
  Tamper<SealedShares> on_shares;
  Tamper<ShareInbox> on_inbox;
  Tamper<MaskedInput> on_input;
  Tamper<ConfirmRequest> on_confirm_request;
  Tamper<Confirmation> on_confirmation;
  Tamper<UnmaskRequest> on_unmask_request;
  Tamper<Unmasking> on_unmasking;
  std::function<bool(const DeviceIdentity&)> certificate_is_good;
  std::function<void(uint32_t who, const secagg::Masking&, std::vector<uint64_t>& lanes)> on_lanes;  // as sent

  // All phases to the end; the server's error, if it gives up. Then sum() is what was unmasked.
  Status run();
  // As far as the beginning of a phase.
  Status run_to(Phase last);

  // The lanes of the sum without check lanes, unmasked by `parts` threads' worth of seeds and ranges.
  Result<std::vector<uint64_t>> sum(size_t parts = 1) const;
  // What it must be.
  std::vector<uint64_t> sum_of_survivors() const;
  // The devices whose updates are in the sum, by `who`.
  std::vector<uint32_t> survivors() const;

  uint32_t size() const { return static_cast<uint32_t>(devices_.size()); }
  uint32_t place(uint32_t who) const { return *server_->device_of(devices_[who].signer->public_key()); }
  uint32_t who_is(uint32_t place) const;
  secagg::Server& server() { return *server_; }
  const secagg::Server& server() const { return *server_; }
  secagg::Client& client(uint32_t who) { return *devices_[who].client; }
  const std::vector<uint64_t>& update(uint32_t who) const { return devices_[who].update; }
  const std::vector<uint64_t>& masked(uint32_t who) const { return devices_[who].masked; }
  // Why a device gave up, or its message was refused.
  const std::map<uint32_t, Error>& errors() const { return errors_; }
  std::optional<secagg::Fault> fault_of(uint32_t who) const;
  const std::vector<uint32_t>& blamed() const { return blamed_; }  // places, after sum()

 private:
  struct Device {
    std::unique_ptr<Signer> signer;
    std::optional<secagg::Client> client;
    std::vector<uint64_t> update, masked;
    bool is_there = true;
  };

  template <typename Step>
  void each(Phase phase, Step step);
  template <typename Message>
  Status deliver(uint32_t who, const Tamper<Message>& tamper, Message message);
  Status make_clients();
  Status phase(Phase phase);
  Status send_input(uint32_t who);

  secagg::SessionParameters parameters_;
  Prng prng_;
  std::optional<secagg::Server> server_;
  std::vector<Device> devices_;
  std::map<uint32_t, Error> errors_;
  std::vector<uint64_t> masked_sum_;
  mutable std::vector<uint32_t> blamed_;
};

}  // namespace coterie::test
