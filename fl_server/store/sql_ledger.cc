// The privacy ledger, and the salts of noise that is not committed yet.
#include "fl_server/store/sql_training_store.h"
#include "scheduler/job/round_release.h"

namespace coterie {
namespace {

#define COT_LEDGER_COLUMNS                                                                                           \
  "seq, previous, job, round, attempt, kind, mechanism, variance, l1_sensitivity, l2_sensitivity, total_variation, " \
  "delta, contributors, noise_commitment, time"

LedgerRecord ledger_record_from(Statement& row) {
  return {
      .seq = row.u64(0),
      .previous = row.digest(1),
      .job = JobId(row.text(2)),
      .round = {RoundId(row.u64(3)), Attempt(row.u32(4))},
      .kind = static_cast<LedgerKind>(row.integer(5)),
      .release = {static_cast<LedgerMechanism>(row.integer(6)), row.real(7), row.real(8), row.real(9), row.real(10)},
      .delta = row.real(11),
      .contributors = row.u64(12),
      .noise_commitment = row.digest(13),
      .time = row.time(14)};
}

}  // namespace

// One row that whoever appends holds: so no two records have the same number.
Status SqlTrainingStore::lock_ledger() {
  Statement row = database_.prepare("SELECT 1 /*! FROM ledger_lock FOR UPDATE */");
  return row.lock_rows();
}

Result<std::vector<LedgerRecord>> SqlTrainingStore::read_ledger(uint64_t after_seq, size_t limit) {
  Statement rows = database_.prepare("SELECT " COT_LEDGER_COLUMNS " FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?");
  rows << after_seq << static_cast<uint64_t>(limit);
  std::vector<LedgerRecord> records;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return records;
    records.push_back(ledger_record_from(rows));
  }
}

Status SqlTrainingStore::refresh_ledger() {
  COT_ASSIGN(const std::vector<LedgerRecord> news, read_ledger(ledger_.size(), INT64_MAX));
  for (const LedgerRecord& record : news) COT_TRY(take_record(record));
  return {};
}

Status SqlTrainingStore::take_record(const LedgerRecord& record) {
  COT_ASSIGN(const Population population, population_of(record.job));
  COT_TRY(ledger_.append(record));
  logs_.append(record, population);
  return {};
}

Status SqlTrainingStore::keep_heads(const std::optional<LedgerHeads>& before,
                                    std::function<void(const LedgerHeads&)> tell) {
  const std::lock_guard lock(mutex_);
  COT_TRY(refresh_ledger());
  if (before) COT_TRY(verify_continues(ledger_, logs_, *before));
  told_records_ = before ? before->chain.records : 0;
  tell_heads_ = std::move(tell);
  tell_heads();
  return {};
}

void SqlTrainingStore::tell_heads() {
  if (!tell_heads_ || ledger_.size() == told_records_) return;
  told_records_ = ledger_.size();
  tell_heads_(heads_of(ledger_, logs_, WallTime()));
}

