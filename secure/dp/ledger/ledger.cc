#include "secure/dp/ledger/ledger.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/assert.h"
#include "secure/dp/account/number_words.h"

namespace coterie {
namespace {

Error conflict(const std::string& what) { return Error(ErrorCode::conflict, "privacy ledger: " + what); }
Error broken(uint64_t seq, const std::string& what) {
  return Error(ErrorCode::data_loss, "privacy ledger: record " + std::to_string(seq) + " " + what);
}

std::string name_of(const RoundKey& round) {
  return "round " + std::to_string(round.round.value()) + " attempt " + std::to_string(round.attempt.value());
}

Error ended(const RoundKey& round, LedgerKind end) {
  return conflict(name_of(round) + " is " + std::string(to_string(end)) + " already");
}

// Number by number, so that no accountant can see it the other way round.
bool protects_as_well(const LedgerRelease& release, const LedgerRelease& reserved) {
  return release.mechanism == reserved.mechanism && release.variance >= reserved.variance &&
         release.l1_sensitivity <= reserved.l1_sensitivity && release.l2_sensitivity <= reserved.l2_sensitivity &&
         release.total_variation <= reserved.total_variation;
}

}  // namespace

Status check_budget(const PrivacyBudget& budget) {
  if (!(budget.epsilon > 0 && std::isfinite(budget.epsilon))) {
    return Error(ErrorCode::invalid_argument, "a privacy budget must have an epsilon above 0");
  }
  return check_delta(budget.delta);
}

Result<PrivacyAccount> account_of(const std::map<LedgerRelease, uint64_t>& releases, double delta) {
  COT_TRY(check_delta(delta));
  PrivacyAccount none;
  none.delta = delta;
  none.method = "none";
  if (releases.empty()) return none;
  Composition composition;
  double variation = 0;
  for (const auto& [release, count] : releases) {
    composition.push_back({noise_of(release), Sampling::none(), count});
    variation += release.total_variation * static_cast<double>(count);
  }
  COT_ASSIGN(PrivacyAccount account, account_for(composition, delta));
  if (variation == 0) return account;
  // The error is charged at an epsilon that the answer must then keep to.
  const double epsilon_max = account.epsilon + 1;
  // P'(S) <= P(S) + v <= e^epsilon Q(S) + left + v <= e^epsilon (Q'(S) + v) + left + v, where P' and Q' are what
  // samplers draw, v away from the laws P and Q that are accounted for. It holds as long as epsilon stays below
  // epsilon_max.
  const double left = delta - (1 + std::exp(epsilon_max)) * variation * (1 + 0x1p-40);
  if (check_delta(left)) {
    COT_ASSIGN(account, account_for(composition, left));
    account.delta = delta;
    if (account.epsilon <= epsilon_max) return account;
  }
  account.delta = delta;
  account.epsilon = std::numeric_limits<double>::infinity();
  return account;
}

Result<Ledger> Ledger::replay(std::span<const LedgerRecord> records) {
  Ledger ledger;
  for (const LedgerRecord& record : records) COT_TRY(ledger.append(record));
  return ledger;
}

Status Ledger::verify_extends(uint64_t seq, const Digest& head) const {
  if (seq > size()) {
    return Error(ErrorCode::data_loss, "privacy ledger: has " + std::to_string(size()) + " records, had " +
                                           std::to_string(seq) + ": its end is gone");
  }
  const Digest there = seq == 0 ? Digest{} : digests_[seq - 1];
  return there == head ? Status() : Status(broken(seq, "is not the one that was there"));
}

Status Ledger::check_rules(const LedgerRecord& record) const {
  COT_TRY(check_record(record));
  const auto entry = rounds_.find(record.round);
  if (record.kind == LedgerKind::reserve) {
    return entry == rounds_.end() ? Status() : Status(broken(record.seq, "reserves for an attempt twice"));
  }
  if (entry == rounds_.end()) return broken(record.seq, "ends an attempt that has no reserve");
  const LedgerRecord& reserve = entry->second.reserve;
  if (entry->second.end) return broken(record.seq, "ends an attempt twice");
  if (reserve.job != record.job || reserve.delta != record.delta) {
    return broken(record.seq, "is not of its reserve's job");
  }
  const bool fits = record.kind == LedgerKind::commit ? protects_as_well(record.release, reserve.release)
                                                      : record.release == reserve.release;
  return fits ? Status() : Status(broken(record.seq, "does not fit its reserve"));
}

Status Ledger::append(const LedgerRecord& record) {
  if (record.seq != size() + 1) return broken(record.seq, "stands where " + std::to_string(size() + 1) + " belongs");
  if (record.previous != head()) return broken(record.seq, "does not follow the one before it");
  COT_TRY(check_rules(record));
  digests_.push_back(digest_of(record));
  JobEntry& job = jobs_[record.job];
  if (record.kind == LedgerKind::reserve) {
    rounds_.emplace(record.round, Entry{record, std::nullopt});
    // A reserve counts as spent from the moment it is written: a crash between a release and its commit must not make
    // it free.
    ++job.counted[record.release];
    ++job.open_reserves;
    return {};
  }
  Entry& entry = must_find(rounds_, record.round, "what ends a reserve was checked to have one");
  COT_INVARIANT(job.open_reserves > 0, "a reserve that ends was open");
  entry.end = record.kind;
  --job.open_reserves;
  const auto reserved = job.counted.find(entry.reserve.release);
  // What was reserved is replaced by what was released, which protects at least as well, or by nothing if it was
  // voided.
  if (--reserved->second == 0) job.counted.erase(reserved);
  if (record.kind == LedgerKind::commit) ++job.counted[record.release];
  return {};
}

const LedgerRecord* Ledger::find_reserve(const RoundKey& round) const {
  const auto entry = rounds_.find(round);
  return entry == rounds_.end() ? nullptr : &entry->second.reserve;
}

bool Ledger::is_committed(const RoundKey& round) const {
  const auto entry = rounds_.find(round);
  return entry != rounds_.end() && entry->second.end == LedgerKind::commit;
}

LedgerRecord Ledger::next(const LedgerRecord& like, LedgerKind kind, WallTime now) const {
  LedgerRecord record = like;
  record.seq = size() + 1;
  record.previous = head();
  record.kind = kind;
  record.time = now;
  return record;
}

Result<LedgerRecord> Ledger::reserve(const JobId& job, const RoundKey& round, const LedgerRelease& release,
                                     const PrivacyBudget& budget, WallTime now) const {
  if (rounds_.contains(round)) return conflict(name_of(round) + " has a reserve");
  COT_TRY(admits(job, release, budget));
  LedgerRecord like;
  like.job = job;
  like.round = round;
  like.release = release;
  like.delta = budget.delta;
  const LedgerRecord record = next(like, LedgerKind::reserve, now);
  COT_TRY(check_record(record));
  return record;
}

Result<LedgerRecord> Ledger::commit(const RoundKey& round, const LedgerRelease& release, uint64_t contributors,
                                    const Digest& noise_commitment, WallTime now) const {
  const auto entry = rounds_.find(round);
  if (entry == rounds_.end()) return conflict(name_of(round) + " has no reserve: nothing may be released");
  if (entry->second.end) return ended(round, *entry->second.end);
  LedgerRecord record = next(entry->second.reserve, LedgerKind::commit, now);
  if (!protects_as_well(release, record.release)) {
    return conflict(name_of(round) + " would release more than it reserved");
  }
  record.release = release;
  record.contributors = contributors;
  record.noise_commitment = noise_commitment;
  COT_TRY(check_record(record));
  return record;
}

Result<LedgerRecord> Ledger::void_reserve(const RoundKey& round, WallTime now) const {
  const auto entry = rounds_.find(round);
  if (entry == rounds_.end()) return conflict(name_of(round) + " has no reserve");
  if (entry->second.end) return ended(round, *entry->second.end);
  return next(entry->second.reserve, LedgerKind::voided, now);
}

bool Ledger::has_releases(const JobId& job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && !found->second.counted.empty();
}

bool Ledger::covers(const JobId& job, const LedgerRelease& release) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && std::ranges::any_of(found->second.counted, [&](const auto& counted) {
           return protects_as_well(release, counted.first);
         });
}

