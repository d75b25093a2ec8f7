#include "tests/simulation/asked_oracle.h"

namespace coterie::simulation {

void AskedOracle::asks_in(Round& round, const DeviceId& device) {
  if (round.is_open && !round.counted_before.contains(device) && !round.counted.contains(device))
    round.asked.insert(device);
}

void AskedOracle::asks(WaiterId waiter, const DeviceId& device) {
  waiting_.emplace(waiter, device);
  for (auto& [key, round] : rounds_) asks_in(round, device);
}

// The world has one job, whose newer attempt takes the place of an older one.
void AskedOracle::served(const RoundNotice& notice, const std::vector<DeviceId>& accepted) {
  for (auto& [key, round] : rounds_) round.is_open = false;
  Round& round = rounds_[notice.key];
  round.is_open = notice.state == RoundState::collecting;
  round.counted_before.insert(accepted.begin(), accepted.end());
  for (const auto& [waiter, device] : waiting_) asks_in(round, device);
}

void AskedOracle::accepted(const RoundKey& key, const DeviceId& device) {
  Round& round = rounds_[key];
  if (round.ticketed.contains(device)) round.counted.insert(device);
  else round.counted_before.insert(device);  // with a ticket of another node
}

std::optional<std::string> AskedOracle::judge(const ToldGates& told) const {
  const auto found = rounds_.find(told.key);
  if (found == rounds_.end()) return "gates are told of an attempt that was never served";
  uint64_t sum = 0, counted = 0;
  for (const auto& [code, devices] : told.devices) {
    sum += devices;
    if (code.gate == DeviceGate::counted) counted += devices;
  }
  const Round& round = found->second;
  if (sum != told.asked) return "the codes sum to " + std::to_string(sum) + ", asked: " + std::to_string(told.asked);
  if (told.asked != round.asked.size()) {
    return std::to_string(round.asked.size()) + " devices asked, " + std::to_string(told.asked) + " are told";
  }
  if (counted == round.counted.size()) return std::nullopt;
  return std::to_string(round.counted.size()) + " devices with a ticket of this node are counted, " +
         std::to_string(counted) + " are told";
}

}  // namespace coterie::simulation
