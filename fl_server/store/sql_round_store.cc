// Jobs, rounds and models. Who is counted: sql_accept.cc.
#include "fl_server/store/sql_round_store.h"

#include "fl_server/config/job_json.h"
#include "fl_server/store/schema.h"

namespace coterie {
namespace {

Error no_such(const std::string& what) { return Error(ErrorCode::not_found, "no such " + what); }

#define COT_JOB_COLUMNS "id, spec, state, reason, plan, plan_bytes, value_count, rounds_done, created, revision"

Result<JobRecord> job_from(Statement& row) {
  JobRecord job;
  job.id = JobId(row.text(0));
  COT_ASSIGN(job.spec, job_settings_from_stored_json(row.text(1)));
  job.state = static_cast<JobState>(row.integer(2));
  job.reason = row.text(3);
  job.plan = row.digest(4);
  job.plan_bytes = row.u32(5);
  job.value_count = row.u64(6);
  job.rounds_done = row.u64(7);
  job.created = row.time(8);
  job.revision = row.u64(9);
  return job;
}

#define COT_ROUND_COLUMNS                                                                              \
  "id, attempt, job, number, state, reason, base_version, base_model, base_bytes, selected, updates, " \
  "weight, "                                                                                           \
  "examples, loss_sum, correct, train_ms, opened, closed, ledger_records, ledger_head"

RoundRecord round_from(Statement& row) {
  return {.key = {RoundId(row.u64(0)), Attempt(row.u32(1))},
          .job = JobId(row.text(2)),
          .number = row.u64(3),
          .state = static_cast<RoundState>(row.integer(4)),
          .reason = row.text(5),
          .base = ModelVersion(row.u64(6)),
          .base_model = row.digest(7),
          .base_model_bytes = row.u64(8),
          .selected = row.u32(9),
          .totals = {row.u64(10), row.u64(11), row.u64(12), row.real(13), row.u64(14), row.u64(15)},
          .opened = row.time(16),
          .closed = row.time(17),
          .ledger = {row.u64(18), row.is_null(19) ? Digest{} : row.digest(19)}};
}

#define COT_MODEL_COLUMNS "job, version, digest, bytes, optimizer_state, evaluation_loss, evaluation_accuracy, created"

ModelRecord model_from(Statement& row) {
  ModelRecord model;
  model.job = JobId(row.text(0));
  model.version = ModelVersion(row.u64(1));
  model.digest = row.digest(2);
  model.bytes = row.u64(3);
  if (!row.is_null(4)) model.optimizer_state = row.digest(4);
  if (!row.is_null(5)) model.evaluation_loss = row.real(5);
  if (!row.is_null(6)) model.evaluation_accuracy = row.real(6);
  model.created = row.time(7);
  return model;
}

bool may_become(JobState from, JobState to) {
  if (from == to) return true;
  if (from != JobState::running && from != JobState::paused) return false;
  return to != JobState::completed;
}

const os::TransactionPoints& points_of(RoundState to) {
  switch (to) {
    case RoundState::collecting: return os::crash::begin_collecting;
    case RoundState::frozen: return os::crash::freeze_round;
    case RoundState::finalizing: return os::crash::claim_finalize;
    default: return os::crash::fail_round;
  }
}

}  // namespace

Result<std::unique_ptr<SqlRoundStore>> SqlRoundStore::open(Result<Database> opened) {
  COT_ASSIGN(Database database, std::move(opened));
  COT_TRY(prepare_schema(database));
  auto store = std::unique_ptr<SqlRoundStore>(new SqlRoundStore(std::move(database)));
  COT_TRY(store->refresh_ledger());
  return store;
}

// ---- Locks

void SqlRoundStore::set_fence(const std::string& lease, LeaseEpoch epoch) {
  const std::lock_guard lock(mutex_);
  fence_ = Fence{lease, epoch};
}

// Shared: until this transaction is over the lease goes to nobody else.
Status SqlRoundStore::check_fence() {
  if (!fence_) return {};
  Statement row = database_.prepare("SELECT epoch FROM lease WHERE name = ? /*! FOR SHARE */");
  row << fence_->lease;
  COT_ASSIGN(const bool found, row.step());
  if (found && row.u64(0) == fence_->epoch.value()) return {};
  return Error(ErrorCode::conflict, "this server does not lead any more: its epoch is " +
                                        std::to_string(fence_->epoch.value()) + ", the lease has " +
                                        (found ? std::to_string(row.u64(0)) : "none"));
}

Status SqlRoundStore::lock_job(const JobId& id) {
  Statement row = database_.prepare("SELECT 1 FROM job WHERE id = ? /*! FOR UPDATE */");
  row << id.value();
  return row.lock_rows();
}

Status SqlRoundStore::lock_round(const RoundKey& key) {
  Statement row = database_.prepare("SELECT 1 FROM round WHERE id = ? AND attempt = ? /*! FOR UPDATE */");
  row << key.round.value() << key.attempt.value();
  return row.lock_rows();
}

// ---- Jobs

Status SqlRoundStore::create_job(const JobRecord& job, const ModelRecord& initial) {
  const std::lock_guard lock(mutex_);
  return database_.transaction(os::crash::create_job, [&]() -> Status {
    Statement insert = database_.prepare("INSERT INTO job(" COT_JOB_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert << job.id.value() << job_settings_to_json_text(job.spec) << static_cast<uint64_t>(job.state) << job.reason
           << job.plan << job.plan_bytes << job.value_count << job.rounds_done << job.created << job.revision;
    COT_TRY(insert.run());
    return insert_model(initial);
  });
}

Result<std::vector<JobRecord>> SqlRoundStore::list_jobs() {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT " COT_JOB_COLUMNS " FROM job ORDER BY created, id");
  std::vector<JobRecord> jobs;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return jobs;
    COT_ASSIGN(JobRecord job, job_from(rows));
    jobs.push_back(std::move(job));
  }
}

Result<JobRecord> SqlRoundStore::read_job(const JobId& id) {
  Statement row = database_.prepare("SELECT " COT_JOB_COLUMNS " FROM job WHERE id = ?");
  row << id.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return no_such("job: " + id.value());
  return job_from(row);
}

Result<JobRecord> SqlRoundStore::get_job(const JobId& id) {
  const std::lock_guard lock(mutex_);
  return read_job(id);
}

Status SqlRoundStore::check_revision(const JobRecord& job, std::optional<uint64_t> expected) {
  if (!expected || *expected == job.revision) return {};
  return Error(ErrorCode::conflict, "job " + job.id.value() + " has revision " + std::to_string(job.revision) +
                                        ", not " + std::to_string(*expected) + ": somebody has changed it");
}

Result<JobRecord> SqlRoundStore::set_job_state(const JobId& id, JobState to, const std::string& reason,
                                               std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  JobRecord job;
  const Status done = database_.transaction(os::crash::set_job_state, [&]() -> Status {
    COT_TRY(lock_job(id));
    COT_ASSIGN(job, read_job(id));
    COT_TRY(check_revision(job, revision_expected));
    if (!may_become(job.state, to)) {
      return Error(ErrorCode::conflict, "job " + id.value() + " is " + std::string(to_string(job.state)) +
                                            " and cannot become " + std::string(to_string(to)));
    }
    if (job.state == to) return {};
    job.state = to;
    job.reason = reason;
    ++job.revision;
    Statement update = database_.prepare("UPDATE job SET state = ?, reason = ?, revision = ? WHERE id = ?");
    update << static_cast<uint64_t>(job.state) << job.reason << job.revision << id.value();
    return update.run();
  });
  if (!done) return done.error();
  return job;
}

// ---- Rounds

Result<JobProgress> SqlRoundStore::load_progress(const JobId& id) {
  const std::lock_guard lock(mutex_);
  JobProgress progress;
  // Its parts belong together.
  const Status done = database_.transaction([&]() -> Status {
    COT_TRY(lock_job(id));
    COT_ASSIGN(progress, read_progress(id));
    return {};
  });
  if (!done) return done.error();
  return progress;
}

Result<JobProgress> SqlRoundStore::read_progress(const JobId& id) {
  JobProgress progress;
  COT_ASSIGN(progress.job, read_job(id));
  COT_ASSIGN(progress.privacy_stop, read_privacy_stop(progress.job));
  {
    Statement head =
        database_.prepare("SELECT " COT_MODEL_COLUMNS " FROM model WHERE job = ? ORDER BY version DESC LIMIT 1");
    head << id.value();
    COT_ASSIGN(const bool found, head.step());
    if (!found) return Error(ErrorCode::data_loss, "job " + id.value() + " has no model");
    progress.head = model_from(head);
  }
  Statement latest = database_.prepare("SELECT " COT_ROUND_COLUMNS
                                       " FROM round WHERE job = ? ORDER BY number DESC, attempt DESC LIMIT 1");
  latest << id.value();
  COT_ASSIGN(const bool found, latest.step());
  if (!found) return progress;
  progress.latest = round_from(latest);
  COT_ASSIGN(progress.accepted, read_accepted_count(progress.latest->key));
  return progress;
}

Result<std::optional<RoundRecord>> SqlRoundStore::read_round(const RoundKey& key) {
  Statement row = database_.prepare("SELECT " COT_ROUND_COLUMNS " FROM round WHERE id = ? AND attempt = ?");
  row << key.round.value() << key.attempt.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<RoundRecord>();
  return std::optional<RoundRecord>(round_from(row));
}

Result<std::optional<RoundRecord>> SqlRoundStore::read_attempt(const JobId& job, uint64_t number, Attempt attempt) {
  Statement row =
      database_.prepare("SELECT " COT_ROUND_COLUMNS " FROM round WHERE job = ? AND number = ? AND attempt = ?");
  row << job.value() << number << attempt.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<RoundRecord>();
  return std::optional<RoundRecord>(round_from(row));
}

Result<RoundRecord> SqlRoundStore::insert_round(const JobId& job, uint64_t number, Attempt attempt,
                                                const ModelRecord& base, const LedgerHead& ledger, WallTime now) {
  // Not ON CONFLICT DO NOTHING: that would use up a number for every further attempt.
  Statement name = database_.prepare(
      "INSERT INTO round_name(job, number) SELECT ?1, ?2 "
      "WHERE NOT EXISTS (SELECT 1 FROM round_name WHERE job = ?1 AND number = ?2)");
  name << job.value() << number;
  COT_TRY(name.run());
  Statement insert = database_.prepare("INSERT INTO round(" COT_ROUND_COLUMNS
                                       ") "
                                       "SELECT id, ?, job, number, ?, '', ?, ?, ?, 0, 0, 0, 0, 0.0, 0, 0, ?, "
                                       "0, ?, ? FROM round_name WHERE job = ? AND number = ?");
  insert << attempt.value() << static_cast<uint64_t>(RoundState::selecting) << base.version.value() << base.digest
         << base.bytes << now << ledger.records << (ledger.records > 0 ? std::optional(ledger.head) : std::nullopt)
         << job.value() << number;
  COT_TRY(insert.run());
  COT_ASSIGN(std::optional<RoundRecord> round, read_attempt(job, number, attempt));
  COT_ASSERT(round.has_value());
  return *std::move(round);
}

Result<RoundRecord> SqlRoundStore::open_round(const JobId& job, const OpenRound& request, WallTime now) {
  const std::lock_guard lock(mutex_);
  std::optional<RoundRecord> round;
  const Status done = database_.transaction(os::crash::open_round, [&]() -> Status {
    COT_TRY(check_fence());
    COT_TRY(lock_job(job));
    COT_ASSIGN(round, read_attempt(job, request.number, request.attempt));
    if (round) return {};
    COT_ASSIGN(const JobProgress progress, read_progress(job));
    const bool first = request.attempt == Attempt(1);
    const bool next_attempt = progress.latest && progress.latest->number == request.number &&
                              progress.latest->state == RoundState::failed &&
                              progress.latest->key.attempt.value() + 1 == request.attempt.value();
    if (progress.job.state != JobState::running || progress.job.rounds_done + 1 != request.number ||
        (!first && !next_attempt) || progress.head.version != request.base.version || !progress.privacy_stop.empty()) {
      return Error(ErrorCode::conflict, "job " + job.value() + " is not at round " + std::to_string(request.number));
    }
    COT_ASSIGN(const LedgerHead ledger, read_ledger_head(progress.job));
    COT_ASSIGN(round, insert_round(job, request.number, request.attempt, request.base, ledger, now));
    return {};
  });
  if (!done) return done.error();
  return *round;
}

Result<bool> SqlRoundStore::move_round(const MoveRound& request, WallTime now) {
  const std::lock_guard lock(mutex_);
  bool won = false;
  const Status done = database_.transaction(points_of(request.to), [&]() -> Status {
    COT_TRY(check_fence());
    Statement update = database_.prepare(
        "UPDATE round SET state = ?1, reason = ?2, selected = CASE WHEN selected < ?3 THEN ?3 ELSE selected END, "
        "closed = ?4 WHERE id = ?5 AND attempt = ?6 AND state = ?7");
    const bool closes = request.to == RoundState::failed;
    update << static_cast<uint64_t>(request.to) << request.reason << request.selected << (closes ? now : WallTime())
           << request.key.round.value() << request.key.attempt.value() << static_cast<uint64_t>(request.from);
    COT_TRY(update.run());
    won = database_.changes() == 1;
    return won && closes ? erase_salt(request.key) : Status();
  });
  if (!done) return done.error();
  return won;
}

Status SqlRoundStore::insert_model(const ModelRecord& model) {
  Statement insert = database_.prepare("INSERT INTO model(" COT_MODEL_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  insert << model.job.value() << model.version.value() << model.digest << model.bytes << model.optimizer_state
         << model.evaluation_loss << model.evaluation_accuracy << model.created;
  return insert.run();
}

Result<JobProgress> SqlRoundStore::commit_round(const JobId& job, const CommitRound& request, WallTime now) {
  const std::lock_guard lock(mutex_);
  JobProgress progress;
  const Status done = ledger_transaction(os::crash::commit_round, [&]() -> Status {
    COT_TRY(check_fence());
    COT_TRY(lock_job(job));
    COT_TRY(lock_round(request.round.key));
    COT_ASSIGN(const std::optional<RoundRecord> round, read_round(request.round.key));
    const bool committed_before = round && round->state == RoundState::done;
    if (!committed_before) {
      if (!round || (round->state != RoundState::frozen && round->state != RoundState::finalizing)) {
        return Error(ErrorCode::conflict, "round " + std::to_string(request.number) + " is not being finalized");
      }
      COT_ASSIGN(const JobRecord before, read_job(job));
      COT_TRY(commit_release(before, request.round, now));
      COT_TRY(insert_model(request.round.model));
      const RoundTotals& totals = request.round.totals;
      Statement finish = database_.prepare(
          "UPDATE round SET state = ?, updates = ?, weight = ?, examples = ?, loss_sum = ?, correct = ?, train_ms = ?, "
          "closed = ? WHERE id = ? AND attempt = ?");
      finish << static_cast<uint64_t>(RoundState::done) << totals.updates << totals.weight << totals.examples
             << totals.loss_sum << totals.correct << totals.train_ms << now << round->key.round.value()
             << round->key.attempt.value();
      COT_TRY(finish.run());
      Statement advance = database_.prepare(
          "UPDATE job SET rounds_done = ?, revision = revision + 1, "
          "state = CASE WHEN ? = 1 AND state IN (1, 2) THEN 3 ELSE state END WHERE id = ?");
      advance << request.number << static_cast<uint64_t>(request.completes_job) << job.value();
      COT_TRY(advance.run());
      COT_ASSIGN(const JobRecord after, read_job(job));
      COT_ASSIGN(const std::string stop, read_privacy_stop(after));
      if (request.opens_next && after.state == JobState::running && stop.empty()) {
        COT_ASSIGN(const LedgerHead ledger, read_ledger_head(after));
        COT_ASSIGN(const RoundRecord next,
                   insert_round(job, request.number + 1, Attempt(1), request.round.model, ledger, now));
        (void)next;
      }
    }
    COT_ASSIGN(progress, read_progress(job));
    return {};
  });
  if (!done) return done.error();
  return progress;
}

Result<std::vector<RoundRecord>> SqlRoundStore::list_rounds(const JobId& job, const RoundQuery& query) {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT " COT_ROUND_COLUMNS
                                     " FROM round WHERE job = ?1 AND (number < ?2 OR (number = ?2 AND attempt < ?3)) "
                                     "AND (state = ?4 OR ?4 = 0) ORDER BY number DESC, attempt DESC LIMIT ?5");
  rows << job.value() << (query.before ? static_cast<int64_t>(query.before->first) : int64_t{INT64_MAX})
       << (query.before ? query.before->second.value() : 0u)
       << (query.state ? static_cast<uint64_t>(*query.state) : uint64_t{0}) << static_cast<uint64_t>(query.limit);
  std::vector<RoundRecord> rounds;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return rounds;
    rounds.push_back(round_from(rows));
  }
}

// ---- Models

Result<std::vector<ModelRecord>> SqlRoundStore::list_models(const JobId& job) {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT " COT_MODEL_COLUMNS " FROM model WHERE job = ? ORDER BY version");
  rows << job.value();
  std::vector<ModelRecord> models;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return models;
    models.push_back(model_from(rows));
  }
}

Result<ModelRecord> SqlRoundStore::get_model(const JobId& job, ModelVersion version) {
  const std::lock_guard lock(mutex_);
  return read_model(job, version);
}

Result<ModelRecord> SqlRoundStore::read_model(const JobId& job, ModelVersion version) {
  Statement row = database_.prepare("SELECT " COT_MODEL_COLUMNS " FROM model WHERE job = ? AND version = ?");
  row << job.value() << version.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return no_such("model: version " + std::to_string(version.value()) + " of job " + job.value());
  return model_from(row);
}

}  // namespace coterie
