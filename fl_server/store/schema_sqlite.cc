// The tables in SQLite.
#include "fl_server/store/schema.h"

namespace coterie {
namespace {

constexpr const char* kVersion1 = R"sql(
CREATE TABLE job(
  id TEXT PRIMARY KEY, spec TEXT NOT NULL, state INTEGER NOT NULL, reason TEXT NOT NULL,
  plan BLOB NOT NULL CHECK(length(plan) = 32), plan_bytes INTEGER NOT NULL, value_count INTEGER NOT NULL,
  rounds_done INTEGER NOT NULL, created INTEGER NOT NULL, revision INTEGER NOT NULL) STRICT;

CREATE TABLE round_name(id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, number INTEGER NOT NULL,
  UNIQUE(job, number)) STRICT;

CREATE TABLE round(
  id INTEGER NOT NULL, attempt INTEGER NOT NULL, job TEXT NOT NULL REFERENCES job(id), number INTEGER NOT NULL,
  state INTEGER NOT NULL, reason TEXT NOT NULL, base_version INTEGER NOT NULL,
  base_model BLOB NOT NULL CHECK(length(base_model) = 32), base_bytes INTEGER NOT NULL, selected INTEGER NOT NULL,
  updates INTEGER NOT NULL, weight INTEGER NOT NULL, examples INTEGER NOT NULL, loss_sum REAL NOT NULL,
  correct INTEGER NOT NULL, train_ms INTEGER NOT NULL, opened INTEGER NOT NULL, closed INTEGER NOT NULL,
  PRIMARY KEY(id, attempt)) STRICT, WITHOUT ROWID;
CREATE INDEX round_by_job ON round(job, number, attempt);

CREATE TABLE partial(
  id TEXT PRIMARY KEY, round INTEGER NOT NULL, attempt INTEGER NOT NULL, updates INTEGER NOT NULL,
  weight INTEGER NOT NULL, examples INTEGER NOT NULL, loss_sum REAL NOT NULL, correct INTEGER NOT NULL,
  train_ms INTEGER NOT NULL, blob BLOB NOT NULL CHECK(length(blob) = 32)) STRICT, WITHOUT ROWID;
CREATE INDEX partial_by_round ON partial(round, attempt);

CREATE TABLE accept(
  round INTEGER NOT NULL, attempt INTEGER NOT NULL, device BLOB NOT NULL CHECK(length(device) = 16),
  partial TEXT NOT NULL, PRIMARY KEY(round, attempt, device)) STRICT, WITHOUT ROWID;

CREATE TABLE model(
  job TEXT NOT NULL REFERENCES job(id), version INTEGER NOT NULL, digest BLOB NOT NULL CHECK(length(digest) = 32),
  bytes INTEGER NOT NULL, optimizer_state BLOB CHECK(length(optimizer_state) = 32), evaluation_loss REAL,
  evaluation_accuracy REAL, created INTEGER NOT NULL, PRIMARY KEY(job, version)) STRICT, WITHOUT ROWID;

CREATE TABLE token(
  digest BLOB PRIMARY KEY CHECK(length(digest) = 32), population TEXT NOT NULL, label TEXT NOT NULL,
  uses_left INTEGER NOT NULL, expires INTEGER NOT NULL, created INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE device(
  id BLOB PRIMARY KEY CHECK(length(id) = 16), population TEXT NOT NULL, algorithm INTEGER NOT NULL,
  public_key BLOB NOT NULL, sdk_version TEXT NOT NULL, enrolled INTEGER NOT NULL, revoked INTEGER)
  STRICT, WITHOUT ROWID;

PRAGMA user_version = 1;
)sql";

// Records are only ever added. No reference to job: what was spent outlives what it was spent on.
constexpr const char* kVersion2 = R"sql(
CREATE TABLE ledger(
  seq INTEGER PRIMARY KEY, previous BLOB NOT NULL CHECK(length(previous) = 32), job TEXT NOT NULL,
  round INTEGER NOT NULL, attempt INTEGER NOT NULL, kind INTEGER NOT NULL, mechanism INTEGER NOT NULL,
  variance REAL NOT NULL, l1_sensitivity REAL NOT NULL, l2_sensitivity REAL NOT NULL, total_variation REAL NOT NULL,
  delta REAL NOT NULL, contributors INTEGER NOT NULL,
  noise_commitment BLOB NOT NULL CHECK(length(noise_commitment) = 32), time INTEGER NOT NULL,
  UNIQUE(round, attempt, kind)) STRICT;

CREATE TABLE noise_salt(
  round INTEGER NOT NULL, attempt INTEGER NOT NULL, salt BLOB NOT NULL CHECK(length(salt) = 32),
  PRIMARY KEY(round, attempt)) STRICT, WITHOUT ROWID;

PRAGMA user_version = 2;
)sql";

// 0 and no head: the job has no ledger, there were no records, or the attempt is older than this.
constexpr const char* kVersion3 = R"sql(
ALTER TABLE round ADD COLUMN ledger_records INTEGER NOT NULL DEFAULT 0;
ALTER TABLE round ADD COLUMN ledger_head BLOB CHECK(length(ledger_head) = 32);

PRAGMA user_version = 3;
)sql";

