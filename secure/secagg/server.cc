#include "secure/secagg/server.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/random.h"
#include "secure/crypto/signature.h"
#include "secure/secagg/check_lanes.h"
#include "secure/secagg/fault.h"
#include "secure/secagg/survivors.h"

namespace coterie::secagg {
namespace {

std::string device_name(uint32_t device) { return "device " + std::to_string(device); }

// A message that comes twice is from a device that has lost the answer. One that differs is refused, as others may have
// acted on the first.
template <typename Message>
Status keep_as(const Message& kept, const Message& message) {
  if (kept == message) return {};
  return fault(Fault::equivocation, "a second message of the same phase, with other content");
}

// Keeps a device's first message of a phase.
template <typename Message>
Status keep(std::optional<Message>& kept, const Message& message) {
  if (kept) return keep_as(*kept, message);
  kept = message;
  return {};
}

}  // namespace

Result<Server> Server::make(const SessionParameters& parameters, uint64_t ring_seed,
                            CertificateCheck certificate_is_good) {
  COT_TRY(validate(parameters));
  return Server(parameters, ring_seed, std::move(certificate_is_good));
}

Status Server::require(Phase phase) const {
  if (phase_ == phase) return {};
  return fault(phase_ > phase ? Fault::late : Fault::bad_phase,
               phase_ > phase ? "the phase of this message is over" : "the phase of this message has not begun");
}

Status Server::check_sender(Phase phase, const Digest& session, uint32_t device) const {
  if (phase_ < Phase::sharing || session != session_) return fault(Fault::bad_session, "a message of another session");
  if (device >= size()) return fault(Fault::malformed, "no " + device_name(device) + " in this roster");
  return require(phase);
}

// ---- advertise, choose

Status Server::receive(const KeyAdvert& advert) {
  if (const auto known = by_public_key_.find(advert.identity.public_key); known != by_public_key_.end()) {
    if (roster_[known->second].advert == advert) return {};
    return fault(Fault::equivocation, "a second advert of one identity, with other content");
  }
  COT_TRY(require(Phase::advertising));
  if (size() == kCohortSizeMax) return fault(Fault::cohort_size, "the roster is full");
  // Not a security check: devices check every advert of the roster themselves (client_checks.cc). It keeps one device
  // without a good certificate from making the whole cohort abort.
  COT_TRY(check_advert(parameters_, advert, certificate_is_good_));
  for (const Key32& key : {advert.mask_key, advert.seal_key}) {
    if (keys_.contains(key)) return fault(Fault::duplicate_key, "a key that another device advertises");
  }
  keys_.insert(advert.mask_key);
  keys_.insert(advert.seal_key);
  by_public_key_.emplace(advert.identity.public_key, size());
  roster_.push_back({.advert = advert, .choice = {}, .shares = {}, .input = {}, .confirmation = {}, .unmasking = {}});
  return {};
}

void Server::lay_out_ring() {
  std::vector<uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0u);
  Prng prng(ring_seed_);
  for (uint32_t i = size(); i > 1; --i) std::swap(order[i - 1], order[prng.below(i)]);
  graph_ = Graph::ring(order, shape_.holders);
}

Status Server::close_adverts() {
  COT_TRY(require(Phase::advertising));
  COT_ASSIGN(shape_, shape_for(parameters_, size()));
  // Numbers follow from the keys: the session is the same in whatever order its adverts came.
  std::ranges::sort(roster_, {}, [](const Member& member) { return member.advert.mask_key; });
  std::vector<Digest> leaves;
  for (uint32_t device = 0; device < size(); ++device) {
    by_public_key_[roster_[device].advert.identity.public_key] = device;
    leaves.push_back(roster_leaf(device, roster_[device].advert));
  }
  tree_.emplace(std::move(leaves));
  session_ = session_of(parameters_, shape_, size(), tree_->root());
  if (shape_.kind == GraphKind::drawn) {
    phase_ = Phase::choosing;
    return {};
  }
  if (shape_.kind == GraphKind::ring) {
    lay_out_ring();
  } else {
    graph_ = Graph::complete(size());
  }
  phase_ = Phase::sharing;
  return {};
}

std::optional<uint32_t> Server::device_of(const Bytes& public_key) const {
  const auto found = by_public_key_.find(public_key);
  if (found == by_public_key_.end()) return std::nullopt;
  return found->second;
}

RosterSlot Server::slot(uint32_t device) const {
  return {.device = device, .size = size(), .root = tree_->root(), .proof = tree_->proof(std::span(&device, 1))};
}

Status Server::receive(const HolderChoice& choice) {
  if (phase_ < Phase::choosing || !tree_ || choice.root != tree_->root() || choice.device >= size()) {
    return fault(Fault::bad_session, "a choice of holders from another roster");
  }
  if (!roster_[choice.device].choice) {
    COT_TRY(require(Phase::choosing));
    if (choice.holders.size() != shape_.holders) {
      return fault(Fault::wrong_degree, std::to_string(choice.holders.size()) + " holders chosen, " +
                                            std::to_string(shape_.holders) + " are due");
    }
    for (size_t i = 0; i < choice.holders.size(); ++i) {
      const uint32_t holder = choice.holders[i];
      if (holder >= size() || holder == choice.device || (i > 0 && holder <= choice.holders[i - 1])) {
        return fault(Fault::malformed, "holders must be others in the roster, ascending");
      }
    }
  }
  return keep(roster_[choice.device].choice, choice);
}

