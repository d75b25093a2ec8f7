// OldNode: a server of schema version 4 as far as the database sees it: its statements, to the letter (never to be
// changed: they are what is out there), in the order in which it used them for a round of a job with noise.
//
// Not thread-safe. What fails is said by the status: for a server a failed statement is a failed round.
#pragma once

#include <string>

#include "fl_server/json/job_json.h"
#include "fl_server/records/audit_chain.h"
#include "fl_server/store/sql/database.h"
#include "fl_server/store/sql/sql_now.h"
#include "scheduler/job/round_release.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"

namespace coterie::test {

class OldNode {
 public:
  OldNode(Database database, JobRecord job) : database_(std::move(database)), job_(std::move(job)) {}

  Status begin() {
    COT_TRY(database_.transaction([&]() -> Status {
      Statement insert = database_.prepare(
          "INSERT INTO job(id, spec, state, reason, plan, plan_bytes, value_count, rounds_done, created, "
          "revision) "
          "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
      insert << job_.id.value() << job_settings_to_json_text(job_.spec) << static_cast<uint64_t>(job_.state)
             << job_.reason << job_.plan << job_.plan_bytes << job_.value_count << job_.rounds_done << job_.created
             << job_.revision;
      COT_TRY(insert.run());
      return insert_model(0);
    }));
    Statement token = database_.prepare(
        "INSERT INTO token(digest, population, label, uses_left, expires, created) VALUES(?, ?, ?, ?, ?, ?)");
    token << filled_digest(0x66) << "default"
          << "old" << 1'000u << wall(1'000'000) << wall(0);
    return token.run();
  }

  Status play_round(uint64_t number) {
    COT_TRY(hold_lease());
    COT_TRY(open_round(number));
    COT_TRY(move(1, 2));
    for (uint64_t i = 0; i < 3; ++i) {
      COT_TRY(enroll(number * 10 + i));
      COT_TRY(accept(number, number * 10 + i));
    }
    COT_TRY(move(2, 3));
    COT_TRY(move(3, 4));
    COT_TRY(to_ledger(
        [&] {
          return ledger_.reserve(job_.id, key_, release_of(job_.spec.horizontal(), job_.value_count),
                                 budget_of(job_.spec.horizontal()), wall(5));
        },
        [&]() -> Status {
          Statement salt = database_.prepare("INSERT INTO noise_salt(round, attempt, salt) VALUES(?, ?, ?)");
          salt << key_.round.value() << key_.attempt.value() << filled_digest(0x12);
          return salt.run();
        }));
    COT_TRY(to_ledger(
        [&] {
          return ledger_.commit(key_, release_of(job_.spec.horizontal(), job_.value_count), 3, filled_digest(0x77),
                                wall(6));
        },
        [&] { return finish_round(number); }));
    return administer(number);
  }

 private:
  Status insert_model(uint64_t version) {
    const ModelRecord model = model_record(job_.id.value(), version);
    Statement insert = database_.prepare(
        "INSERT INTO model(job, version, digest, bytes, optimizer_state, evaluation_loss, "
        "evaluation_accuracy, created) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    insert << model.job.value() << version << model.digest << model.bytes << model.optimizer_state
           << model.evaluation_loss << model.evaluation_accuracy << model.created;
    return insert.run();
  }

#define COT_OLD_LEASE(NOW)                                                                        \
  "INSERT INTO lease(name, holder, epoch, expires) VALUES(?1, ?2, 1, " NOW                        \
  " + ?3) "                                                                                       \
  "ON CONFLICT(name) DO UPDATE SET holder = ?2, "                                                 \
  "epoch = CASE WHEN lease.holder = ?2 THEN lease.epoch ELSE lease.epoch + 1 END, expires = " NOW \
  " + ?3 "                                                                                        \
  "WHERE lease.holder = ?2 OR lease.expires <= " NOW " RETURNING epoch"
  Status hold_lease() {
    const bool is_sqlite = database_.engine() == SqlEngine::sqlite;
    Statement take = database_.prepare(is_sqlite ? COT_OLD_LEASE(COT_SQLITE_NOW) : COT_OLD_LEASE(COT_POSTGRES_NOW));
    take << "scheduler"
         << "old/1" << int64_t{3'600'000};
    COT_ASSIGN(const bool is_held, take.step());
    if (!is_held) return Error(ErrorCode::conflict, "another server leads");
    epoch_ = take.u64(0);
    return take.lock_rows();
  }
  Status check_fence() {
    Statement row = database_.prepare("SELECT epoch FROM lease WHERE name = ? /*! FOR SHARE */");
    row << "scheduler";
    COT_ASSIGN(const bool found, row.step());
    if (!found || row.u64(0) != epoch_) return Error(ErrorCode::conflict, "this server does not lead any more");
    return {};
  }
  Status lock_job() {
    Statement row = database_.prepare("SELECT 1 FROM job WHERE id = ? /*! FOR UPDATE */");
    row << job_.id.value();
    return row.lock_rows();
  }

  Status open_round(uint64_t number) {
    return database_.transaction([&]() -> Status {
      COT_TRY(check_fence());
      COT_TRY(lock_job());
      {
        Statement job = database_.prepare(
            "SELECT id, spec, state, reason, plan, plan_bytes, value_count, rounds_done, created, revision "
            "FROM job WHERE id = ?");
        job << job_.id.value();
        COT_ASSIGN(const bool found, job.step());
        if (!found || job.u64(7) + 1 != number) return Error(ErrorCode::conflict, "another round is due");
      }
      Statement name = database_.prepare(
          "INSERT INTO round_name(job, number) SELECT ?1, ?2 "
          "WHERE NOT EXISTS (SELECT 1 FROM round_name WHERE job = ?1 AND number = ?2)");
      name << job_.id.value() << number;
      COT_TRY(name.run());
      const ModelRecord base = model_record(job_.id.value(), number - 1);
      Statement insert = database_.prepare(
          "INSERT INTO round(id, attempt, job, number, state, reason, base_version, base_model, base_bytes, "
          "selected, updates, "
          "weight, examples, loss_sum, correct, train_ms, opened, closed, ledger_records, ledger_head) "
          "SELECT id, ?, job, number, ?, '', ?, ?, ?, 0, 0, 0, 0, 0.0, 0, 0, ?, "
          "0, ?, ? FROM round_name WHERE job = ? AND number = ?");
      insert << 1u << 1u << base.version.value() << base.digest << base.bytes << wall(1) << ledger_.size()
             << (ledger_.size() > 0 ? std::optional(ledger_.head()) : std::nullopt) << job_.id.value() << number;
      COT_TRY(insert.run());
      Statement round = database_.prepare("SELECT id FROM round WHERE job = ? AND number = ? AND attempt = ?");
      round << job_.id.value() << number << 1u;
      COT_ASSIGN(const bool found, round.step());
      if (!found) return Error(ErrorCode::data_loss, "the round is not there");
      key_ = {RoundId(round.u64(0)), Attempt(1)};
      return {};
    });
  }

  Status move(uint64_t from, uint64_t to) {
    return database_.transaction([&]() -> Status {
      COT_TRY(check_fence());
      Statement update = database_.prepare(
          "UPDATE round SET state = ?1, reason = ?2, selected = CASE WHEN selected < ?3 THEN ?3 ELSE "
          "selected END, "
          "closed = ?4 WHERE id = ?5 AND attempt = ?6 AND state = ?7");
      update << to << "" << 3u << WallTime() << key_.round.value() << key_.attempt.value() << from;
      COT_TRY(update.run());
      return database_.changes() == 1 ? Status() : Error(ErrorCode::conflict, "the round is elsewhere");
    });
  }

  Status enroll(uint64_t index) {
    return database_.transaction([&]() -> Status {
      {
        Statement use = database_.prepare(
            "UPDATE token SET uses_left = uses_left - 1 WHERE digest = ? AND uses_left > 0 AND expires > ? "
            "RETURNING population");
        use << filled_digest(0x66) << wall(2);
        COT_ASSIGN(const bool usable, use.step());
        if (!usable) return Error(ErrorCode::unauthenticated, "the token is used up");
        COT_TRY(use.lock_rows());
      }
      Statement insert = database_.prepare(
          "INSERT INTO device(id, population, algorithm, public_key, sdk_version, enrolled, revoked) "
          "VALUES(?, ?, ?, ?, ?, ?, NULL)");
      const Bytes key(32, 7);
      insert << numbered_device(index) << "default" << 1u << ByteView(key) << std::string("0.1.0") << wall(2);
      return insert.run();
    });
  }

  Status accept(uint64_t number, uint64_t index) {
    return database_.transaction([&]() -> Status {
      COT_TRY(check_fence());
      const std::string id = "old/1/" + std::to_string(number) + "/" + std::to_string(index);
      {
        Statement known = database_.prepare("SELECT 1 FROM partial WHERE id = ?");
        known << id;
        COT_ASSIGN(const bool before, known.step());
        if (before) return {};
      }
      {
        Statement round = database_.prepare("SELECT state FROM round WHERE id = ? AND attempt = ? /*! FOR SHARE */");
        round << key_.round.value() << key_.attempt.value();
        COT_ASSIGN(const bool found, round.step());
        if (!found || round.integer(0) != 2) return Error(ErrorCode::round_closed, "round closed");
      }
      Statement insert = database_.prepare(
          "INSERT INTO partial(id, round, attempt, updates, weight, examples, loss_sum, correct, train_ms, "
          "blob) "
          "VALUES(?,?,?,?,?,?,?,?,?,?)");
      insert << id << key_.round.value() << key_.attempt.value() << 1u << 10u << 100u << 0.5 << 1u << 7u
             << filled_digest(0x31);
      COT_TRY(insert.run());
      COT_ASSIGN(const std::vector<int> inserted,
                 database_.execute_many(
                     "INSERT INTO accept(round, attempt, device, partial) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING", 1,
                     [&](Statement& row, size_t) {
                       row << key_.round.value() << key_.attempt.value() << numbered_device(index) << id;
                     }));
      return inserted[0] == 1 ? Status() : Error(ErrorCode::conflict, "accepted before");
    });
  }

  // A record that make() says, and what goes with it, in one transaction.
  template <typename Make, typename Then>
  Status to_ledger(Make make, Then then) {
    const Ledger before = ledger_;
    return database_.transaction([&]() -> Status {
      ledger_ = before;  // it may be begun again
      COT_TRY(check_fence());
      COT_TRY(lock_job());
      Statement lock = database_.prepare("SELECT 1 /*! FROM ledger_lock FOR UPDATE */");
      COT_TRY(lock.lock_rows());
      COT_TRY(read_ledger());
      COT_ASSIGN(const LedgerRecord record, make());
      Statement insert = database_.prepare(
          "INSERT INTO ledger(seq, previous, job, round, attempt, kind, mechanism, variance, l1_sensitivity, "
          "l2_sensitivity, "
          "total_variation, delta, contributors, noise_commitment, time) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, "
          "?, ?, ?, ?, ?, ?)");
      const LedgerRelease& release = record.release;
      insert << record.seq << record.previous << record.job.value() << record.round.round.value()
             << record.round.attempt.value() << static_cast<uint64_t>(record.kind)
             << static_cast<uint64_t>(release.mechanism) << release.variance << release.l1_sensitivity
             << release.l2_sensitivity << release.total_variation << record.delta << record.contributors
             << record.noise_commitment << record.time;
      COT_TRY(insert.run());
      COT_TRY(ledger_.append(record));
      return then();
    });
  }
  Status read_ledger() {
    Statement rows = database_.prepare(
        "SELECT seq, previous, job, round, attempt, kind, mechanism, variance, l1_sensitivity, "
        "l2_sensitivity, total_variation, "
        "delta, contributors, noise_commitment, time FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?");
    rows << ledger_.size() << int64_t{INT64_MAX};
    for (;;) {
      COT_ASSIGN(const bool more, rows.step());
      if (!more) return {};
      COT_TRY(ledger_.append({.seq = rows.u64(0),
                              .previous = rows.digest(1),
                              .job = JobId(rows.text(2)),
                              .round = {RoundId(rows.u64(3)), Attempt(rows.u32(4))},
                              .kind = static_cast<LedgerKind>(rows.integer(5)),
                              .release = {static_cast<LedgerMechanism>(rows.integer(6)), rows.real(7), rows.real(8),
                                          rows.real(9), rows.real(10)},
                              .delta = rows.real(11),
                              .contributors = rows.u64(12),
                              .noise_commitment = rows.digest(13),
                              .time = rows.time(14)}));
    }
  }

  Status finish_round(uint64_t number) {
    Statement erase = database_.prepare("DELETE FROM noise_salt WHERE round = ? AND attempt = ?");
    erase << key_.round.value() << key_.attempt.value();
    COT_TRY(erase.run());
    COT_TRY(insert_model(number));
    Statement finish = database_.prepare(
        "UPDATE round SET state = ?, updates = ?, weight = ?, examples = ?, loss_sum = ?, correct = ?, "
        "train_ms = ?, "
        "closed = ? WHERE id = ? AND attempt = ?");
    finish << 5u << 3u << 30u << 300u << 1.5 << 3u << 21u << wall(6) << key_.round.value() << key_.attempt.value();
    COT_TRY(finish.run());
    Statement advance = database_.prepare(
        "UPDATE job SET rounds_done = ?, revision = revision + 1, "
        "state = CASE WHEN ? = 1 AND state IN (1, 2) THEN 3 ELSE state END WHERE id = ?");
    advance << number << 0u << job_.id.value();
    return advance.run();
  }

  // What its admin plane wrote meanwhile.
  Status administer(uint64_t number) {
    Statement token = database_.prepare(
        "INSERT INTO admin_token(id, label, roles, hash, creator, created, expires) VALUES(?, ?, ?, ?, ?, ?, "
        "?)");
    token << "old " + std::to_string(number) << "" << 1u << "$argon2id$"
          << "admin-token" << wall(0) << wall(9);
    COT_TRY(token.run());
    Statement pruned = database_.prepare("DELETE FROM idempotency WHERE expires <= ?");
    pruned << wall(7);
    COT_TRY(pruned.run());
    Statement claim = database_.prepare(
        "INSERT INTO idempotency(name, body, status, location, answer, expires) VALUES(?, ?, 0, '', NULL, "
        "?)");
    claim << filled_digest(static_cast<uint8_t>(number)) << filled_digest(1) << wall(1'000);
    COT_TRY(claim.run());
    return database_.transaction([&]() -> Status {
      Statement lock = database_.prepare("SELECT 1 /*! FROM audit_lock FOR UPDATE */");
      COT_TRY(lock.lock_rows());
      AuditHead head;
      {
        Statement row = database_.prepare("SELECT seq, digest FROM audit ORDER BY seq DESC LIMIT 1");
        COT_ASSIGN(const bool found, row.step());
        if (found) head = {row.u64(0), row.digest(1)};
      }
      const AuditEntry entry{.seq = head.seq + 1,
                             .time = wall(8),
                             .who = "old",
                             .roles = "",
                             .action = "x",
                             .target = "",
                             .outcome = 200,
                             .request = ""};
      Statement insert = database_.prepare(
          "INSERT INTO audit(seq, time, who, roles, action, target, outcome, request, digest) VALUES(?, ?, "
          "?, ?, ?, ?, ?, ?, ?)");
      insert << entry.seq << entry.time << entry.who << entry.roles << entry.action << entry.target << entry.outcome
             << entry.request << audit_digest(head.digest, entry);
      return insert.run();
    });
  }

  Database database_;
  JobRecord job_;
  Ledger ledger_;
  RoundKey key_;
  uint64_t epoch_ = 0;
};

}  // namespace coterie::test
