#include "tests/simulation/oracle.h"

#include <utility>

#include "secure/crypto/digest.h"

namespace coterie::simulation {
namespace {

std::string name(const RoundKey& key, uint32_t device) {
  return "device " + std::to_string(device) + " in round " + std::to_string(key.round.value()) + " attempt " +
         std::to_string(key.attempt.value());
}

}  // namespace

Verdict& Verdict::operator+=(const Verdict& other) {
  rounds += other.rounds;
  masked += other.masked;
  stale_sums += other.stale_sums;
  crashes += other.crashes;
  leaders += other.leaders;
  retries += other.retries;
  conflicts += other.conflicts;
  joined += other.joined;
  lost += other.lost;
  doubled += other.doubled;
  phantom += other.phantom;
  stuck += other.stuck;
  misaccounted += other.misaccounted;
  asked += other.asked;
  events += other.events;
  trace = trace * 1099511628211u ^ other.trace;
  if (first_problem.empty()) first_problem = other.first_problem;
  return *this;
}

void Oracle::problem(uint64_t Verdict::*kind, const std::string& what) {
  ++(verdict_.*kind);
  if (verdict_.first_problem.empty()) verdict_.first_problem = what;
}

void Oracle::trace(uint64_t value) { verdict_.trace = (verdict_.trace ^ value) * 1099511628211u; }

void Oracle::acknowledged(const RoundKey& key, uint32_t device) {
  Round& round = rounds_[key];
  if (!round.acknowledged.insert(device).second) return;
  trace(key.round.value() * 1'000'003 + device);
  if (round.done && !round.counted.contains(device))
    problem(&Verdict::lost, "acknowledged too late: " + name(key, device));
}

// Nothing here damages what is stored and nobody cancels the job: an attempt fails only if nobody was accepted in it.
void Oracle::failed(const RoundKey& key, uint64_t rows) {
  ++verdict_.retries;
  if (rows == 0 || is_masked_) return;
  problem(&Verdict::lost, "round " + std::to_string(key.round.value()) + " attempt " +
                              std::to_string(key.attempt.value()) + " failed with " + std::to_string(rows) + " rows");
}

void Oracle::added(const RoundKey& key, uint32_t device, const Training& training) {
  rounds_[key].trainings[device] = training;
}

void Oracle::thrown_away(uint32_t device, const Training& training) {
  if (counted_trainings_.contains({device, training})) return;
  problem(&Verdict::lost, "trained, and thrown away: " + name(training.round, device));
}

void Oracle::sessions_began(const RoundKey& key, bool over_rows) {
  ++rounds_[key].sessions;
  if (over_rows) problem(&Verdict::lost, "sessions began for an attempt that has rows of others");
}

void Oracle::sum_mismatched(const RoundKey& key, const std::string& why) {
  if (rounds_[key].sessions == 1) problem(&Verdict::lost, "a masked sum is not its devices': " + why);
  else ++verdict_.stale_sums;
}

Digest Oracle::state_made(uint32_t device, const RoundKey& key, const std::optional<Digest>& before) {
  std::vector<RoundKey> attempts;
  if (before) attempts = states_[*before];
  attempts.push_back(key);
  std::string text = std::to_string(device);
  for (const RoundKey& own : attempts) text += name(own, device);
  const Digest state = content_digest(as_bytes(text));
  states_[state] = std::move(attempts);
  return state;
}

void Oracle::trains_from(uint32_t device, const Digest& state) {
  for (const RoundKey& key : states_[state]) {
    const Round& round = rounds_[key];
    const bool is_lost_attempt = is_masked_ && !round.done;
    if (is_lost_attempt || (round.done && round.counted.contains(device))) continue;
    problem(&Verdict::phantom, "kept, not counted: " + name(key, device));
  }
}

void Oracle::committed(const RoundKey& key, const std::vector<uint64_t>& counts, const std::set<uint32_t>& accepted) {
  Round& round = rounds_[key];
  if (round.done) return;
  round.done = true;
  ++verdict_.rounds;
  verdict_.masked += is_masked_;
  for (uint32_t device = 0; device < counts.size(); ++device) {
    trace(counts[device]);
    if (counts[device] > 0) round.counted.insert(device);
    const auto training = round.trainings.find(device);
    if (counts[device] > 0 && training != round.trainings.end()) {
      verdict_.joined += training->second.round != key;
      if (!counted_trainings_.emplace(device, training->second).second) {
        problem(&Verdict::doubled, "one training in two rounds: " + name(training->second.round, device));
      }
    }
    if (counts[device] > 1) problem(&Verdict::doubled, "counted more than once: " + name(key, device));
    if ((counts[device] > 0) != accepted.contains(device)) {
      problem(&Verdict::phantom, "row and contribution differ: " + name(key, device));
    }
  }
  for (uint32_t device : round.acknowledged) {
    if (!round.counted.contains(device)) problem(&Verdict::lost, "acknowledged, not counted: " + name(key, device));
  }
}

}  // namespace coterie::simulation