Status Server::close_choices() {
  COT_TRY(require(Phase::choosing));
  std::vector<std::vector<uint32_t>> chosen;
  for (const Member& member : roster_)
    chosen.push_back(member.choice ? member.choice->holders : std::vector<uint32_t>());
  COT_ASSIGN(graph_, Graph::drawn(chosen));
  phase_ = Phase::sharing;
  return {};
}

// ---- share

RosterView Server::view(uint32_t device) const {
  std::vector<uint32_t> shown(graph_->neighbours(device).begin(), graph_->neighbours(device).end());
  shown.insert(std::ranges::lower_bound(shown, device), device);
  RosterView view{.device = device, .size = size(), .root = tree_->root(), .entries = {}, .proof = tree_->proof(shown)};
  for (const uint32_t neighbour : shown) view.entries.push_back({neighbour, roster_[neighbour].advert});
  return view;
}

Status Server::receive(const SealedShares& shares) {
  if (shares.device >= size() || !roster_[shares.device].shares) {
    COT_TRY(check_sender(Phase::sharing, shares.session, shares.device));
    const std::span<const uint32_t> holders = graph_->holders(shares.device);
    size_t due = 0, matched = 0;
    for (const uint32_t holder : holders) {
      if (holder == shares.device) continue;
      matched += due < shares.boxes.size() && shares.boxes[due].peer == holder;
      ++due;
    }
    // With fewer boxes fewer holders could open its secrets, and the threshold counts on all of them.
    if (due == 0 || matched != due || shares.boxes.size() != due) {
      return fault(Fault::share_count, std::to_string(shares.boxes.size()) + " boxes, not one for each of " +
                                           std::to_string(due) + " holders in their order");
    }
  }
  return keep(roster_[shares.device].shares, shares);
}

uint32_t Server::alive_holders(uint32_t device, const std::vector<bool>& alive) const {
  uint32_t count = 0;
  for (const uint32_t holder : graph_->holders(device)) count += alive[holder];
  return count;
}

// A device of whose holders too few have shared would refuse to go on, and its secrets could not be opened. Leaving it
// out may bring others into the same position.
Status Server::close_shares() {
  COT_TRY(require(Phase::sharing));
  present_.assign(size(), false);
  for (uint32_t device = 0; device < size(); ++device) present_[device] = roster_[device].shares.has_value();
  // Ends, as each pass takes somebody out or is the last.
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t device = 0; device < size(); ++device) {
      if (present_[device] && alive_holders(device, present_) < shape_.threshold)
        present_[device] = false, changed = true;
    }
  }
  if (const auto count = std::ranges::count(present_, true); count < parameters_.survivors_min) {
    return fault(Fault::too_few_survivors, std::to_string(count) + " devices have shared with enough others; " +
                                               std::to_string(parameters_.survivors_min) + " must");
  }
  phase_ = Phase::masking;
  return {};
}

// ---- mask

Result<ShareInbox> Server::inbox(uint32_t device) const {
  if (device >= present_.size() || !present_[device]) {
    return fault(Fault::not_a_neighbour, device_name(device) + " has not shared, or too few of its holders have");
  }
  ShareInbox inbox{.session = session_, .present = {}, .boxes = {}};
  for (const uint32_t dealer : graph_->neighbours(device)) {
    if (!present_[dealer]) continue;
    // A neighbour need not be a dealer of this device: in a drawn graph holding is not mutual.
    inbox.present.push_back(dealer);
    const std::vector<AddressedBox>& boxes = roster_[dealer].shares->boxes;
    const auto found = std::ranges::lower_bound(boxes, device, {}, &AddressedBox::peer);
    if (found != boxes.end() && found->peer == device) inbox.boxes.push_back({dealer, found->box});
  }
  return inbox;
}

Status Server::check(const MaskedInput& input) const {
  if (input.device < size() && roster_[input.device].input) return keep_as(*roster_[input.device].input, input);
  COT_TRY(check_sender(Phase::masking, input.session, input.device));
  if (!present_[input.device]) return fault(Fault::not_a_neighbour, device_name(input.device) + " has not shared");
  if (input.lane_bits != wire_lane_bits(parameters_) || input.lane_count != masked_lane_count(parameters_)) {
    return fault(Fault::lane_count, std::to_string(input.lane_count) + " lanes of " + std::to_string(input.lane_bits) +
                                        " bits; the session has " + std::to_string(masked_lane_count(parameters_)) +
                                        " of " + std::to_string(wire_lane_bits(parameters_)));
  }
  return {};
}

Status Server::receive(const MaskedInput& input) {
  COT_TRY(check(input));
  roster_[input.device].input = input;
  return {};
}

Status Server::close_inputs() {
  COT_TRY(require(Phase::masking));
  survived_.assign(size(), false);
  for (uint32_t device = 0; device < size(); ++device) {
    if (!roster_[device].input) continue;
    survived_[device] = true;
    survivors_.push_back(device);
  }
  if (survivors_.size() < parameters_.survivors_min) {
    return fault(Fault::too_few_survivors, std::to_string(survivors_.size()) + " survivors; a sum has at least " +
                                               std::to_string(parameters_.survivors_min));
  }
  phase_ = Phase::confirming;
  return parameters_.is_active() ? Status() : begin_unmasking();
}

}  // namespace coterie::secagg
