#include "scheduler/fleet/fleet_tally.h"

#include <algorithm>

namespace coterie {

namespace {

constexpr uint64_t kSteeredMin = 700;  // fewer come back as they like: no window of theirs is wide

}  // namespace

double NodeLoad::highest() const { return std::max({bytes, connections, waiters, queue_delay}); }

void FleetTally::hear(const std::vector<NodeRow>& rows) {
  living_.clear();
  for (const NodeRow& row : rows) {
    const NodeReport& report = row.report;
    for (const auto& [key, count] : report.issued) {
      const auto round = rounds_.find(key);
      if (round == rounds_.end()) continue;
      round->second.given[report.incarnation].issued = count;  // it may shrink: a ticket could not be handed over
    }
    for (const auto& [key, count] : report.accepted) {
      const auto round = rounds_.find(key);
      if (round == rounds_.end()) continue;
      Given& given = round->second.given[report.incarnation];
      given.accepted = std::max(given.accepted, count);
    }
    if (report.serves && !report.draining && row.age < silence_max_) living_.emplace(report.incarnation, report);
  }
  for (auto& [key, round] : rounds_) {
    if (is_dealt_well(key, round)) continue;
    deal(round, lacking(key));
    COT_INVARIANT(is_dealt_well(key, round), "dealt anew, tickets lie where they are wanted");
  }
  if (step_check_.is_due(living_.size() * rounds_.size())) check();
}

void FleetTally::serve(const RoundKey& key, const Population& population, uint32_t tickets) {
  const auto [place, is_new] = rounds_.try_emplace(key);
  Round& round = place->second;
  const bool is_same = !is_new && round.tickets == tickets && round.population == population;
  round.population = population;
  round.tickets = tickets;
  if (!is_same) deal(round, waiting_at(population));
  if (step_check_.is_due(living_.size() * rounds_.size())) check();
}

void FleetTally::withdraw(const RoundKey& key) { rounds_.erase(key); }

uint64_t FleetTally::waiting(const Population& population) const {
  uint64_t total = 0;
  for (const auto& [incarnation, report] : living_) {
    const auto count = report.waiting.find(population);
    if (count != report.waiting.end()) total += count->second;
  }
  return total;
}

std::map<Population, uint64_t> FleetTally::waiting() const {
  std::map<Population, uint64_t> total;
  for (const auto& [incarnation, report] : living_) {
    for (const auto& [population, count] : report.waiting) total[population] += count;
  }
  return total;
}

std::map<Population, uint64_t> FleetTally::steered() const {
  std::map<Population, uint64_t> total;
  for (const auto& [incarnation, report] : living_) {
    for (const auto& [population, count] : report.steered) total[population] += count;
  }
  std::erase_if(total, [](const auto& entry) { return entry.second < kSteeredMin; });
  for (auto& [population, count] : total) {
    uint64_t step = kSteeredMin;
    for (bool half = true; step < count; half = !half) step = half ? step / 10 * 14 : step / 14 * 20;
    count = step;
  }
  return total;
}

uint32_t FleetTally::issued(const RoundKey& key) const {
  uint32_t total = 0;
  for (const auto& [incarnation, given] : served(key).given) total += given.issued;
  return total;
}

uint64_t FleetTally::accepted(const RoundKey& key) const {
  uint64_t total = 0;
  for (const auto& [incarnation, given] : served(key).given) total += given.accepted;
  return total;
}

uint32_t FleetTally::issued_by(const Round& round, const std::string& incarnation) {
  const auto given = round.given.find(incarnation);
  return given == round.given.end() ? 0 : given->second.issued;
}

void FleetTally::check() const {
  for (const auto& [incarnation, report] : living_) {
    COT_INVARIANT(report.incarnation == incarnation, "a node is kept under its incarnation");
    COT_INVARIANT(report.serves && !report.draining, "a node that counts talks to devices, and stays");
    for (const auto& [key, round] : rounds_) {
      COT_INVARIANT(round.shares.contains(incarnation), "a node that counts has a share of each round that is served");
    }
  }
}

FleetTally::Wants FleetTally::lacking(const RoundKey& key) const {
  Wants wants;
  for (const auto& [incarnation, report] : living_) {
    const auto count = report.lacking.find(key);
    wants[incarnation] = count == report.lacking.end() ? 0 : count->second;
  }
  return wants;
}

FleetTally::Wants FleetTally::waiting_at(const Population& population) const {
  Wants wants;
  for (const auto& [incarnation, report] : living_) {
    const auto count = report.waiting.find(population);
    wants[incarnation] = count == report.waiting.end() ? 0 : count->second;
  }
  return wants;
}

bool FleetTally::is_dealt_well(const RoundKey& key, const Round& round) const {
  uint64_t unused = round.tickets;  // at nodes where they are not wanted, or at the dead
  bool somebody_lacks = false;
  const auto use = [&](uint64_t tickets) { unused -= std::min(unused, tickets); };
  for (const auto& [incarnation, given] : round.given) use(given.issued);
  for (const auto& [incarnation, wanted] : lacking(key)) {
    const auto share = round.shares.find(incarnation);
    if (share == round.shares.end()) return false;  // it has come since
    const uint32_t issued = issued_by(round, incarnation);
    const uint64_t left = share->second > issued ? share->second - issued : 0;
    use(std::min(left, wanted));
    somebody_lacks |= wanted > left;
  }
  return !somebody_lacks || unused == 0;
}

void FleetTally::deal(Round& round, const Wants& wants) const {
  round.shares.clear();
  if (living_.empty()) return;
  uint64_t given_in_all = 0;
  for (const auto& [incarnation, given] : round.given) given_in_all += given.issued;
  const uint64_t left = round.tickets > given_in_all ? round.tickets - given_in_all : 0;
  uint64_t wanted_in_all = 0;
  for (const auto& [incarnation, wanted] : wants) wanted_in_all += wanted;
  const uint64_t for_now = std::min(left, wanted_in_all);
  const uint64_t for_later = left - for_now;
  // Each gets what lies between two running totals, so that rounding loses none.
  uint64_t dealt = 0;
  uint64_t wanted_before = 0;
  uint64_t nodes_before = 0;
  const auto up_to = [](uint64_t all, uint64_t part, uint64_t whole) { return whole == 0 ? 0 : all * part / whole; };
  for (const auto& [incarnation, wanted] : wants) {
    const uint64_t now =
        up_to(for_now, wanted_before + wanted, wanted_in_all) - up_to(for_now, wanted_before, wanted_in_all);
    const uint64_t later =
        up_to(for_later, nodes_before + 1, living_.size()) - up_to(for_later, nodes_before, living_.size());
    round.shares[incarnation] = issued_by(round, incarnation) + static_cast<uint32_t>(now + later);
    wanted_before += wanted;
    ++nodes_before;
    dealt += now + later;
  }
  COT_INVARIANT(dealt == left, "what is dealt is what was left: no ticket is lost, and none is made");
}

}  // namespace coterie
