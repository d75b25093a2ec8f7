#include "tests/simulation/sessions/careless.h"

#include <algorithm>

#include "secure/secagg/device_secrets.h"
#include "secure/secagg/pairing.h"
#include "secure/secagg/survivors.h"

namespace coterie::simulation {
namespace {

// What the seal keys of this device and of a neighbour agree on.
Result<Secret<32>> agreement(const secagg::SessionParameters& parameters, const Bytes& seed, const RosterView& view,
                             uint32_t neighbour) {
  Secret<32> secret(std::span<const uint8_t, 32>(seed.data(), 32));
  COT_ASSIGN(const auto secrets, secagg::DeviceSecrets::derive(std::move(secret), parameters.context));
  const auto entry = std::ranges::find(view.entries, neighbour, &RosterEntry::device);
  if (entry == view.entries.end()) return Error(ErrorCode::not_found, "no such neighbour");
  return secagg::agree_on_seal(secrets.seal_key(), entry->advert.seal_key, neighbour);
}

}  // namespace

Result<Unmasking> unmask_unchecked(const secagg::SessionParameters& parameters, const Bytes& seed,
                                   const RosterView& view, const ShareInbox& inbox, const UnmaskRequest& request) {
  Unmasking answer{.session = inbox.session, .device = view.device, .shares = {}};
  for (const auto& [dealer, box] : inbox.boxes) {
    COT_ASSIGN(const Secret<32> agreed, agreement(parameters, seed, view, dealer));
    const auto pair = secagg::open_shares(inbox.session, agreed, dealer, view.device, box);
    if (!pair) continue;
    const bool survived = secagg::contains(request.survivors, dealer);
    OpenedShare share{.device = dealer, .kind = survived ? ShareKind::seed : ShareKind::mask_key, .value = {}};
    std::ranges::copy((survived ? pair->seed : pair->mask_key).reveal(), share.value.begin());
    answer.shares.push_back(share);
  }
  return answer;
}

void deal_badly(const secagg::SessionParameters& parameters, const Bytes& seed, const RosterView& view,
                SealedShares& shares) {
  if (shares.boxes.empty()) return;
  AddressedBox& box = shares.boxes.front();
  const auto agreed = agreement(parameters, seed, view, box.peer);
  if (!agreed) return;
  const Bytes nothing(32, 0x55);
  box.box = secagg::seal_shares(shares.session, *agreed, shares.device, box.peer, nothing, nothing);
}

}  // namespace coterie::simulation
