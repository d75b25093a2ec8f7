// Who is counted: the transaction that exactly-once rests on.
#include <algorithm>

#include "fl_server/store/sql_training_store.h"

namespace coterie {
namespace {

#define COT_PARTIAL_COLUMNS "id, round, attempt, updates, weight, examples, loss_sum, correct, train_ms, blob"

PartialRecord partial_from(Statement& row) {
  return {.id = row.text(0),
          .key = {RoundId(row.u64(1)), Attempt(row.u32(2))},
          .totals = {row.u64(3), row.u64(4), row.u64(5), row.real(6), row.u64(7), row.u64(8)},
          .blob = row.digest(9)};
}

Result<std::vector<PartialRecord>> all_partials(Statement rows) {
  std::vector<PartialRecord> partials;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return partials;
    partials.push_back(partial_from(rows));
  }
}

}  // namespace

BatchOutcome SqlTrainingStore::accept_batch(const PartialRecord& partial, const std::vector<AcceptRow>& rows) {
  const std::lock_guard lock(mutex_);
  BatchOutcome outcome = BatchDone{};
  const Status done = database_.transaction(os::crash::accept_batch, [&]() -> Result<TransactionEnd> {
    COT_ASSIGN(outcome, write_batch(partial, rows));
    return std::holds_alternative<BatchDone>(outcome) ? TransactionEnd::commit : TransactionEnd::roll_back;
  });
  if (done) return outcome;
  // Nothing is written when the database found the disk full; anything else may have happened on either side of the
  // commit.
  if (done.error().code() == ErrorCode::storage_full) return BatchFailed{done.error()};
  return BatchUnknown{done.error()};
}

// Inside the transaction, which is to be committed if this is BatchDone. Otherwise a part of the batch may be written.
Result<BatchOutcome> SqlTrainingStore::write_batch(const PartialRecord& partial, const std::vector<AcceptRow>& rows) {
  COT_TRY(check_fence());
  {
    Statement known = database_.prepare("SELECT 1 FROM partial WHERE id = ?");
    known << partial.id;
    COT_ASSIGN(const bool before, known.step());
    if (before) return BatchDone{};  // by an earlier try, whose answer was lost
  }
  {
    // Whoever freezes the round waits until this transaction is over, and the other way round.
    Statement round = database_.prepare("SELECT state FROM round WHERE id = ? AND attempt = ? /*! FOR SHARE */");
    round << partial.key.round.value() << partial.key.attempt.value();
    COT_ASSIGN(const bool found, round.step());
    if (!found || static_cast<RoundState>(round.integer(0)) != RoundState::collecting) return BatchClosed{};
  }
  Statement insert = database_.prepare("INSERT INTO partial(" COT_PARTIAL_COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?)");
  insert << partial.id << partial.key.round.value() << partial.key.attempt.value() << partial.totals.updates
         << partial.totals.weight << partial.totals.examples << partial.totals.loss_sum << partial.totals.correct
         << partial.totals.train_ms << partial.blob;
  COT_TRY(insert.run());
  // In the order of devices: of two batches with the same ones one waits for the other, not each for each.
  std::vector<const AcceptRow*> order;
  order.reserve(rows.size());
  for (const AcceptRow& row : rows) order.push_back(&row);
  std::ranges::sort(order, {}, [](const AcceptRow* row) { return row->device; });
  COT_ASSIGN(
      const std::vector<int> inserted,
      database_.execute_many(
          "INSERT INTO accept(round, attempt, device, partial, examples) VALUES(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
          order.size(), [&](Statement& accept, size_t i) {
            accept << partial.key.round.value() << partial.key.attempt.value() << order[i]->device << partial.id
                   << order[i]->examples;
          }));
  // A row that was not inserted is a device that counts already: no error, but the answer that the node needs.
  BatchConflict conflict;
  for (size_t i = 0; i < order.size(); ++i) {
    if (inserted[i] == 0) conflict.accepted_before.push_back(order[i]->device);
  }
  if (conflict.accepted_before.empty()) return BatchDone{};
  return conflict;
}

