// Idempotency keys and their answers. status 0: under way. An empty answer is NULL.
#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_tenant_lock.h"

namespace coterie {

Result<KeyClaim> SqlAdminStore::claim_key(const IdempotencyKey& key, WallTime now, uint64_t of_tenant_max) {
  const std::lock_guard lock(mutex_);
  KeyClaim claim;
  const auto claim_once = [&]() -> Status {
    Statement prune = database_.prepare("DELETE FROM idempotency WHERE expires <= ?");
    prune << now;
    COT_TRY(prune.run());
    Statement row = database_.prepare("SELECT body, status, location, answer FROM idempotency WHERE name = ?");
    row << key.name;
    COT_ASSIGN(const bool found, row.step());
    if (found) {
      if (row.digest(0) != key.body) {
        claim.state = KeyClaim::State::other_body;
      } else if (row.u32(1) == 0) {
        claim.state = KeyClaim::State::under_way;
      } else {
        const ByteView answer = row.blob(3);
        claim = {KeyClaim::State::answered, {row.u32(1), row.text(2), Bytes(answer.begin(), answer.end())}};
      }
      return {};
    }
    if (key.tenant != kEveryTenant) {
      COT_TRY(lock_tenant(database_, key.tenant));
      COT_ASSIGN(const uint64_t own, count_of("SELECT count(*) FROM idempotency WHERE tenant = ?", key.tenant));
      if (own >= of_tenant_max) return over_quota(Quota::idempotency_keys, key.tenant, of_tenant_max, own + 1);
    }
    Statement count = database_.prepare("SELECT count(*) FROM idempotency");
    COT_ASSIGN(const bool counted, count.step());
    if (counted && count.u64(0) >= kIdempotencyKeysMax) {
      return Error(ErrorCode::rate_limited,
                   "there are " + std::to_string(kIdempotencyKeysMax) +
                       " idempotency keys of the last day, the most there may be; ask without one");
    }
    Statement insert = database_.prepare(
        "INSERT INTO idempotency(name, body, status, location, answer, expires, tenant) "
        "VALUES(?, ?, 0, '', NULL, ?, ?)");
    insert << key.name << key.body << (now + kIdempotencyKeptFor) << key.tenant;
    return insert.run();
  };
  Status done = database_.transaction(os::crash::claim_key, claim_once);
  // Another server has claimed it in between: now it is there.
  if (!done && done.error().code() == ErrorCode::conflict)
    done = database_.transaction(os::crash::claim_key, claim_once);
  if (!done) return done.error();
  return claim;
}

Status SqlAdminStore::keep_answer(const IdempotencyKey& key, const KeptAnswer& answer) {
  const std::lock_guard lock(mutex_);
  Statement update =
      database_.prepare("UPDATE idempotency SET status = ?, location = ?, answer = ? WHERE name = ? AND status = 0");
  update << answer.status << answer.location << ByteView(answer.body) << key.name;
  return os::crash_around(os::crash::keep_answer, [&] { return update.run(); });
}

Status SqlAdminStore::release_key(const IdempotencyKey& key) {
  const std::lock_guard lock(mutex_);
  Statement remove = database_.prepare("DELETE FROM idempotency WHERE name = ? AND status = 0");
  remove << key.name;
  return os::crash_around(os::crash::release_key, [&] { return remove.run(); });
}

// They are few: kIdempotencyKeysMax at most.
Result<uint64_t> SqlAdminStore::forget_keys(WallTime now) {
  const std::lock_guard lock(mutex_);
  Statement remove = database_.prepare("DELETE FROM idempotency WHERE expires <= ?");
  remove << now;
  COT_TRY(os::crash_around(os::crash::forget_keys, [&] { return remove.run(); }));
  return static_cast<uint64_t>(database_.changes());
}

}  // namespace coterie