Status SqlTrainingStore::append_to_ledger(const LedgerRecord& record) {
  Statement insert = database_.prepare("INSERT INTO ledger(" COT_LEDGER_COLUMNS
                                       ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const LedgerRelease& release = record.release;
  insert << record.seq << record.previous << record.job.value() << record.round.round.value()
         << record.round.attempt.value() << static_cast<uint64_t>(record.kind)
         << static_cast<uint64_t>(release.mechanism) << release.variance << release.l1_sensitivity
         << release.l2_sensitivity << release.total_variation << record.delta << record.contributors
         << record.noise_commitment << record.time;
  COT_TRY(insert.run());
  return take_record(record);
}

Status SqlTrainingStore::erase_salt(const RoundKey& key) {
  Statement erase = database_.prepare("DELETE FROM noise_salt WHERE round = ? AND attempt = ?");
  erase << key.round.value() << key.attempt.value();
  return erase.run();
}

// That of an earlier try stays.
Status SqlTrainingStore::keep_salt(const RoundKey& key, const NoiseSalt& fresh) {
  Statement insert =
      database_.prepare("INSERT INTO noise_salt(round, attempt, salt) VALUES(?, ?, ?) ON CONFLICT DO NOTHING");
  insert << key.round.value() << key.attempt.value() << ByteView(fresh.reveal());
  return insert.run();
}

// The salt of the attempt's reserve, which exists.
Result<NoiseSalt> SqlTrainingStore::read_salt(const RoundKey& key) {
  Statement row = database_.prepare("SELECT salt FROM noise_salt WHERE round = ? AND attempt = ?");
  row << key.round.value() << key.attempt.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return Error(ErrorCode::data_loss, "privacy: the noise of this attempt cannot be made again");
  return NoiseSalt(std::span<const uint8_t, 32>(row.blob(0)));
}

Result<NoiseSalt> SqlTrainingStore::reserve_release(const RoundKey& key, const NoiseSalt& fresh, WallTime now) {
  const std::lock_guard lock(mutex_);
  NoiseSalt salt;
  const Status done = ledger_transaction(os::crash::reserve_release, [&]() -> Status {
    COT_TRY(check_fence());
    JobId id;
    if (const auto unlocked = read_round(key); unlocked && *unlocked) id = (*unlocked)->job;
    COT_TRY(lock_job(id));
    COT_TRY(lock_round(key));
    COT_ASSIGN(const std::optional<RoundRecord> round, read_round(key));
    if (!round || (round->state != RoundState::frozen && round->state != RoundState::finalizing)) {
      return Error(ErrorCode::conflict, "privacy: this attempt is not being finalized");
    }
    COT_ASSIGN(const JobRecord job, read_job(round->job));
    if (!has_noise(job.spec)) return Error(ErrorCode::conflict, "privacy: the job has no noise");
    COT_TRY(lock_ledger());
    COT_TRY(refresh_ledger());
    COT_TRY(check_separation(*round, job.spec.horizontal()));
    const LedgerRelease release = release_of(job.spec.horizontal(), job.values().step_count());
    if (const LedgerRecord* reserve = ledger_.find_reserve(key)) {
      if (reserve->release != release) return Error(ErrorCode::conflict, "privacy: another release is reserved");
      COT_ASSIGN(salt, read_salt(key));
      return {};
    }
    if (is_charged(ledger_, job)) {
      COT_TRY(keep_salt(key, fresh));
      COT_ASSIGN(salt, read_salt(key));
      return {};
    }
    COT_ASSIGN(const LedgerRecord record, ledger_.reserve(job.id, key, release, budget_of(job.spec.horizontal()), now));
    COT_ASSIGN(const std::vector<PopulationDraw> draws, read_draws(job));
    COT_ASSIGN(const std::string stop, why_not_drawn(ledger_, job, draws));
    if (!stop.empty()) return Error(ErrorCode::permission_denied, stop);
    COT_TRY(append_to_ledger(record));
    COT_TRY(keep_salt(key, fresh));
    salt = NoiseSalt(fresh.reveal());
    return {};
  });
  if (!done) return done.error();
  return salt;
}

// Inside the transaction of commit_round.
Status SqlTrainingStore::commit_release(const JobRecord& job, const FinalizedRound& round, WallTime now) {
  if (has_noise(job.spec) != round.noise_commitment.has_value()) {
    return Error(ErrorCode::conflict, "privacy: a job with noise releases models with noise, and no other does");
  }
  if (!round.noise_commitment) return {};
  COT_TRY(lock_ledger());
  COT_TRY(refresh_ledger());
  if (ledger_.find_reserve(round.key) == nullptr && is_charged(ledger_, job)) {
    // An earlier round has committed the tree. This one's noise was drawn if there is its salt.
    COT_TRY(read_salt(round.key));
    return end_noise(job, round.key);
  }
  COT_ASSIGN(const LedgerRecord record,
             ledger_.commit(round.key, release_of(job.spec.horizontal(), job.values().step_count()),
                            round.totals.updates, *round.noise_commitment, now));
  COT_TRY(append_to_ledger(record));
  return end_noise(job, round.key);
}

// Inside the transaction of move_round that fails the attempt. Its next model may lie in a blob already: the finalizer
// writes it before the commit. That is no release. A blob is asked for by its digest, which depends on every noisy
// value, and no assignment, list or event names a digest before commit_round does; the attempt can never be committed
// now. Noise of devices is another matter: their sum was opened before it could be found damaged.
Status SqlTrainingStore::void_release(const RoundKey& key, WallTime now) {
  COT_ASSIGN(const std::optional<RoundRecord> round, read_round(key));
  COT_ASSERT(round.has_value());
  COT_ASSIGN(const JobRecord job, read_job(round->job));
  if (!job.spec.horizontal().privacy.has_central_noise()) return {};
  COT_TRY(lock_ledger());
  COT_TRY(refresh_ledger());
  if (ledger_.find_reserve(key) == nullptr) return {};  // it failed before
  COT_ASSIGN(const LedgerRecord record, ledger_.void_reserve(key, now));
  return append_to_ledger(record);
}

Result<std::string> SqlTrainingStore::read_privacy_stop(const JobRecord& job) {
  if (has_noise(job.spec)) {
    COT_TRY(refresh_ledger());
    COT_ASSIGN(std::string own, why_no_release(ledger_, job));
    if (!own.empty()) return own;
    COT_ASSIGN(const std::vector<PopulationDraw> draws, read_draws(job));
    return why_not_drawn(ledger_, job, draws);
  }
  // What others have drawn does not matter, and costs a look.
  PopulationDraw draw{.population = job.spec.common.population};
  COT_ASSIGN(draw.budget, read_budget(draw.population));
  return why_not_drawn(ledger_, job, std::span(&draw, 1));
}

// What the plan of an attempt that is opened now says of the ledger. A job whose releases are not in it says as much
// where others of its population have records: devices hold every plan of the population against their log.
Result<LedgerHead> SqlTrainingStore::read_ledger_head(const JobRecord& job) {
  COT_TRY(refresh_ledger());
  if (!keeps_ledger(job.spec) && logs_.log_of(job.spec.common.population).size() == 0) return LedgerHead{};
  return LedgerHead{ledger_.size(), ledger_.head()};
}

Result<JobPrivacy> SqlTrainingStore::job_privacy(const JobId& id) {
  const std::lock_guard lock(mutex_);
  COT_ASSIGN(const JobRecord job, read_job(id));
  if (!has_noise(job.spec)) return Error(ErrorCode::conflict, "job " + id.value() + " has no noise");
  JobPrivacy privacy;
  COT_ASSIGN(privacy.stop, read_privacy_stop(job));
  COT_ASSIGN(privacy.spent, ledger_.spent(id, job.spec.horizontal().privacy.target_delta));
  privacy.ledger_records = ledger_.size();
  privacy.ledger_head = ledger_.head();
  COT_ASSIGN(const std::vector<PopulationDraw> draws, read_draws(job));
  for (const PopulationDraw& draw : draws) {
    COT_ASSIGN(PopulationPrivacy population, privacy_of(ledger_, draw, job.spec.horizontal().privacy.target_delta));
    privacy.populations.push_back(std::move(population));
  }
  return privacy;
}

Result<LedgerHead> SqlTrainingStore::ledger_head() {
  const std::lock_guard lock(mutex_);
  COT_TRY(refresh_ledger());
  return LedgerHead{ledger_.size(), ledger_.head()};
}

Result<LogHead> SqlTrainingStore::log_head(const Population& population, uint64_t records) {
  const std::lock_guard lock(mutex_);
  if (records > ledger_.size()) COT_TRY(refresh_ledger());
  return logs_.head_at(population, records, ledger_.size());
}

// Records of other processes are read only if need be: proofs of what was published long ago cost no query.
Result<LogProof> SqlTrainingStore::prove_log(const Population& population, uint64_t before, uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (size > logs_.log_of(population).size()) COT_TRY(refresh_ledger());
  return logs_.prove(population, before, size);
}

Result<std::vector<LedgerRecord>> SqlTrainingStore::list_ledger(uint64_t after_seq, size_t limit) {
  const std::lock_guard lock(mutex_);
  return read_ledger(after_seq, limit);
}

}  // namespace coterie
