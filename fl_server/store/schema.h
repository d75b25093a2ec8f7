// The tables, and their version. A newer schema than ours is refused; an older one is migrated, step by step. A step
// only adds (expand); what nobody reads any more goes in a later version (contract), so that servers of two versions
// can share a database.
//
// 1  jobs, rounds, devices
// 2  the privacy ledger and the salts of noise under way
// 3  the ledger's head as an attempt of a round was opened
// 4  leases; of the admin plane tokens, audit log, idempotency keys
// 5  the nodes of a fleet, and what the one that leads tells the others; which versions of models are released; tenants
// 6  budgets of populations, and which jobs draw from them
// 7  when devices were seen; segments of the audit log
// 8  what tenants have uploaded, whose idempotency keys there are, and the rows that quotas are counted behind; which
//    jobs are deleted, while their rows go
// 9  what devices that are counted trained on, and the median of it as an attempt was opened; when the last check-in
//    of a device that was taken was signed
// 10 what devices of a round clip to, and with a model those of the next one; what models whose targets are numbers
//    were evaluated to
// 11 canaries, and whom they have heard
// 12 how many devices of an attempt met which gate; which job a canary hears
// 13 what devices of a round found in their trainings, with the model that it made
// 14 how long the updates of a round were, likewise
// 15 the cosines of updates with the step of their round, likewise
// 16 what each head of a training with several has come to, with the model that was evaluated
#pragma once

#include "fl_server/store/sql/database.h"

namespace coterie {

inline constexpr int kSchemaVersion = 16;

// Creates the tables in an empty database, adds those that an older one lacks (one transaction), or refuses a newer one
// (unsupported_version). Where several servers start at once, one does it and the others wait.
Status prepare_schema(Database& database);

// The version of the tables that are there, 0 where there are none. Changes nothing.
Result<int64_t> schema_version(Database& database);

// The same for each engine. Whoever opens a database calls prepare_schema.
Status prepare_sqlite_schema(Database& database);
Result<int64_t> sqlite_schema_version(Database& database);
Status prepare_postgres_schema(Database& database);
Result<int64_t> postgres_schema_version(Database& database);
Error newer_schema(int64_t version);

}  // namespace coterie
