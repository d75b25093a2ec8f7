#include "tests/support/secagg_world.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/assert.h"
#include "secure/secagg/check_lanes.h"
#include "tests/support/wide_lanes.h"

namespace coterie::test {

using secagg::Client;
using secagg::Fault;
using secagg::Masking;
using secagg::Server;
using secagg::SessionParameters;

SessionParameters secagg_parameters(SecurityLevel level, uint64_t lane_count) {
  SessionParameters parameters;
  parameters.context.bytes.fill(7);
  parameters.level = level;
  parameters.lane_count = lane_count;
  if (level == SecurityLevel::masked) parameters.corrupt_share = 0.1;
  return parameters;
}

SecaggWorld::SecaggWorld(const SessionParameters& parameters, uint32_t devices, uint64_t seed)
    : parameters_(parameters), prng_(seed), devices_(devices) {
  certificate_is_good = [](const DeviceIdentity&) { return true; };
  Bytes key(32);
  for (Device& device : devices_) {
    for (uint8_t& byte : key) byte = static_cast<uint8_t>(prng_.next());
    device.signer = *make_signer(KeyAlgorithm::ed25519, key);
    device.update.resize(parameters.lane_count);
    for (uint64_t& lane : device.update) lane = prng_.next() & ring_mask(parameters.ring_bits);
  }
}

Status SecaggWorld::make_clients() {
  const auto judge = [this](const DeviceIdentity& identity) -> Status {
    if (certificate_is_good(identity)) return {};
    return Error(ErrorCode::unauthenticated, "the test says so");
  };
  COT_ASSIGN(server_, Server::make(parameters_, prng_.next(), judge));
  for (uint32_t who = 0; who < size(); ++who) {
    SessionParameters parameters = parameters_;
    if (context_of) parameters.context = context_of(who);
    Secret<32> seed;
    for (uint8_t& byte : seed.mutable_bytes()) byte = static_cast<uint8_t>(prng_.next());
    COT_ASSIGN(devices_[who].client, Client::make(parameters, std::move(seed),
                                                  {.signer = devices_[who].signer.get(), .certificate = {}}, judge));
  }
  return {};
}

// Those who still take part, in a random order; an error of one is its own.
template <typename Step>
void SecaggWorld::each(Phase phase, Step step) {
  std::vector<uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0u);
  for (uint32_t i = size(); i > 1; --i) std::swap(order[i - 1], order[prng_.below(i)]);
  for (const uint32_t who : order) {
    Device& device = devices_[who];
    device.is_there = device.is_there && (!takes_part || takes_part(who, phase));
    if (!device.is_there) continue;
    if (Status done = step(who); !done) {
      errors_.emplace(who, done.error());
      device.is_there = false;
    }
  }
}

template <typename Message>
Status SecaggWorld::deliver(uint32_t who, const Tamper<Message>& tamper, Message message) {
  if (tamper) tamper(who, message);
  return server_->receive(message);
}

namespace {

template <typename Message>
Message tampered(uint32_t who, const std::function<void(uint32_t, Message&)>& tamper, Message message) {
  if (tamper) tamper(who, message);
  return message;
}

}  // namespace

Status SecaggWorld::send_input(uint32_t who) {
  COT_ASSIGN(ShareInbox inbox, server_->inbox(place(who)));
  COT_ASSIGN(const Masking masking, client(who).mask(tampered(who, on_inbox, std::move(inbox))));
  std::vector<uint64_t> lanes = update(who);
  lanes.resize(secagg::masked_lane_count(parameters_));
  COT_TRY(with_lanes(secagg::lane_bits(parameters_), lanes, [&](auto span) -> Status {
    masking.apply(span);
    return {};
  }));
  if (on_lanes) on_lanes(who, masking, lanes);
  COT_TRY(deliver(who, on_input, masking.head()));
  devices_[who].masked = lanes;
  masked_sum_.resize(lanes.size());
  for (size_t i = 0; i < lanes.size(); ++i) masked_sum_[i] += lanes[i];
  return {};
}

