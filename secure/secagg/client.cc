#include "secure/secagg/client.h"

#include <algorithm>
#include <string>

#include "secure/secagg/check_lanes.h"
#include "secure/secagg/fault.h"
#include "secure/secagg/roster.h"
#include "secure/secagg/survivors.h"
#include "secure/secret_sharing/shamir.h"

namespace coterie::secagg {
namespace {

// So many of a device's boxes may fail to open before the device thinks that it is in another session than the
// dealers. A third of the devices may be corrupt, and seal what they like.
bool too_many_unopened(size_t unopened, size_t boxes) { return unopened * 3 > boxes; }

bool ascends(std::span<const uint32_t> devices) { return std::ranges::is_sorted(devices, std::ranges::less_equal()); }

}  // namespace

Result<Client> Client::make(const SessionParameters& parameters, Secret<32> seed, DeviceCredentials credentials,
                            CertificateCheck certificate_is_good) {
  COT_TRY(validate(parameters));
  COT_ASSIGN(DeviceSecrets secrets, DeviceSecrets::derive(std::move(seed), parameters.context));
  COT_ASSIGN(KeyAdvert advert, make_advert(parameters, secrets, credentials));
  return Client(parameters, std::move(secrets), std::move(credentials), std::move(certificate_is_good),
                std::move(advert));
}

// An error ends the session, whatever it is: what was asked for may have been asked to learn something.
template <typename Answer, typename Step>
Result<Answer> Client::step(Step step) {
  Result<Answer> answer = step();
  if (!answer) {
    phase_ = Phase::over;
    secrets_.reset();
    held_.clear();
    peers_.clear();
  }
  return answer;
}

Result<KeyStream> Client::key_stream(std::string_view purpose) const {
  if (!secrets_) return fault(Fault::bad_phase, "the session is over");
  return secrets_->key_stream(purpose);
}

Status Client::require(Phase phase) const {
  if (phase_ == phase) return {};
  return fault(Fault::bad_phase, phase_ == Phase::over ? "the session is over" : "not the message that is due");
}

Status Client::check_session(const Digest& session) const {
  if (session == session_) return {};
  return fault(Fault::bad_session, "a message of another session");
}

const Client::Peer* Client::peer(uint32_t device) const {
  const auto found = std::ranges::lower_bound(peers_, device, {}, &Peer::device);
  return found != peers_.end() && found->device == device ? &*found : nullptr;
}

Result<const Secret<32>*> Client::seal_agreement(uint32_t device) {
  Peer& found = *std::ranges::lower_bound(peers_, device, {}, &Peer::device);
  if (!found.seal_agreement) {
    COT_ASSIGN(found.seal_agreement, agree_on_seal(secrets_->seal_key(), found.seal_key, device));
  }
  return &*found.seal_agreement;
}

Result<HolderChoice> Client::choose(const RosterSlot& slot) {
  return step<HolderChoice>([&]() -> Result<HolderChoice> {
    COT_TRY(require(Phase::advertised));
    COT_ASSIGN(shape_, shape_for(parameters_, slot.size));
    if (shape_.kind != GraphKind::drawn)
      return fault(Fault::bad_phase, "devices of this session do not choose holders");
    if (slot.device >= slot.size) return fault(Fault::self_missing, "a place outside the roster");
    const ShownLeaf own{slot.device, roster_leaf(slot.device, advert_)};
    COT_ASSIGN(const Digest root, root_of(slot.size, std::span(&own, 1), slot.proof));
    if (root != slot.root) return fault(Fault::bad_proof, "this device's advert is not under the roster's root");
    // Drawn by the device, and only once the root has fixed who is in the roster: a server that chose holders, or
    // filled the roster afterwards, would have its accomplices hold what opens this device's update.
    COT_ASSIGN(holders_, secrets_->draw_holders(shape_.holders, slot.size, slot.device));
    device_ = slot.device;
    size_ = slot.size;
    root_ = slot.root;
    phase_ = Phase::chosen;
    return HolderChoice{.root = root_, .device = device_, .holders = holders_};
  });
}

Result<std::vector<AddressedBox>> Client::seal_all() {
  Status drawn;
  // Coefficients come from the session's seed: a device that was killed after dealing deals the same shares again.
  const auto split_secret = [&](const Secret<32>& secret, std::string_view purpose) {
    return split(secret, shape_.threshold, holders_.size(), [&](std::span<uint8_t> out) {
      if (Status status = secrets_->random(purpose, out); !status) drawn = std::move(status);
    });
  };
  COT_ASSIGN(const Shares seeds, split_secret(secrets_->own_seed(), "seed-shares"));
  COT_ASSIGN(const Shares keys, split_secret(secrets_->mask_key().secret(), "mask-key-shares"));
  COT_TRY(drawn);

  std::vector<AddressedBox> boxes;
  for (size_t i = 0; i < holders_.size(); ++i) {
    if (holders_[i] == device_) {  // in a complete graph: its own share does not travel
      SharePair own{.seed = Secret<32>(seeds[i].value.first<32>()), .mask_key = Secret<32>(keys[i].value.first<32>())};
      held_.push_back({device_, std::move(own)});
      continue;
    }
    COT_ASSIGN(const Secret<32>* agreed, seal_agreement(holders_[i]));
    boxes.push_back({holders_[i], seal_shares(session_, *agreed, device_, holders_[i], seeds[i].value, keys[i].value)});
  }
  return boxes;
}

Result<SealedShares> Client::share(const RosterView& view) {
  return step<SealedShares>([&]() -> Result<SealedShares> {
    if (phase_ != Phase::chosen) COT_TRY(require(Phase::advertised));
    // The size says which graph it is, and the graph whether holders had to be chosen first.
    COT_ASSIGN(shape_, shape_for(parameters_, view.size));
    COT_TRY(require(shape_.kind == GraphKind::drawn ? Phase::chosen : Phase::advertised));
    COT_TRY(check_view(view));

    device_ = view.device;
    size_ = view.size;
    root_ = view.root;
    session_ = session_of(parameters_, shape_, size_, root_);
    for (const auto& [device, advert] : view.entries) {
      if (device != device_) peers_.push_back({device, advert.mask_key, advert.seal_key, advert.identity, {}});
      if (shape_.kind == GraphKind::complete || (shape_.kind == GraphKind::ring && device != device_)) {
        holders_.push_back(device);
      }
    }
    COT_ASSIGN(std::vector<AddressedBox> boxes, seal_all());
    phase_ = Phase::shared;
    return SealedShares{.session = session_, .device = device_, .boxes = std::move(boxes)};
  });
}

Status Client::open_all(const ShareInbox& inbox, std::vector<uint32_t>& unopened) {
  uint32_t before = 0;
  for (const auto& [dealer, box] : inbox.boxes) {
    if (!std::ranges::binary_search(present_, dealer) || (&box != &inbox.boxes.front().box && dealer <= before)) {
      return fault(Fault::not_a_neighbour, "a box from device " + std::to_string(dealer) + ", which is not present");
    }
    before = dealer;
    COT_ASSIGN(const Secret<32>* agreed, seal_agreement(dealer));
    Result<SharePair> opened = open_shares(session_, *agreed, dealer, device_, box);
    if (opened) {
      held_.push_back({dealer, std::move(*opened)});
    } else {
      unopened.push_back(dealer);
    }
  }
  // Where holding is mutual, everybody present owes a box.
  if (shape_.kind != GraphKind::drawn && inbox.boxes.size() != present_.size()) {
    return fault(Fault::share_count, std::to_string(inbox.boxes.size()) + " boxes of " +
                                         std::to_string(present_.size()) + " devices that are present");
  }
  if (too_many_unopened(unopened.size(), inbox.boxes.size())) {
    return fault(Fault::unopenable, std::to_string(unopened.size()) + " of " + std::to_string(inbox.boxes.size()) +
                                        " boxes do not open: the others are in another session");
  }
  return {};
}

Result<Masking> Client::mask(const ShareInbox& inbox) {
  return step<Masking>([&]() -> Result<Masking> {
    COT_TRY(require(Phase::shared));
    COT_TRY(check_session(inbox.session));
    if (!ascends(inbox.present)) return fault(Fault::malformed, "the devices present do not ascend");
    for (const uint32_t device : inbox.present) {
      if (peer(device) == nullptr) {
        return fault(Fault::not_a_neighbour, "device " + std::to_string(device) + " is present but no neighbour");
      }
    }
    present_ = inbox.present;
    const auto alive = std::ranges::count_if(
        holders_, [&](uint32_t holder) { return holder == device_ || std::ranges::binary_search(present_, holder); });
    if (static_cast<uint32_t>(alive) < shape_.threshold) {
      return fault(Fault::below_threshold, std::to_string(alive) + " of this device's holders are present, " +
                                               std::to_string(shape_.threshold) + " open a secret");
    }
    std::vector<uint32_t> unopened;
    COT_TRY(open_all(inbox, unopened));

    COT_ASSIGN(MaskSum masks, MaskSum::make(parameters_.suite));
    // Two kinds of masks (Bonawitz et al., CCS 2017, section 4): pair masks cancel in the sum. The own mask hides an
    // update that comes late, after its pair masks were opened as those of a vanished device.
    COT_TRY(masks.add(own_mask_seed(session_, secrets_->own_seed()), MaskSign::plus));
    for (const uint32_t device : present_) {
      COT_ASSIGN(const Secret<32> seed,
                 pair_mask_seed(session_, secrets_->mask_key(), peer(device)->mask_key, device_, device));
      COT_TRY(masks.add(seed, pair_mask_sign(device_, device)));
    }
    for (Peer& peer : peers_) peer.seal_agreement.reset();  // all boxes are open: nothing needs them any more
    phase_ = Phase::masked;
    return Masking(parameters_, std::move(masks),
                   MaskedInput{.session = session_,
                               .device = device_,
                               .lane_bits = static_cast<uint8_t>(wire_lane_bits(parameters_)),
                               .lane_count = masked_lane_count(parameters_),
                               .lanes = {},
                               .unopened = std::move(unopened)});
  });
}

Result<Confirmation> Client::confirm(const ConfirmRequest& request) {
  return step<Confirmation>([&]() -> Result<Confirmation> {
    COT_TRY(require(Phase::masked));
    if (!parameters_.is_active()) return fault(Fault::bad_phase, "nothing is confirmed at this level");
    COT_TRY(check_session(request.session));
    COT_TRY(check_survivors(request.survivors));
    // One set is signed, and never a second one. With two, a server could have some holders open this device's seed and
    // others its mask key.
    COT_ASSIGN(Bytes signature, credentials_.signer->sign(confirmation_text(session_, request.survivors)));
    confirmed_ = request.survivors;
    phase_ = Phase::confirmed;
    return Confirmation{.session = session_, .device = device_, .signature = std::move(signature)};
  });
}

Result<Unmasking> Client::unmask(const UnmaskRequest& request) {
  return step<Unmasking>([&]() -> Result<Unmasking> {
    COT_TRY(require(parameters_.is_active() ? Phase::confirmed : Phase::masked));
    COT_TRY(check_session(request.session));
    if (parameters_.is_active()) {
      COT_TRY(check_confirmations(request));
    } else {
      COT_TRY(check_survivors(request.survivors));
    }
    // One kind of share of each dealer, never both: with the seed and the mask key a server takes all masks off one
    // update. For the same reason this is answered once, and all that could answer it again is forgotten.
    Unmasking answer{.session = session_, .device = device_, .shares = {}};
    std::ranges::sort(held_, {}, &HeldShare::dealer);
    for (const HeldShare& held : held_) {
      const bool survived = contains(request.survivors, held.dealer);
      OpenedShare share{.device = held.dealer, .kind = survived ? ShareKind::seed : ShareKind::mask_key, .value = {}};
      std::ranges::copy((survived ? held.pair.seed : held.pair.mask_key).reveal(), share.value.begin());
      answer.shares.push_back(share);
    }
    phase_ = Phase::over;
    secrets_.reset();
    held_.clear();
    return answer;
  });
}

}  // namespace coterie::secagg