constexpr const char* kVersion4 = R"sql(
CREATE TABLE lease(name TEXT PRIMARY KEY, holder TEXT NOT NULL, epoch INTEGER NOT NULL, expires INTEGER NOT NULL)
  STRICT, WITHOUT ROWID;

CREATE TABLE admin_token(
  id TEXT PRIMARY KEY, label TEXT NOT NULL, roles INTEGER NOT NULL, hash TEXT NOT NULL, creator TEXT NOT NULL,
  created INTEGER NOT NULL, expires INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- The triggers are against mistakes of ours; who has the file can drop them. The chain of digests is what he cannot
-- mend.
CREATE TABLE audit(
  seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, who TEXT NOT NULL, roles TEXT NOT NULL, action TEXT NOT NULL,
  target TEXT NOT NULL, outcome INTEGER NOT NULL, request TEXT NOT NULL,
  digest BLOB NOT NULL CHECK(length(digest) = 32)) STRICT;
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
  BEGIN SELECT RAISE(ABORT, 'audit: records stay as they are'); END;
CREATE TRIGGER audit_is_never_cut BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit: records stay'); END;

CREATE TABLE idempotency(
  name BLOB PRIMARY KEY CHECK(length(name) = 32), body BLOB NOT NULL CHECK(length(body) = 32), status INTEGER NOT NULL,
  location TEXT NOT NULL, answer BLOB, expires INTEGER NOT NULL) STRICT, WITHOUT ROWID;

PRAGMA user_version = 4;
)sql";

constexpr const char* kVersion5 = R"sql(
CREATE TABLE fleet_node(
  node TEXT PRIMARY KEY, incarnation TEXT NOT NULL, started INTEGER NOT NULL, seen INTEGER NOT NULL,
  report TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE fleet_board(one INTEGER PRIMARY KEY CHECK(one = 1), revision INTEGER NOT NULL, board TEXT NOT NULL) STRICT;
INSERT INTO fleet_board VALUES(1, 0, '');

CREATE TABLE model_release(
  job TEXT NOT NULL REFERENCES job(id), seq INTEGER NOT NULL, version INTEGER NOT NULL, time INTEGER NOT NULL,
  PRIMARY KEY(job, seq)) STRICT, WITHOUT ROWID;

-- What has no row is the default tenant's.
CREATE TABLE tenancy(kind INTEGER NOT NULL, name TEXT NOT NULL, tenant TEXT NOT NULL, PRIMARY KEY(kind, name))
  STRICT, WITHOUT ROWID;
ALTER TABLE admin_token ADD COLUMN tenant TEXT NOT NULL DEFAULT '*';

PRAGMA user_version = 5;
)sql";

constexpr const char* kVersion6 = R"sql(
-- Whose budget a job draws from: its own population's, and those that its model comes from. No reference to job: what
-- was spent outlives what it was spent on.
CREATE TABLE job_population(
  job TEXT NOT NULL, population TEXT NOT NULL, inherited INTEGER NOT NULL CHECK(inherited IN (0, 1)),
  PRIMARY KEY(job, population)) STRICT, WITHOUT ROWID;
CREATE INDEX job_by_population ON job_population(population, inherited);
INSERT INTO job_population SELECT id, coalesce(json_extract(spec, '$.population'), 'default'), 0 FROM job;
CREATE TABLE population_budget(population TEXT PRIMARY KEY, epsilon REAL NOT NULL, delta REAL NOT NULL)
  STRICT, WITHOUT ROWID;