Ledger::JobEntry Ledger::together(std::span<const JobId> jobs) const {
  JobEntry sum;
  for (const JobId& job : jobs) {
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) continue;
    for (const auto& [release, count] : found->second.counted) sum.counted[release] += count;
    sum.open_reserves += found->second.open_reserves;
  }
  return sum;
}

Result<PrivacySpent> Ledger::spent(std::span<const JobId> jobs, double delta) const {
  const JobEntry entry = together(jobs);
  PrivacySpent spent;
  spent.open_reserves = entry.open_reserves;
  for (const auto& [release, count] : entry.counted) spent.releases += count;
  COT_ASSIGN(spent.account, account_of(entry.counted, delta));
  return spent;
}

Status Ledger::admits(std::span<const JobId> jobs, const LedgerRelease& release, const PrivacyBudget& budget) const {
  std::map<LedgerRelease, uint64_t> after = together(jobs).counted;
  ++after[release];
  COT_ASSIGN(const PrivacyAccount account, account_of(after, budget.delta));
  if (account.epsilon <= budget.epsilon) return {};  // false for NaN, too
  return Error(ErrorCode::permission_denied, "the privacy budget is used up: one more release would bring epsilon to " +
                                                 number_words(account.epsilon) + " at delta " +
                                                 number_words(budget.delta) + ", the budget is " +
                                                 number_words(budget.epsilon));
}

}  // namespace coterie