// What devices of the round before `number` trained on. 0 where nobody needs it.
Result<uint64_t> SqlTrainingStore::read_examples_median(const JobRecord& job, uint64_t number) {
  if (!needs_examples_median(job.spec) || number < 2) return uint64_t{0};
  // Both statements see the same rows: no round that is done gets another.
  Statement count = database_.prepare(
      "SELECT count(*) FROM accept a JOIN round r ON r.id = a.round AND r.attempt = a.attempt "
      "WHERE r.job = ? AND r.number = ? AND r.state = ?");
  const uint64_t before = number - 1;
  count << job.id.value() << before << static_cast<uint64_t>(RoundState::done);
  COT_ASSIGN(const bool counted, count.step());
  const uint64_t rows = counted ? count.u64(0) : 0;
  if (rows == 0) return uint64_t{0};
  Statement middle = database_.prepare(
      "SELECT a.examples FROM accept a JOIN round r ON r.id = a.round AND r.attempt = a.attempt "
      "WHERE r.job = ? AND r.number = ? AND r.state = ? ORDER BY a.examples LIMIT 1 OFFSET ?");
  middle << job.id.value() << before << static_cast<uint64_t>(RoundState::done) << (rows - 1) / 2;
  COT_ASSIGN(const bool found, middle.step());
  return found ? middle.u64(0) : 0;
}

Result<uint64_t> SqlTrainingStore::read_accepted_count(const RoundKey& key) {
  Statement row = database_.prepare("SELECT count(*) FROM accept WHERE round = ? AND attempt = ?");
  row << key.round.value() << key.attempt.value();
  COT_ASSIGN(const bool found, row.step());
  return found ? row.u64(0) : 0;
}

Result<uint64_t> SqlTrainingStore::count_accepted(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  return read_accepted_count(key);
}

Result<std::vector<DeviceId>> SqlTrainingStore::list_accepted(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT device FROM accept WHERE round = ? AND attempt = ? ORDER BY device");
  rows << key.round.value() << key.attempt.value();
  std::vector<DeviceId> devices;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return devices;
    devices.push_back(rows.device(0));
  }
}

Result<bool> SqlTrainingStore::is_accepted(const RoundKey& key, const DeviceId& device) {
  const std::lock_guard lock(mutex_);
  Statement row = database_.prepare("SELECT 1 FROM accept WHERE round = ? AND attempt = ? AND device = ?");
  row << key.round.value() << key.attempt.value() << device;
  return row.step();
}

// The state first: from the moment at which it is another one no batch is committed, so what is read behind it stays.
Result<UpdateFate> SqlTrainingStore::look_up(const RoundKey& key, const DeviceId& device) {
  UpdateFate fate{.is_over = true, .is_forgotten = true};
  uint64_t updates = 0;
  {
    const std::lock_guard lock(mutex_);
    Statement round = database_.prepare("SELECT state, updates FROM round WHERE id = ? AND attempt = ?");
    round << key.round.value() << key.attempt.value();
    COT_ASSIGN(const bool found, round.step());
    if (found) {
      const auto state = static_cast<RoundState>(round.integer(0));
      fate.is_over = state > RoundState::collecting;
      fate.is_forgotten = state == RoundState::done;  // an attempt that failed is in no model, whoever was counted
      updates = round.u64(1);
    }
  }
  COT_ASSIGN(fate.is_accepted, is_accepted(key, device));
  if (!fate.is_forgotten || fate.is_accepted) return UpdateFate{fate.is_accepted, fate.is_over};
  // Behind the row: rows that go between the two looks make it forgotten, not over without it.
  COT_ASSIGN(const uint64_t rows, count_accepted(key));
  fate.is_forgotten = rows == 0 || rows != updates;
  return fate;
}

Result<std::vector<PartialRecord>> SqlTrainingStore::list_partials(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  Statement rows =
      database_.prepare("SELECT " COT_PARTIAL_COLUMNS " FROM partial WHERE round = ? AND attempt = ? ORDER BY id");
  rows << key.round.value() << key.attempt.value();
  return all_partials(std::move(rows));
}

Result<std::vector<PartialRecord>> SqlTrainingStore::list_finished_partials(size_t limit) {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare(
      "SELECT p.id, p.round, p.attempt, p.updates, p.weight, p.examples, p.loss_sum, p.correct, p.train_ms, p.blob "
      "FROM partial p JOIN round r ON r.id = p.round AND r.attempt = p.attempt WHERE r.state IN (?, ?) "
      "ORDER BY p.id LIMIT ?");
  rows << static_cast<uint64_t>(RoundState::done) << static_cast<uint64_t>(RoundState::failed)
       << static_cast<uint64_t>(limit);
  return all_partials(std::move(rows));
}

Status SqlTrainingStore::forget_partials(const std::vector<std::string>& ids) {
  const std::lock_guard lock(mutex_);
  return database_.transaction(os::crash::forget_partials, [&]() -> Status {
    COT_TRY(check_fence());
    COT_ASSIGN(const std::vector<int> removed,
               database_.execute_many("DELETE FROM partial WHERE id = ?", ids.size(),
                                      [&](Statement& remove, size_t i) { remove << ids[i]; }));
    (void)removed;
    return {};
  });
}

}  // namespace coterie
