// The ledger of MemoryTrainingStore: what was released, with which noise, and who rests for it.
#include <algorithm>

#include "scheduler/job/round_release.h"
#include "secure/dp/noise/noise_tree.h"
#include "tests/support/memory_training_store.h"

namespace coterie {
namespace {

Error no_such(const std::string& what) { return Error(ErrorCode::not_found, "no such " + what); }
Error in_conflict(const std::string& what) { return Error(ErrorCode::conflict, what); }

}  // namespace

Status MemoryTrainingStore::append_to_ledger(const LedgerRecord& record) {
  COT_TRY(ledger_.append(record));
  logs_.append(record, drawn_.at(record.job).own);
  records_.push_back(record);
  return {};
}

Result<std::string> MemoryTrainingStore::privacy_stop_of(const JobRecord& job) const {
  if (has_noise(job.spec)) {
    COT_ASSIGN(std::string own, why_no_release(ledger_, job));
    if (!own.empty()) return own;
  }
  return why_not_drawn(ledger_, job, draws_of(job, drawn_.at(job.id).inherited));
}

std::set<Population> MemoryTrainingStore::inherited_by(const JobRecord& job, const Digest& model) const {
  std::set<Population> populations;
  for (const auto& [id, other] : jobs_) {
    const auto is_it = [&](const auto& entry) { return entry.first > ModelVersion(0) && entry.second.digest == model; };
    if (std::ranges::none_of(other.models, is_it)) continue;
    const Drawn& drawn = drawn_.at(id);
    populations.insert(drawn.own);
    populations.insert(drawn.inherited.begin(), drawn.inherited.end());
  }
  populations.erase(job.spec.common.population);
  return populations;
}

std::vector<PopulationDraw> MemoryTrainingStore::draws_of(const JobRecord& job,
                                                          const std::set<Population>& inherited) const {
  std::vector<PopulationDraw> draws = {{.population = job.spec.common.population}};
  for (const Population& population : inherited) draws.push_back({.population = population, .is_inherited = true});
  for (PopulationDraw& draw : draws) {
    if (const auto budget = budgets_.find(draw.population); budget != budgets_.end()) draw.budget = budget->second;
    for (const auto& [id, drawn] : drawn_) {
      if (drawn.own == draw.population || drawn.inherited.contains(draw.population)) draw.jobs.push_back(id);
    }
  }
  return draws;
}

Result<Population> MemoryTrainingStore::ledger_population(const JobId& job) {
  const std::lock_guard lock(mutex_);
  const auto drawn = drawn_.find(job);
  if (drawn == drawn_.end()) return no_such("job");
  return drawn->second.own;
}

Status MemoryTrainingStore::set_population_budget(const Population& population,
                                                  const std::optional<PrivacyBudget>& budget) {
  if (budget) COT_TRY(check_budget(*budget));
  const std::lock_guard lock(mutex_);
  budgets_.erase(population);
  if (budget) budgets_.emplace(population, *budget);
  return {};
}

Result<std::vector<PopulationPrivacy>> MemoryTrainingStore::list_population_privacy(double delta) {
  const std::lock_guard lock(mutex_);
  std::set<Population> names;
  for (const auto& [population, budget] : budgets_) names.insert(population);
  for (const LedgerRecord& record : records_) names.insert(drawn_.at(record.job).own);
  std::vector<PopulationPrivacy> list;
  for (const Population& name : names) {
    JobRecord any;
    any.spec.common.population = name;
    COT_ASSIGN(PopulationPrivacy privacy, privacy_of(ledger_, draws_of(any, {}).front(), delta));
    list.push_back(std::move(privacy));
  }
  return list;
}

Result<std::string> MemoryTrainingStore::why_no_job(const JobRecord& job, const Digest& model) {
  const std::lock_guard lock(mutex_);
  return why_not_drawn(ledger_, job, draws_of(job, inherited_by(job, model)));
}

Result<NoiseSalt> MemoryTrainingStore::reserve_release(const RoundKey& key, const NoiseSalt& fresh, WallTime now) {
  const std::lock_guard lock(mutex_);
  const auto round = rounds_.find(key);
  if (round == rounds_.end()) return in_conflict("no such round");
  if (round->second.state != RoundState::frozen && round->second.state != RoundState::finalizing) {
    return in_conflict("not being finalized");
  }
  const JobRecord& job = jobs_.at(round->second.job).record;
  if (!has_noise(job.spec)) return in_conflict("no noise");
  const RoundSettings& rounds = job.spec.horizontal().rounds;
  if (job.spec.horizontal().privacy.has_tree_noise()) {
    const std::set<DeviceId> resting = resting_in(round->second);
    if (std::ranges::any_of(accepted_[key], [&](const DeviceId& device) { return resting.contains(device); }))
      return Error(ErrorCode::data_loss, "counts devices too soon");
    for (const auto& [other, before] : rounds_) {
      if (before.job == job.id && before.state == RoundState::done && before.number < round->second.number &&
          before.number > rounds.far_enough_before(round->second.number) &&
          accepted_[other].size() != before.totals.updates)
        return Error(ErrorCode::data_loss, "does not know whom a round counts");
    }
  }
  if (ledger_.find_reserve(key) == nullptr && is_charged(ledger_, job)) {
    salts_.try_emplace(key, fresh.reveal());
  } else if (ledger_.find_reserve(key) == nullptr) {
    const LedgerRelease release = release_of(job.spec.horizontal(), job.value_count);
    COT_ASSIGN(const LedgerRecord record, ledger_.reserve(job.id, key, release, budget_of(job.spec.horizontal()), now));
    COT_ASSIGN(const std::string stop, why_not_drawn(ledger_, job, draws_of(job, drawn_.at(job.id).inherited)));
    if (!stop.empty()) return Error(ErrorCode::permission_denied, stop);
    COT_TRY(append_to_ledger(record));
    salts_[key] = NoiseSalt(fresh.reveal());
  }
  return NoiseSalt(salts_.at(key).reveal());
}

std::set<DeviceId> MemoryTrainingStore::resting_in(const RoundRecord& round) const {
  std::set<DeviceId> devices;
  const RoundSettings& settings = jobs_.at(round.job).record.spec.horizontal().rounds;
  for (const auto& [key, before] : rounds_) {
    const bool is_near = before.number < round.number && before.number > settings.far_enough_before(round.number);
    const auto accepted = accepted_.find(key);
    if (before.job != round.job || before.state != RoundState::done || !is_near || accepted == accepted_.end())
      continue;
    devices.insert(accepted->second.begin(), accepted->second.end());
  }
  return devices;
}

Result<std::vector<DeviceId>> MemoryTrainingStore::list_resting(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  const auto round = rounds_.find(key);
  if (round == rounds_.end()) return std::vector<DeviceId>();
  const std::set<DeviceId> devices = resting_in(round->second);
  return std::vector<DeviceId>(devices.begin(), devices.end());
}

Result<std::vector<KeptNoise>> MemoryTrainingStore::ended_noise(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  std::vector<KeptNoise> kept;
  const auto round = rounds_.find(key);
  if (round == rounds_.end()) return in_conflict("no such round");
  if (!jobs_.at(round->second.job).record.spec.horizontal().privacy.has_tree_noise()) return kept;
  for (const uint64_t node : nodes_ended_by(round->second.number)) {
    const auto salt = std::ranges::find_if(salts_, [&](const auto& entry) {
      const RoundRecord& of = rounds_.at(entry.first);
      return of.job == round->second.job && of.number == node && of.state == RoundState::done;
    });
    if (salt == salts_.end()) return Error(ErrorCode::data_loss, "kept noise is gone");
    kept.push_back({salt->first, NoiseSalt(salt->second.reveal())});
  }
  return kept;
}

void MemoryTrainingStore::erase_kept_noise(const JobId& job, uint64_t after, uint64_t before) {
  std::erase_if(salts_, [&](const auto& entry) {
    const RoundRecord& of = rounds_.at(entry.first);
    return of.job == job && of.state == RoundState::done && of.number > after && of.number < before;
  });
}

Result<JobPrivacy> MemoryTrainingStore::job_privacy(const JobId& id) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return no_such("job");
  const JobRecord& record = job->second.record;
  if (!has_noise(record.spec)) return in_conflict("no noise");
  JobPrivacy privacy;
  COT_ASSIGN(privacy.stop, privacy_stop_of(record));
  COT_ASSIGN(privacy.spent, ledger_.spent(id, record.spec.horizontal().privacy.target_delta));
  privacy.ledger_records = ledger_.size();
  privacy.ledger_head = ledger_.head();
  for (const PopulationDraw& draw : draws_of(record, drawn_.at(id).inherited)) {
    COT_ASSIGN(PopulationPrivacy population, privacy_of(ledger_, draw, record.spec.horizontal().privacy.target_delta));
    privacy.populations.push_back(std::move(population));
  }
  return privacy;
}

Result<LedgerHead> MemoryTrainingStore::ledger_head() {
  const std::lock_guard lock(mutex_);
  return LedgerHead{ledger_.size(), ledger_.head()};
}

Result<LogHead> MemoryTrainingStore::log_head(const Population& population, uint64_t records) {
  const std::lock_guard lock(mutex_);
  return logs_.head_at(population, records, ledger_.size());
}

Result<LogProof> MemoryTrainingStore::prove_log(const Population& population, uint64_t before, uint64_t size) {
  const std::lock_guard lock(mutex_);
  return logs_.prove(population, before, size);
}

Result<std::vector<LedgerRecord>> MemoryTrainingStore::list_ledger(uint64_t after_seq, size_t limit) {
  const std::lock_guard lock(mutex_);
  const size_t begin = std::min<size_t>(after_seq, records_.size());
  const size_t count = std::min(limit, records_.size() - begin);
  return std::vector<LedgerRecord>(records_.begin() + static_cast<std::ptrdiff_t>(begin),
                                   records_.begin() + static_cast<std::ptrdiff_t>(begin + count));
}

// ---- Models

}  // namespace coterie
