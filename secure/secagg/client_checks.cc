// What a device asks of a roster, of a survivor set and of its confirmations before it goes on.
#include <algorithm>
#include <string>

#include "secure/crypto/signature.h"
#include "secure/secagg/client.h"
#include "secure/secagg/fault.h"
#include "secure/secagg/roster.h"
#include "secure/secagg/survivors.h"

namespace coterie::secagg {

const DeviceIdentity* Client::identity_of(uint32_t device) const {
  if (device == device_) return &advert_.identity;
  const Peer* found = peer(device);
  return found == nullptr ? nullptr : &found->identity;
}

Status Client::check_view(const RosterView& view) const {
  if (shape_.kind == GraphKind::drawn && (view.device != device_ || view.size != size_ || view.root != root_)) {
    return fault(Fault::bad_proof, "another roster than the one that holders were drawn from");
  }
  std::vector<ShownLeaf> shown;
  bool self_is_there = false;
  for (const auto& [device, advert] : view.entries) {
    if (device >= view.size || (!shown.empty() && device <= shown.back().device)) {
      return fault(Fault::malformed, "the roster's entries do not ascend, or are more than it has");
    }
    shown.push_back({device, roster_leaf(device, advert)});
    self_is_there |= device == view.device && advert == advert_;
  }
  // With another advert in its name the others would mask for a key that this device does not have.
  if (!self_is_there) return fault(Fault::self_missing, "this device's own advert is not in the roster as it was sent");

  // The threshold is computed for this degree: with fewer neighbours, fewer liars could open a secret.
  const size_t neighbours = view.entries.size() - 1;
  const bool degree_fits = shape_.kind == GraphKind::complete ? neighbours == view.size - 1
                           : shape_.kind == GraphKind::ring
                               ? neighbours == shape_.holders
                               : neighbours >= shape_.holders && neighbours <= kNeighboursMax;
  if (!degree_fits) {
    return fault(Fault::wrong_degree, std::to_string(neighbours) + " neighbours, where " +
                                          std::to_string(shape_.holders) + " holders are due in a roster of " +
                                          std::to_string(view.size));
  }
  COT_TRY(check_distinct(view.entries));
  for (const RosterEntry& entry : view.entries) {
    if (entry.device != view.device) COT_TRY(check_advert(parameters_, entry.advert, certificate_is_good_));
  }
  COT_ASSIGN(const Digest root, root_of(view.size, shown, view.proof));
  if (root != view.root) return fault(Fault::bad_proof, "the adverts shown are not under the roster's root");
  for (const uint32_t holder : holders_) {  // drawn before
    if (!std::ranges::binary_search(view.entries, holder, {}, &RosterEntry::device)) {
      return fault(Fault::wrong_degree, "a holder that this device has drawn is not shown");
    }
  }
  return {};
}

Status Client::check_survivors(const SurvivorSet& survivors) const {
  if (survivors.size != size_ || !is_well_formed(survivors)) {
    return fault(Fault::malformed, "a survivor set that is not of this roster's size");
  }
  if (!contains(survivors, device_)) {
    return fault(Fault::self_dropped, "asked to help unmask a sum that this device is not in");
  }
  if (const uint32_t survived = count(survivors); survived < parameters_.survivors_min) {
    return fault(Fault::too_few_survivors, std::to_string(survived) + " survivors; a sum has at least " +
                                               std::to_string(parameters_.survivors_min));
  }
  // Whoever was absent dealt no shares to this device: such a survivor is an invention.
  for (const Peer& peer : peers_) {
    if (contains(survivors, peer.device) && !std::ranges::binary_search(present_, peer.device)) {
      return fault(Fault::not_a_subset, "device " + std::to_string(peer.device) + " survived but was never present");
    }
  }
  const auto alive = std::ranges::count_if(holders_, [&](uint32_t holder) { return contains(survivors, holder); });
  if (static_cast<uint32_t>(alive) < shape_.threshold) {
    return fault(Fault::below_threshold, std::to_string(alive) + " of this device's holders survived, " +
                                             std::to_string(shape_.threshold) + " open a secret");
  }
  return {};
}

Status Client::check_confirmations(const UnmaskRequest& request) const {
  if (request.survivors != *confirmed_) {
    return fault(Fault::survivors_differ, "another survivor set than the one this device confirmed");
  }
  // Two sets cannot both be confirmed by `threshold` of these holders: holders + corrupt ones < 2 * threshold
  // (graph_parameters.cc), and an honest holder signs one.
  const Bytes text = confirmation_text(session_, request.survivors);
  uint32_t confirmed = 0;
  const SignedBy* before = nullptr;
  for (const SignedBy& by : request.confirmations) {
    if (before != nullptr && by.device <= before->device) {
      return fault(Fault::malformed, "the confirmations do not ascend by device");
    }
    before = &by;
    if (!std::ranges::binary_search(holders_, by.device) || !contains(request.survivors, by.device)) {
      return fault(Fault::not_a_neighbour, "a confirmation by device " + std::to_string(by.device) +
                                               ", which is no surviving holder of this one");
    }
    if (confirmed == shape_.threshold) continue;  // enough: signatures cost more than all else in here
    const DeviceIdentity& identity = *identity_of(by.device);
    if (!signature_is_valid(identity.key_algorithm, identity.public_key, text, by.signature)) {
      return fault(Fault::bad_signature, "the confirmation of device " + std::to_string(by.device) + " is not its own");
    }
    ++confirmed;
  }
  if (confirmed < shape_.threshold) {
    return fault(Fault::too_few_confirmations, std::to_string(confirmed) + " of this device's holders confirmed, " +
                                                   std::to_string(shape_.threshold) + " must");
  }
  return {};
}

}  // namespace coterie::secagg
