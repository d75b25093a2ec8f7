// Schema version 4 as its servers made it, frozen: what an upgrade finds. Never to be changed: it is what is out there.
#pragma once

namespace coterie::test {

inline constexpr const char* kSchema4OnSqlite = R"sql(
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

ALTER TABLE round ADD COLUMN ledger_records INTEGER NOT NULL DEFAULT 0;
ALTER TABLE round ADD COLUMN ledger_head BLOB CHECK(length(ledger_head) = 32);

PRAGMA user_version = 3;

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

inline constexpr const char* kSchema4OnPostgres = R"sql(
CREATE TABLE job(
  id TEXT COLLATE "C" PRIMARY KEY, spec TEXT NOT NULL, state BIGINT NOT NULL, reason TEXT NOT NULL,
  plan BYTEA NOT NULL CHECK(length(plan) = 32), plan_bytes BIGINT NOT NULL, value_count BIGINT NOT NULL,
  rounds_done BIGINT NOT NULL, created BIGINT NOT NULL, revision BIGINT NOT NULL);

CREATE TABLE round_name(id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, job TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL, UNIQUE(job, number));

CREATE TABLE round(
  id BIGINT NOT NULL, attempt BIGINT NOT NULL, job TEXT COLLATE "C" NOT NULL REFERENCES job(id), number BIGINT NOT NULL,
  state BIGINT NOT NULL, reason TEXT NOT NULL, base_version BIGINT NOT NULL,
  base_model BYTEA NOT NULL CHECK(length(base_model) = 32), base_bytes BIGINT NOT NULL, selected BIGINT NOT NULL,
  updates BIGINT NOT NULL, weight BIGINT NOT NULL, examples BIGINT NOT NULL, loss_sum DOUBLE PRECISION NOT NULL,
  correct BIGINT NOT NULL, train_ms BIGINT NOT NULL, opened BIGINT NOT NULL, closed BIGINT NOT NULL,
  ledger_records BIGINT NOT NULL DEFAULT 0, ledger_head BYTEA CHECK(length(ledger_head) = 32),
  PRIMARY KEY(id, attempt));
CREATE INDEX round_by_job ON round(job, number, attempt);

CREATE TABLE partial(
  id TEXT COLLATE "C" PRIMARY KEY, round BIGINT NOT NULL, attempt BIGINT NOT NULL, updates BIGINT NOT NULL,
  weight BIGINT NOT NULL, examples BIGINT NOT NULL, loss_sum DOUBLE PRECISION NOT NULL, correct BIGINT NOT NULL,
  train_ms BIGINT NOT NULL, blob BYTEA NOT NULL CHECK(length(blob) = 32));
CREATE INDEX partial_by_round ON partial(round, attempt);

CREATE TABLE accept(
  round BIGINT NOT NULL, attempt BIGINT NOT NULL, device BYTEA NOT NULL CHECK(length(device) = 16),
  partial TEXT NOT NULL, PRIMARY KEY(round, attempt, device));

CREATE TABLE model(
  job TEXT COLLATE "C" NOT NULL REFERENCES job(id), version BIGINT NOT NULL,
  digest BYTEA NOT NULL CHECK(length(digest) = 32), bytes BIGINT NOT NULL,
  optimizer_state BYTEA CHECK(length(optimizer_state) = 32), evaluation_loss DOUBLE PRECISION,
  evaluation_accuracy DOUBLE PRECISION, created BIGINT NOT NULL, PRIMARY KEY(job, version));

CREATE TABLE token(
  digest BYTEA PRIMARY KEY CHECK(length(digest) = 32), population TEXT NOT NULL, label TEXT NOT NULL,
  uses_left BIGINT NOT NULL, expires BIGINT NOT NULL, created BIGINT NOT NULL);

CREATE TABLE device(
  id BYTEA PRIMARY KEY CHECK(length(id) = 16), population TEXT NOT NULL, algorithm BIGINT NOT NULL,
  public_key BYTEA NOT NULL, sdk_version BYTEA NOT NULL, enrolled BIGINT NOT NULL, revoked BIGINT);

-- Records are only ever added. No reference to job: what was spent outlives what it was spent on.
CREATE TABLE ledger(
  seq BIGINT PRIMARY KEY, previous BYTEA NOT NULL CHECK(length(previous) = 32), job TEXT NOT NULL,
  round BIGINT NOT NULL, attempt BIGINT NOT NULL, kind BIGINT NOT NULL, mechanism BIGINT NOT NULL,
  variance DOUBLE PRECISION NOT NULL, l1_sensitivity DOUBLE PRECISION NOT NULL,
  l2_sensitivity DOUBLE PRECISION NOT NULL,
  total_variation DOUBLE PRECISION NOT NULL, delta DOUBLE PRECISION NOT NULL, contributors BIGINT NOT NULL,
  noise_commitment BYTEA NOT NULL CHECK(length(noise_commitment) = 32), time BIGINT NOT NULL,
  UNIQUE(round, attempt, kind));

-- One row: whoever appends to the ledger locks it.
CREATE TABLE ledger_lock(one BIGINT PRIMARY KEY CHECK(one = 1));
INSERT INTO ledger_lock VALUES(1);

CREATE TABLE noise_salt(
  round BIGINT NOT NULL, attempt BIGINT NOT NULL, salt BYTEA NOT NULL CHECK(length(salt) = 32),
  PRIMARY KEY(round, attempt));

CREATE TABLE lease(
  name TEXT COLLATE "C" PRIMARY KEY, holder TEXT NOT NULL, epoch BIGINT NOT NULL, expires BIGINT NOT NULL);

CREATE TABLE admin_token(
  id TEXT COLLATE "C" PRIMARY KEY, label TEXT NOT NULL, roles BIGINT NOT NULL, hash TEXT NOT NULL,
  creator TEXT NOT NULL,
  created BIGINT NOT NULL, expires BIGINT NOT NULL);

-- The triggers are against mistakes of ours; who has the database can drop them. The chain of digests is what he
-- cannot mend.
CREATE TABLE audit(
  seq BIGINT PRIMARY KEY, time BIGINT NOT NULL, who TEXT COLLATE "C" NOT NULL, roles TEXT NOT NULL,
  action TEXT COLLATE "C" NOT NULL, target TEXT NOT NULL, outcome BIGINT NOT NULL, request TEXT NOT NULL,
  digest BYTEA NOT NULL CHECK(length(digest) = 32));
CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'audit: records stay as they are' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_stays BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_stays();
CREATE TABLE audit_lock(one BIGINT PRIMARY KEY CHECK(one = 1));
INSERT INTO audit_lock VALUES(1);

CREATE TABLE idempotency(
  name BYTEA PRIMARY KEY CHECK(length(name) = 32), body BYTEA NOT NULL CHECK(length(body) = 32), status BIGINT NOT NULL,
  location TEXT NOT NULL, answer BYTEA, expires BIGINT NOT NULL);

CREATE TABLE schema_version(one BIGINT PRIMARY KEY CHECK(one = 1), version BIGINT NOT NULL);
INSERT INTO schema_version VALUES(1, 4);
)sql";

}  // namespace coterie::test
