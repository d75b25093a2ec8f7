// The last two phases: who confirmed the survivors, whom to ask for shares, and the shares.
#include <algorithm>
#include <string>

#include "secure/crypto/signature.h"
#include "secure/secagg/fault.h"
#include "secure/secagg/server.h"
#include "secure/secagg/survivors.h"

namespace coterie::secagg {

Result<ConfirmRequest> Server::confirm_request(uint32_t device) const {
  if (device >= survived_.size() || !survived_[device]) {
    return fault(Fault::not_a_neighbour, "device " + std::to_string(device) + " is not among the survivors");
  }
  return ConfirmRequest{.session = session_, .survivors = make_survivors(size(), survivors_)};
}

// Not every algorithm signs the same text twice with the same bytes: a second one is as good as the first if it is
// valid.
Status Server::receive(const Confirmation& confirmation) {
  const bool is_known = confirmation.device < size() && roster_[confirmation.device].confirmation.has_value();
  COT_TRY(check_sender(is_known ? phase_ : Phase::confirming, confirmation.session, confirmation.device));
  if (!survived_[confirmation.device]) {
    return fault(Fault::self_dropped, "a confirmation by a device that is not among the survivors");
  }
  Member& member = roster_[confirmation.device];
  const Bytes text = confirmation_text(session_, make_survivors(size(), survivors_));
  const DeviceIdentity& identity = member.advert.identity;
  if (!signature_is_valid(identity.key_algorithm, identity.public_key, text, confirmation.signature)) {
    return fault(Fault::bad_signature, "the confirmation is not of this session's survivors, or not by its sender");
  }
  if (!is_known) member.confirmation = confirmation;
  return {};
}

Status Server::close_confirmations() {
  COT_TRY(require(Phase::confirming));
  return begin_unmasking();
}

// Asked are those who confirmed and to whom `threshold` of their holders' confirmations can be shown: others would
// refuse. Below active nobody confirms, and the survivors themselves count.
Status Server::begin_unmasking() {
  std::vector<bool> confirmed = survived_;
  if (parameters_.is_active()) {
    for (uint32_t device = 0; device < size(); ++device) confirmed[device] = roster_[device].confirmation.has_value();
  }
  asked_.assign(size(), false);
  for (const uint32_t device : survivors_) {
    asked_[device] = confirmed[device] && alive_holders(device, confirmed) >= shape_.threshold;
  }

  std::vector<Opening::Target> targets;
  for (uint32_t device = 0; device < size(); ++device) {
    if (!present_[device]) continue;
    const KeyAdvert& advert = roster_[device].advert;
    Opening::Target target{.device = device,
                           // What is left in the sum: of a survivor its own mask, of a vanished device its pair masks
                           // in its partners' updates.
                           .kind = survived_[device] ? ShareKind::seed : ShareKind::mask_key,
                           .mask_key = advert.mask_key,
                           .seed_commitment = advert.seed_commitment,
                           .partners = {}};
    if (!survived_[device]) {
      for (const uint32_t partner : graph_->neighbours(device)) {
        if (survived_[partner]) target.partners.push_back({partner, roster_[partner].advert.mask_key});
      }
      if (target.partners.empty()) continue;  // none of its masks is in the sum
    }
    if (const uint32_t alive = alive_holders(device, asked_); alive < shape_.threshold) {
      return fault(parameters_.is_active() ? Fault::too_few_confirmations : Fault::below_threshold,
                   std::to_string(alive) + " holders of device " + std::to_string(device) +
                       " can be asked for their shares, " + std::to_string(shape_.threshold) + " open its secret");
    }
    targets.push_back(std::move(target));
  }
  opening_ = std::make_unique<Opening>(parameters_.context, session_, shape_.threshold, std::move(targets));
  phase_ = Phase::unmasking;
  return {};
}

Result<UnmaskRequest> Server::unmask_request(uint32_t device) const {
  if (device >= asked_.size() || !asked_[device]) {
    return fault(Fault::not_a_neighbour, "device " + std::to_string(device) + " is not asked for shares");
  }
  UnmaskRequest request{.session = session_, .survivors = make_survivors(size(), survivors_), .confirmations = {}};
  if (!parameters_.is_active()) return request;
  for (const uint32_t holder : graph_->holders(device)) {
    if (request.confirmations.size() == shape_.threshold) break;  // a device looks at no more of them
    if (const auto& confirmation = roster_[holder].confirmation) {
      request.confirmations.push_back({holder, confirmation->signature});
    }
  }
  return request;
}

// Each share must be of the kind that the frozen survivors call for, of a device whose holder the sender is.
Status Server::check_kinds(const Unmasking& unmasking) const {
  for (size_t i = 0; i < unmasking.shares.size(); ++i) {
    const OpenedShare& share = unmasking.shares[i];
    if (share.device >= size() || (i > 0 && share.device <= unmasking.shares[i - 1].device)) {
      return fault(Fault::malformed, "shares must be of devices in the roster, ascending, one of each");
    }
    if (!present_[share.device] || !std::ranges::binary_search(graph_->holders(share.device), unmasking.device)) {
      return fault(Fault::not_a_neighbour,
                   "a share of device " + std::to_string(share.device) + "'s secret by one that holds none");
    }
    if (share.kind != (survived_[share.device] ? ShareKind::seed : ShareKind::mask_key)) {
      return fault(Fault::malformed, "a share of the wrong kind for device " + std::to_string(share.device));
    }
  }
  return {};
}

Status Server::receive(const Unmasking& unmasking) {
  if (unmasking.device < size() && roster_[unmasking.device].unmasking) {
    if (*roster_[unmasking.device].unmasking == unmasking) return {};
    return fault(Fault::equivocation, "a second set of shares of the same device, with other content");
  }
  COT_TRY(check_sender(Phase::unmasking, unmasking.session, unmasking.device));
  if (!asked_[unmasking.device]) {
    return fault(Fault::not_a_neighbour, "device " + std::to_string(unmasking.device) + " was not asked for shares");
  }
  COT_TRY(check_kinds(unmasking));
  roster_[unmasking.device].unmasking = unmasking;
  for (const OpenedShare& share : unmasking.shares) {
    const std::span<const uint32_t> holders = graph_->holders(share.device);
    const auto place = std::ranges::lower_bound(holders, unmasking.device) - holders.begin();
    // The place among the holders says which share it is. x begins at 1, as the secret itself lies at 0.
    opening_->add(share.device, unmasking.device, static_cast<uint8_t>(place + 1), share.value);
  }
  return {};
}

uint32_t Server::answered() const {
  return static_cast<uint32_t>(std::ranges::count_if(roster_, [&](const Member& member) {
    switch (phase_) {
      case Phase::advertising: return true;
      case Phase::choosing: return member.choice.has_value();
      case Phase::sharing: return member.shares.has_value();
      case Phase::masking: return member.input.has_value();
      case Phase::confirming: return member.confirmation.has_value();
      case Phase::unmasking: return member.unmasking.has_value();
    }
    return false;
  }));
}

uint32_t Server::expected() const {
  switch (phase_) {
    case Phase::advertising:
    case Phase::choosing: return size();
    case Phase::sharing:
      return static_cast<uint32_t>(std::ranges::count_if(
          roster_, [&](const Member& member) { return shape_.kind != GraphKind::drawn || member.choice.has_value(); }));
    case Phase::masking: return static_cast<uint32_t>(std::ranges::count(present_, true));
    case Phase::confirming: return static_cast<uint32_t>(survivors_.size());
    case Phase::unmasking: return static_cast<uint32_t>(std::ranges::count(asked_, true));
  }
  return 0;
}

}  // namespace coterie::secagg
