#include "scheduler/selection/gate_accounts.h"

#include <algorithm>

#include "base/assert.h"
#include "base/error.h"

namespace coterie {
namespace {

bool has_ticket(DeviceGate gate) { return gate >= kFirstWithTicket; }

// Not of a check-in alone, of a device that has not asked, or of none that is remembered.
bool is_of_devices(DeviceGate gate) {
  return gate < DeviceGate::unremembered || (has_ticket(gate) && gate != DeviceGate::ticket_again);
}

// Whoever is gone may have a ticket: it asked again, and only that answer did not reach it.
bool may_have_ticket(DeviceGate gate) { return has_ticket(gate) || gate == DeviceGate::gone; }

bool opens_entry(DeviceGate gate) {
  return !has_ticket(gate) || gate == DeviceGate::ticket || gate == DeviceGate::joined;
}

// Whether a device that was at `from` can be at `to` next.
bool follows(DeviceGate from, DeviceGate to) {
  if (from == DeviceGate::counted) return false;
  if (!has_ticket(to)) {
    if (has_ticket(from)) return false;
    return to != DeviceGate::waiting ||
           from != DeviceGate::not_drawn;  // it may wait on: it was passed over all the same
  }
  switch (to) {
    case DeviceGate::ticket:
    case DeviceGate::joined: return !has_ticket(from);
    case DeviceGate::downloaded: return from == DeviceGate::ticket || from == DeviceGate::joined;
    case DeviceGate::plan_refused: return from <= DeviceGate::downloaded && may_have_ticket(from);
    case DeviceGate::uploading: return may_have_ticket(from) && from != DeviceGate::late;
    default: return may_have_ticket(from);
  }
}

}  // namespace

std::string name_of(const GateCode& code) {
  std::string name(to_string(code.gate));
  if (!code.reason.empty()) name.append("/").append(code.reason);
  return name;
}

GateCode gate_of_refusal(const Error& error) {
  const bool is_late = error.code() == ErrorCode::round_closed || error.code() == ErrorCode::ticket_expired;
  return is_late ? GateCode{DeviceGate::late} : GateCode{DeviceGate::update_refused, error.name()};
}

GateAccounts::Account* GateAccounts::find(const RoundKey& key) {
  const auto found = accounts_.find(key);
  return found == accounts_.end() ? nullptr : &found->second;
}

// Again, where its leader has changed.
void GateAccounts::begin(const RoundKey& key) { accounts_[key].ended_at.reset(); }

void GateAccounts::changed(Account& account) {
  const Instant due = account.ended_at ? now_ : now_ + kTellEvery;
  account.tell_at = std::min(due, account.tell_at.value_or(due));
}

void GateAccounts::enter(Account& account, const DeviceId& device, GateCode code) {
  if (remembered_ >= devices_max_) make_room();
  // A ticket has its entry in any case: there are only so many.
  if (remembered_ >= devices_max_ && !has_ticket(code.gate)) {
    ++account.unremembered;
    code = {DeviceGate::unremembered};
  } else {
    account.devices.emplace(device, code);
    ++remembered_;
    // Perhaps it is one of those: nobody knows. It is not counted twice.
    if (has_ticket(code.gate) && account.unremembered > 0) {
      --account.unremembered;
      --account.asked;
      if (--account.counts[{DeviceGate::unremembered}] == 0) account.counts.erase({DeviceGate::unremembered});
    }
  }
  ++account.asked;
  ++account.counts[code];
  changed(account);
}

void GateAccounts::move(Account& account, GateCode& from, GateCode to) {
  if (from == to) return;
  const auto count = account.counts.find(from);
  COT_INVARIANT(count != account.counts.end(), "a gate at which a device is counts it");
  if (--count->second == 0) account.counts.erase(count);
  ++account.counts[to];
  from = to;
  changed(account);
}

void GateAccounts::note(const RoundKey& key, const DeviceId& device, GateCode code) {
  COT_INVARIANT(is_of_devices(code.gate), "a gate of a check-in is none of a device's");
  Account* const account = find(key);
  if (account == nullptr) return;
  if (account->ended_at && !has_ticket(code.gate)) return;  // it gives no tickets
  const auto known = account->devices.find(device);
  if (known != account->devices.end()) {
    if (follows(known->second.gate, code.gate)) move(*account, known->second, code);
  } else if (opens_entry(code.gate) && !account->ended_at) {
    enter(*account, device, code);
  }
}

void GateAccounts::left(const RoundKey& key, const DeviceId& device, DeviceGate gate) {
  Account* const account = find(key);
  if (account == nullptr) return;
  const auto known = account->devices.find(device);
  if (known == account->devices.end() || known->second.gate != DeviceGate::waiting) return;
  move(*account, known->second, {gate});
}

void GateAccounts::ticket_came_back(const RoundKey& key, const DeviceId& device) {
  Account* const account = find(key);
  if (account == nullptr) return;
  const auto known = account->devices.find(device);
  if (known == account->devices.end() || known->second.gate != DeviceGate::ticket) return;
  move(*account, known->second, {DeviceGate::gone});
}

void GateAccounts::closed(const RoundKey& key) {
  Account* const account = find(key);
  if (account == nullptr || !account->counts.contains({DeviceGate::waiting})) return;
  for (auto& [device, code] : account->devices) {
    if (code.gate == DeviceGate::waiting) move(*account, code, {DeviceGate::no_place});
  }
}

void GateAccounts::ended(const RoundKey& key) {
  Account* const account = find(key);
  if (account == nullptr || account->ended_at) return;
  closed(key);
  account->ended_at = now_;
  if (account->asked > 0) account->tell_at = now_;
}

// Forgets the attempt that ended first.
void GateAccounts::make_room() {
  auto first = accounts_.end();
  for (auto account = accounts_.begin(); account != accounts_.end(); ++account) {
    const Account& other = account->second;
    if (!other.ended_at || other.devices.empty() || other.tell_at) continue;
    if (first == accounts_.end() || *other.ended_at < *first->second.ended_at) first = account;
  }
  if (first == accounts_.end()) return;
  remembered_ -= first->second.devices.size();
  accounts_.erase(first);
}

std::vector<ToldGates> GateAccounts::take_due() {
  std::vector<ToldGates> told;
  for (auto account = accounts_.begin(); account != accounts_.end();) {
    auto& [key, of] = *account;
    if (of.tell_at && *of.tell_at <= now_) {
      told.push_back({key, of.asked, of.counts});
      of.tell_at.reset();
    }
    if (of.ended_at && !of.tell_at && *of.ended_at + kLinger <= now_) {
      remembered_ -= of.devices.size();
      account = accounts_.erase(account);
    } else {
      ++account;
    }
  }
  return told;
}

std::optional<Instant> GateAccounts::next_deadline() const {
  std::optional<Instant> next;
  const auto consider = [&](Instant at) { next = std::min(at, next.value_or(at)); };
  for (const auto& [key, account] : accounts_) {
    if (account.tell_at) consider(*account.tell_at);
    else if (account.ended_at) consider(*account.ended_at + kLinger);
  }
  return next;
}

void GateAccounts::check() const {
  size_t remembered = 0;
  for (const auto& [key, account] : accounts_) {
    remembered += account.devices.size();
    uint64_t sum = 0;
    for (const auto& [code, count] : account.counts) {
      COT_INVARIANT(count > 0, "a gate that is told has a device");
      sum += count;
    }
    COT_INVARIANT(sum == account.asked, "the codes of a round sum to the devices that asked");
    COT_INVARIANT(account.devices.size() + account.unremembered == account.asked,
                  "every device that asked is remembered with its gate, or counted as one that is not");
    COT_INVARIANT(!account.ended_at || !account.counts.contains({DeviceGate::waiting}),
                  "nobody waits for a round that has ended");
  }
  COT_INVARIANT(remembered == remembered_, "the devices of all accounts are those that are remembered");
}

}  // namespace coterie
