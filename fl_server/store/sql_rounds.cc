// Rounds, their moves, and the transaction that ends one.
#include "fl_server/store/sql_training_store.h"

namespace coterie {
namespace {

#define COT_ROUND_COLUMNS                                                                                         \
  "id, attempt, job, number, state, reason, base_version, base_model, base_bytes, selected, updates, "            \
  "weight, examples, loss_sum, correct, train_ms, opened, closed, ledger_records, ledger_head, examples_median, " \
  "clip_norm, proximal_mu"

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
          .ledger = {row.u64(18), row.is_null(19) ? Digest{} : row.digest(19)},
          .examples_median = row.u64(20),
          .clip_norm = row.real(21),
          .proximal_mu = row.is_null(22) ? std::nullopt : std::optional(row.real(22))};
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

Result<JobProgress> SqlTrainingStore::load_progress(const JobId& id) {
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

Result<JobProgress> SqlTrainingStore::read_progress(const JobId& id) {
  JobProgress progress;
  COT_ASSIGN(progress.job, read_job(id));
  COT_ASSIGN(progress.privacy_stop, read_privacy_stop(progress.job));
  COT_ASSIGN(progress.head, read_newest_model(id));
  Statement latest = database_.prepare("SELECT " COT_ROUND_COLUMNS
                                       " FROM round WHERE job = ? ORDER BY number DESC, attempt DESC LIMIT 1");
  latest << id.value();
  COT_ASSIGN(const bool found, latest.step());
  if (!found) return progress;
  progress.latest = round_from(latest);
  COT_ASSIGN(progress.accepted, read_accepted_count(progress.latest->key));
  return progress;
}

Result<std::optional<RoundRecord>> SqlTrainingStore::read_round(const RoundKey& key) {
  Statement row = database_.prepare("SELECT " COT_ROUND_COLUMNS " FROM round WHERE id = ? AND attempt = ?");
  row << key.round.value() << key.attempt.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<RoundRecord>();
  return std::optional<RoundRecord>(round_from(row));
}

Result<std::optional<RoundRecord>> SqlTrainingStore::read_attempt(const JobId& job, uint64_t number, Attempt attempt) {
  Statement row =
      database_.prepare("SELECT " COT_ROUND_COLUMNS " FROM round WHERE job = ? AND number = ? AND attempt = ?");
  row << job.value() << number << attempt.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<RoundRecord>();
  return std::optional<RoundRecord>(round_from(row));
}

Result<RoundRecord> SqlTrainingStore::insert_round(const JobRecord& job, uint64_t number, Attempt attempt,
                                                   const ModelRecord& base, WallTime now) {
  COT_ASSIGN(const LedgerHead ledger, read_ledger_head(job));
  COT_ASSIGN(const uint64_t examples_median, read_examples_median(job, number));
  // Not ON CONFLICT DO NOTHING: that would use up a number for every further attempt.
  Statement name = database_.prepare(
      "INSERT INTO round_name(job, number) SELECT ?1, ?2 "
      "WHERE NOT EXISTS (SELECT 1 FROM round_name WHERE job = ?1 AND number = ?2)");
  name << job.id.value() << number;
  COT_TRY(name.run());
  Statement insert = database_.prepare("INSERT INTO round(" COT_ROUND_COLUMNS
                                       ") "
                                       "SELECT id, ?, job, number, ?, '', ?, ?, ?, 0, 0, 0, 0, 0.0, 0, 0, ?, "
                                       "0, ?, ?, ?, ?, ? FROM round_name WHERE job = ? AND number = ?");
  insert << attempt.value() << static_cast<uint64_t>(RoundState::selecting) << base.version.value() << base.digest
         << base.bytes << now << ledger.records << (ledger.records > 0 ? std::optional(ledger.head) : std::nullopt)
         << examples_median << base.clip_norm.value_or(0)
         << (base.adaptive_mu ? std::optional(base.adaptive_mu->mu) : std::nullopt) << job.id.value() << number;
  COT_TRY(insert.run());
  COT_ASSIGN(std::optional<RoundRecord> round, read_attempt(job.id, number, attempt));
  COT_ASSERT(round.has_value());
  return *std::move(round);
}

Result<RoundRecord> SqlTrainingStore::open_round(const JobId& job, const OpenRound& request, WallTime now) {
  const std::lock_guard lock(mutex_);
  std::optional<RoundRecord> round;
  const Status done = database_.transaction(os::crash::open_round, [&]() -> Status {
    COT_TRY(check_fence());
    COT_TRY(lock_job(job));
    COT_ASSIGN(round, read_attempt(job, request.number, request.attempt));
    if (round) return {};  // by an earlier try whose answer was lost, or by another leader
    COT_ASSIGN(const JobProgress progress, read_progress(job));
    const bool first = request.attempt == Attempt(1);
    const bool next_attempt = progress.latest && progress.latest->number == request.number &&
                              progress.latest->state == RoundState::failed &&
                              progress.latest->key.attempt.value() + 1 == request.attempt.value();
    if (progress.job.state != JobState::running || progress.job.rounds_done + 1 != request.number ||
        (!first && !next_attempt) || progress.head.version != request.base.version || !progress.privacy_stop.empty()) {
      return Error(ErrorCode::conflict, "job " + job.value() + " is not at round " + std::to_string(request.number));
    }
    COT_ASSIGN(round, insert_round(progress.job, request.number, request.attempt, request.base, now));
    return {};
  });
  if (!done) return done.error();
  return *round;
}

Result<bool> SqlTrainingStore::move_round(const MoveRound& request, WallTime now) {
  const std::lock_guard lock(mutex_);
  bool won = false;
  const Status done = ledger_transaction(points_of(request.to), [&]() -> Status {
    COT_TRY(check_fence());
    if (request.if_nobody_counts) {
      // Batches lock the row, too. The count is a statement of its own, so that it sees those that were waited for.
      COT_TRY(lock_round(request.key));
      COT_ASSIGN(const uint64_t accepted, read_accepted_count(request.key));
      if (accepted > 0) return {};
    }
    Statement update = database_.prepare(
        "UPDATE round SET state = ?1, reason = ?2, selected = CASE WHEN selected < ?3 THEN ?3 ELSE selected END, "
        "closed = ?4 WHERE id = ?5 AND attempt = ?6 AND state = ?7");
    // `selected` never falls: a leader that is new may have heard of fewer tickets than the one before.
    const bool closes = request.to == RoundState::failed;
    update << static_cast<uint64_t>(request.to) << request.reason << request.selected << (closes ? now : WallTime())
           << request.key.round.value() << request.key.attempt.value() << static_cast<uint64_t>(request.from);
    COT_TRY(update.run());
    won = database_.changes() == 1;
    if (!won || !closes) return {};
    if (request.voids_release) COT_TRY(void_release(request.key, now));
    return erase_salt(request.key);  // nobody needs the noise of a failed attempt (ADR 19)
  });
  if (!done) return done.error();
  return won;
}

Result<JobProgress> SqlTrainingStore::commit_round(const JobId& job, const CommitRound& request, WallTime now) {
  const std::lock_guard lock(mutex_);
  JobProgress progress;
  const Status done = ledger_transaction(os::crash::commit_round, [&]() -> Status {
    COT_TRY(check_fence());
    COT_TRY(lock_job(job));
    COT_TRY(lock_round(request.round.key));
    COT_ASSIGN(const std::optional<RoundRecord> round, read_round(request.round.key));
    // By an earlier try whose answer was lost: it is answered with what is true now.
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
      // The next round is opened here, which saves its leader a transaction between two rounds.
      COT_ASSIGN(const JobRecord after, read_job(job));
      COT_ASSIGN(const std::string stop, read_privacy_stop(after));
      if (request.opens_next && after.state == JobState::running && stop.empty()) {
        COT_ASSIGN(const RoundRecord next,
                   insert_round(after, request.number + 1, Attempt(1), request.round.model, now));
        (void)next;
      }
    }
    COT_ASSIGN(progress, read_progress(job));
    return {};
  });
  if (!done) return done.error();
  return progress;
}

Result<std::vector<RoundRecord>> SqlTrainingStore::list_rounds(const JobId& job, const RoundQuery& query) {
  const std::lock_guard lock(mutex_);
  COT_ASSIGN(const bool is_gone, is_deleted(job));
  if (is_gone) return std::vector<RoundRecord>();
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

}  // namespace coterie