Status SecaggWorld::phase(Phase phase) {
  Server& server = *server_;
  switch (phase) {
    case Phase::advertising:
      each(phase, [&](uint32_t who) { return deliver(who, on_advert, client(who).advert()); });
      return server.close_adverts();
    case Phase::choosing:
      each(phase, [&](uint32_t who) -> Status {
        COT_ASSIGN(HolderChoice choice, client(who).choose(tampered(who, on_slot, server.slot(place(who)))));
        return deliver(who, on_choice, std::move(choice));
      });
      return server.close_choices();
    case Phase::sharing:
      each(phase, [&](uint32_t who) -> Status {
        COT_ASSIGN(SealedShares shares, client(who).share(tampered(who, on_view, server.view(place(who)))));
        return deliver(who, on_shares, std::move(shares));
      });
      return server.close_shares();
    case Phase::masking: each(phase, [&](uint32_t who) { return send_input(who); }); return server.close_inputs();
    case Phase::confirming:
      each(phase, [&](uint32_t who) -> Status {
        COT_ASSIGN(ConfirmRequest request, server.confirm_request(place(who)));
        COT_ASSIGN(Confirmation confirmation,
                   client(who).confirm(tampered(who, on_confirm_request, std::move(request))));
        return deliver(who, on_confirmation, std::move(confirmation));
      });
      return server.close_confirmations();
    case Phase::unmasking:
      each(phase, [&](uint32_t who) -> Status {
        COT_ASSIGN(UnmaskRequest request, server.unmask_request(place(who)));
        COT_ASSIGN(Unmasking unmasking, client(who).unmask(tampered(who, on_unmask_request, std::move(request))));
        return deliver(who, on_unmasking, std::move(unmasking));
      });
      return server.can_open() ? Status() : secagg::fault(Fault::below_threshold, "too few answered with their shares");
  }
  return {};
}

Status SecaggWorld::run_to(Phase last) {
  if (!server_) COT_TRY(make_clients());
  while (server_->phase() < last) COT_TRY(phase(server_->phase()));
  return {};
}

Status SecaggWorld::run() {
  COT_TRY(run_to(Phase::unmasking));
  return phase(Phase::unmasking);
}

Result<std::vector<uint64_t>> SecaggWorld::sum(size_t parts) const {
  std::vector<secagg::SumMask> masks;
  for (size_t part = 0; part < parts; ++part) {
    COT_ASSIGN(secagg::OpenedMasks opened, server_->opening().open(part, parts));
    std::ranges::move(opened.masks, std::back_inserter(masks));
    blamed_.insert(blamed_.end(), opened.blamed.begin(), opened.blamed.end());
  }
  COT_ASSIGN(const MaskSum sum, to_mask_sum(parameters_.suite, masks));
  std::vector<uint64_t> lanes = masked_sum_;
  COT_TRY(with_lanes(secagg::lane_bits(parameters_), lanes, [&]<typename Lane>(std::span<Lane> span) -> Status {
    for (size_t part = 0; part < parts; ++part) {
      const LaneRange range = part_of_lanes(span.size(), sizeof(Lane), part, parts);
      sum.apply(range.first, span.subspan(range.first, range.count));
    }
    const secagg::SummedSession summed[] = {{server_->session(), server_->survivors().size()}};
    return secagg::verify_check_lanes<Lane>(parameters_, summed, span.subspan(parameters_.lane_count));
  }));
  lanes.resize(parameters_.lane_count);
  for (uint64_t& lane : lanes) lane &= ring_mask(parameters_.ring_bits);
  return lanes;
}

std::vector<uint32_t> SecaggWorld::survivors() const {
  std::vector<uint32_t> survivors;
  for (const uint32_t place : server_->survivors()) survivors.push_back(who_is(place));
  return survivors;
}

uint32_t SecaggWorld::who_is(uint32_t place) const {
  for (uint32_t who = 0; who < size(); ++who) {
    if (server_->device_of(devices_[who].signer->public_key()) == place) return who;
  }
  COT_ASSERT(!"no such place");
  return 0;
}

std::vector<uint64_t> SecaggWorld::sum_of_survivors() const {
  std::vector<uint64_t> sum(parameters_.lane_count);
  for (const uint32_t who : survivors()) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = (sum[i] + update(who)[i]) & ring_mask(parameters_.ring_bits);
  }
  return sum;
}

std::optional<Fault> SecaggWorld::fault_of(uint32_t who) const {
  const auto found = errors_.find(who);
  return found == errors_.end() ? std::nullopt : secagg::fault_of(found->second);
}

}  // namespace coterie::test
