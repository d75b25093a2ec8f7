#include "tests/simulation/sessions/session_oracle.h"

#include <algorithm>

namespace coterie::simulation {
namespace {

std::string device_name(uint32_t who) { return "device " + std::to_string(who); }

// Not secure/secagg's: an oracle that asks whom it judges says what he says.
std::vector<uint32_t> members_of(const SurvivorSet& set) {
  std::vector<uint32_t> members;
  for (uint32_t device = 0; device < set.size; ++device) {
    if (device / 8 < set.bits.size() && (set.bits[device / 8] >> (device % 8) & 1) != 0) members.push_back(device);
  }
  return members;
}

}  // namespace

SessionVerdict& SessionVerdict::operator+=(const SessionVerdict& other) {
  for (const auto field : {&SessionVerdict::sessions,     &SessionVerdict::sums,      &SessionVerdict::hostile,
                           &SessionVerdict::lies,         &SessionVerdict::openings,  &SessionVerdict::faults,
                           &SessionVerdict::crashes,      &SessionVerdict::wrong,     &SessionVerdict::both_kinds,
                           &SessionVerdict::opened_twice, &SessionVerdict::two_sets,  &SessionVerdict::small,
                           &SessionVerdict::false_roster, &SessionVerdict::failed,    &SessionVerdict::stuck,
                           &SessionVerdict::campaigns,    &SessionVerdict::plans,     &SessionVerdict::refusals,
                           &SessionVerdict::opened_sums,  &SessionVerdict::recovered, &SessionVerdict::lowered,
                           &SessionVerdict::ground,       &SessionVerdict::events}) {
    this->*field += other.*field;
  }
  trace = trace * 1099511628211u ^ other.trace;
  if (first_problem.empty()) first_problem = other.first_problem;
  return *this;
}

void SessionOracle::problem(uint64_t SessionVerdict::*kind, const std::string& what) {
  ++(verdict_.*kind);
  if (verdict_.first_problem.empty()) verdict_.first_problem = what;
}

void SessionOracle::trace(uint64_t value) { verdict_.trace = (verdict_.trace ^ value) * 1099511628211u; }

void SessionOracle::trace(std::string_view text) {
  for (const char c : text) trace(static_cast<uint8_t>(c));
}

void SessionOracle::masked(const Digest& name, const RosterView& view) {
  Session& session = sessions_[name];
  session.size = view.size;
  session.is_complete = view.entries.size() == view.size;
  for (const auto& [device, advert] : view.entries) {
    const auto identity = identities_.find(advert.identity.public_key);
    if (identity != identities_.end() && !identity->second) session.corrupt.insert(device);
    if (!options_.parameters.is_active()) continue;  // below, nobody signs: a server that lies is out of the model
    if (identity == identities_.end()) {
      problem(&SessionVerdict::false_roster, "a device masked with an identity that nobody enrolled");
    } else if (identity->second && std::ranges::count(adverts_[advert.identity.public_key], advert) == 0) {
      problem(&SessionVerdict::false_roster, "a device masked with an advert that its owner never made");
    }
  }
}

void SessionOracle::confirmed(uint32_t who, const ConfirmRequest& request) {
  std::set<Members>& sets = sessions_[request.session].confirmed[who];
  sets.insert(members_of(request.survivors));
  if (sets.size() > 1) two_sets(device_name(who) + " confirmed two survivor sets of one session");
}

void SessionOracle::opened(uint32_t who, const UnmaskRequest& request, const Unmasking& unmasking) {
  ++verdict_.openings;
  Session& session = sessions_[request.session];
  const Members members = members_of(request.survivors);
  session.sets.insert(members);
  // In a drawn graph a server may tell parts of it apart: there devices look at their own holders alone.
  if (session.is_complete && session.sets.size() > 1) two_sets("devices opened two survivor sets of one session");
  if (members.size() < options_.parameters.survivors_min || !std::ranges::binary_search(members, unmasking.device)) {
    problem(&SessionVerdict::small, device_name(who) + " opened a set of " + std::to_string(members.size()) +
                                        " survivors, or one without itself");
  }
  for (const OpenedShare& share : unmasking.shares) {
    auto& [seeds, keys] = session.out[share.device];
    (share.kind == ShareKind::seed ? seeds : keys).insert(unmasking.device);
    if (seeds.contains(unmasking.device) && keys.contains(unmasking.device)) {
      problem(&SessionVerdict::both_kinds,
              device_name(who) + " gave both kinds of shares of place " + std::to_string(share.device));
    }
  }
}

void SessionOracle::released(const std::vector<uint64_t>& sum, const Updates& survivors) {
  ++verdict_.sums;
  const uint32_t bits = options_.parameters.ring_bits;
  const uint64_t ring = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  std::vector<uint64_t> plain(options_.parameters.lane_count);
  for (const auto& [who, update] : survivors) {
    for (size_t lane = 0; lane < plain.size(); ++lane) plain[lane] = (plain[lane] + update[lane]) & ring;
  }
  for (const uint64_t lane : sum) trace(lane);
  if (sum != plain) {
    problem(&SessionVerdict::wrong, "the sum is not that of its " + std::to_string(survivors.size()) + " survivors");
  }
  if (survivors.size() < options_.parameters.survivors_min) {
    problem(&SessionVerdict::small, "a sum of " + std::to_string(survivors.size()) + " was released");
  }
  if (options_.is_quiet() && survivors.size() != options_.devices) {
    problem(&SessionVerdict::failed, "nothing went wrong, but the sum is that of " + std::to_string(survivors.size()) +
                                         " of " + std::to_string(options_.devices) + " devices");
  }
}

void SessionOracle::given_up(const Error& error) {
  trace(error.message());
  if (options_.is_quiet()) problem(&SessionVerdict::failed, "nothing went wrong, but: " + error.message());
  if (error.code() == ErrorCode::data_loss && options_.hostile_devices == 0) {
    problem(&SessionVerdict::wrong, "honest parties ended with lost data: " + error.message());
  }
}

void SessionOracle::finish() {
  for (const auto& [name, session] : sessions_) {
    if (!session.is_complete) continue;
    const size_t threshold = 2 * size_t{session.size} / 3 + 1, corrupt = session.corrupt.size();
    for (const auto& [owner, shares] : session.out) {
      if (session.corrupt.contains(owner)) continue;
      if (shares[0].size() + corrupt < threshold || shares[1].size() + corrupt < threshold) continue;
      problem(&SessionVerdict::opened_twice, "both secrets of place " + std::to_string(owner) + " can be opened, by " +
                                                 std::to_string(shares[0].size()) + " and " +
                                                 std::to_string(shares[1].size()) + " shares of honest devices and " +
                                                 std::to_string(corrupt) + " accomplices");
    }
  }
}

}  // namespace coterie::simulation