PRAGMA user_version = 6;
)sql";

constexpr const char* kVersion7 = R"sql(
-- When a device was seen, by days that the database counts. NULL: not since there is this column.
ALTER TABLE device ADD COLUMN seen_day INTEGER;
CREATE INDEX device_by_seen_day ON device(seen_day);
CREATE TABLE device_day(
  one INTEGER PRIMARY KEY CHECK(one = 1), number INTEGER NOT NULL, began INTEGER NOT NULL) STRICT;
INSERT INTO device_day VALUES(1, 1, 0);

-- Records of the audit log that are in a file. A seal stays when its records and its file are gone.
CREATE TABLE audit_segment(
  seq INTEGER PRIMARY KEY, digest BLOB NOT NULL CHECK(length(digest) = 32), before_seq INTEGER NOT NULL,
  before_digest BLOB NOT NULL CHECK(length(before_digest) = 32), blob BLOB CHECK(length(blob) = 32),
  bytes INTEGER NOT NULL, sealed INTEGER NOT NULL) STRICT;
DROP TRIGGER audit_is_never_cut;
CREATE TRIGGER audit_is_never_cut BEFORE DELETE ON audit
  WHEN OLD.seq > (SELECT coalesce(max(seq), 0) FROM audit_segment)
  BEGIN SELECT RAISE(ABORT, 'audit: records stay until they are sealed'); END;

PRAGMA user_version = 7;
)sql";

constexpr const char* kVersion8 = R"sql(
-- Whoever adds to what a tenant has locks its row, so that a quota is never passed.
CREATE TABLE tenant(name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE upload(
  tenant TEXT NOT NULL, digest BLOB NOT NULL CHECK(length(digest) = 32), bytes INTEGER NOT NULL, put INTEGER NOT NULL,
  PRIMARY KEY(tenant, digest)) STRICT, WITHOUT ROWID;
CREATE INDEX upload_by_digest ON upload(digest);
ALTER TABLE idempotency ADD COLUMN tenant TEXT NOT NULL DEFAULT '*';
ALTER TABLE job ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 8;
)sql";

constexpr const char* kVersion9 = R"sql(
-- 0: not known.
ALTER TABLE accept ADD COLUMN examples INTEGER NOT NULL DEFAULT 0;
ALTER TABLE round ADD COLUMN examples_median INTEGER NOT NULL DEFAULT 0;

-- When the last check-in that was taken of the device was signed.
ALTER TABLE device ADD COLUMN checked_in INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 9;
)sql";

constexpr const char* kVersion10 = R"sql(
-- What a round's devices clip to: 0 is what the job says. And what those of the next round will, by the model.
ALTER TABLE round ADD COLUMN clip_norm REAL NOT NULL DEFAULT 0;
ALTER TABLE model ADD COLUMN clip_norm REAL;
-- NULL: nothing was held out, or the targets are labels; r2 also where all targets are the same.
ALTER TABLE model ADD COLUMN evaluation_mae REAL;
ALTER TABLE model ADD COLUMN evaluation_r2 REAL;
-- How many values of the model updates have; 0: all.
ALTER TABLE job ADD COLUMN trained_value_count INTEGER NOT NULL DEFAULT 0;
-- Of jobs whose models come as deltas: the model as it was computed, and what leads to the published one.
ALTER TABLE model ADD COLUMN exact BLOB CHECK(length(exact) = 32);
ALTER TABLE model ADD COLUMN deltas BLOB;

PRAGMA user_version = 10;
)sql";

constexpr const char* kVersion11 = R"sql(
-- At most one of a population runs (state 1). What it has heard is one blob, who said it a row each while it runs.
CREATE TABLE canary(
  id TEXT PRIMARY KEY, population TEXT NOT NULL, job TEXT NOT NULL REFERENCES job(id), version INTEGER NOT NULL,
  base_job TEXT NOT NULL, base_version INTEGER NOT NULL, salt BLOB NOT NULL CHECK(length(salt) = 32),
  percent INTEGER NOT NULL, alpha REAL NOT NULL, margin REAL NOT NULL, harm_max REAL NOT NULL,
  devices_max INTEGER NOT NULL, promote_after INTEGER NOT NULL, state INTEGER NOT NULL, reason TEXT NOT NULL,
  heard BLOB NOT NULL, created INTEGER NOT NULL, ended INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX canary_that_runs ON canary(population) WHERE state = 1;
CREATE INDEX canary_by_job ON canary(job, created);
CREATE TABLE canary_source(canary TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY(canary, name)) STRICT, WITHOUT ROWID;

PRAGMA user_version = 11;
)sql";

constexpr const char* kVersion12 = R"sql(
-- Numbers alone, a row each life of a node.
CREATE TABLE round_gates(
  round INTEGER NOT NULL, attempt INTEGER NOT NULL, life TEXT NOT NULL, asked INTEGER NOT NULL, gates TEXT NOT NULL,
  PRIMARY KEY(round, attempt, life)) STRICT, WITHOUT ROWID;
-- The job whose rounds a canary hears; '': none.
ALTER TABLE canary ADD COLUMN evaluation_job TEXT NOT NULL DEFAULT '';
-- What a round's devices have for mu: NULL is what the job says. And what those of the next round will, by the model,
-- with the rounds in a row, up to it, whose loss fell.
ALTER TABLE round ADD COLUMN proximal_mu REAL;
ALTER TABLE model ADD COLUMN proximal_mu REAL;
ALTER TABLE model ADD COLUMN proximal_falls INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 12;
)sql";

constexpr const char* kVersion13 = R"sql(
-- What devices of its round found in their trainings (fl_server/records/watch_record.h); NULL: nobody was asked.
ALTER TABLE model ADD COLUMN watch BLOB;

PRAGMA user_version = 13;
)sql";

constexpr const char* kVersion14 = R"sql(
-- How long the updates of its round were (fl_server/records/norm_record.h); NULL: nobody may know, or nobody counted.
ALTER TABLE model ADD COLUMN update_norms BLOB;

PRAGMA user_version = 14;
)sql";

constexpr const char* kVersion15 = R"sql(
-- How its round's updates lay to its step (fl_server/records/cosine_record.h); NULL: nobody may know, or none was kept.
ALTER TABLE model ADD COLUMN update_cosines BLOB;

PRAGMA user_version = 15;
)sql";

constexpr const char* kVersion16 = R"sql(
-- What each head of its evaluation came to (fl_server/records/head_record.h); NULL: no heads, or nothing was held out.
ALTER TABLE model ADD COLUMN evaluation_heads BLOB;

PRAGMA user_version = 16;
)sql";

}  // namespace

Result<int64_t> sqlite_schema_version(Database& database) {
  Statement statement = database.prepare("PRAGMA user_version");
  COT_ASSIGN(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

Status prepare_sqlite_schema(Database& database) {
  COT_ASSIGN(const int64_t found, sqlite_schema_version(database));
  if (found == kSchemaVersion) return {};
  if (found < 0 || found > kSchemaVersion) return newer_schema(found);
  return database.transaction(os::crash::make_schema, [&]() -> Status {
    // Once more: another may have been faster.
    COT_ASSIGN(const int64_t version, sqlite_schema_version(database));
    if (version > kSchemaVersion) return newer_schema(version);
    if (version < 1) COT_TRY(database.execute(kVersion1));
    if (version < 2) COT_TRY(database.execute(kVersion2));
    if (version < 3) COT_TRY(database.execute(kVersion3));
    if (version < 4) COT_TRY(database.execute(kVersion4));
    if (version < 5) COT_TRY(database.execute(kVersion5));
    if (version < 6) COT_TRY(database.execute(kVersion6));
    if (version < 7) COT_TRY(database.execute(kVersion7));
    if (version < 8) COT_TRY(database.execute(kVersion8));
    if (version < 9) COT_TRY(database.execute(kVersion9));
    if (version < 10) COT_TRY(database.execute(kVersion10));
    if (version < 11) COT_TRY(database.execute(kVersion11));
    if (version < 12) COT_TRY(database.execute(kVersion12));
    if (version < 13) COT_TRY(database.execute(kVersion13));
    if (version < 14) COT_TRY(database.execute(kVersion14));
    if (version < 15) COT_TRY(database.execute(kVersion15));
    if (version < 16) COT_TRY(database.execute(kVersion16));
    return {};
  });
}

}  // namespace coterie
