#include "fl_server/store/sql_device_store.h"

#include "fl_server/store/schema.h"
#include "fl_server/store/sql_tenant_lock.h"

namespace coterie {
namespace {

#define COT_DEVICE_COLUMNS "id, population, algorithm, public_key, sdk_version, enrolled, revoked"

#define COT_DEVICE_FILTER                                                                               \
  "(?1 = '' OR population = ?1) AND (?2 <> 0 OR revoked IS NULL) AND (?2 <> 1 OR revoked IS NOT NULL) " \
  "AND (?3 = '' OR ?3 = coalesce((SELECT tenant FROM tenancy WHERE kind = 2 AND name = population), 'default'))"

uint64_t revoked_number(const DeviceQuery& query) {
  constexpr uint64_t kEither = 2;
  return query.revoked ? uint64_t{*query.revoked} : kEither;
}

DeviceRecord device_from(Statement& row) {
  DeviceRecord device;
  device.id = row.device(0);
  device.population = Population(row.text(1));
  device.algorithm = static_cast<KeyAlgorithm>(row.integer(2));
  const ByteView key = row.blob(3);
  device.public_key.assign(key.begin(), key.end());
  device.sdk_version = row.text(4);
  device.enrolled = row.time(5);
  if (!row.is_null(6)) device.revoked = row.time(6);
  return device;
}

}  // namespace

Result<std::unique_ptr<SqlDeviceStore>> SqlDeviceStore::open(Result<Database> opened) {
  COT_ASSIGN(Database database, std::move(opened));
  COT_TRY(prepare_schema(database));
  return std::unique_ptr<SqlDeviceStore>(new SqlDeviceStore(std::move(database)));
}

Status SqlDeviceStore::create_token(const TokenRecord& token, const std::optional<QuotaClaim>& owner) {
  const std::lock_guard lock(mutex_);
  return database_.transaction(os::crash::create_token, [&]() -> Status {
    if (owner) {
      COT_TRY(lock_tenant(database_, owner->tenant));
      Statement row = database_.prepare(
          "SELECT count(*) FROM token k LEFT JOIN tenancy t ON t.kind = 2 AND t.name = k.population "
          "WHERE coalesce(t.tenant, 'default') = ?");
      row << owner->tenant;
      COT_ASSIGN(const bool counted, row.step());
      const uint64_t seen = (counted ? row.u64(0) : 0) + 1;
      if (seen > owner->most) return over_quota(Quota::enrollment_tokens, owner->tenant, owner->most, seen);
    }
    Statement insert = database_.prepare(
        "INSERT INTO token(digest, population, label, uses_left, expires, created) VALUES(?, ?, ?, ?, ?, ?)");
    insert << token.digest << token.population.value() << token.label << token.uses_left << token.expires
           << token.created;
    return insert.run();
  });
}

Result<std::vector<TokenRecord>> SqlDeviceStore::list_tokens() {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare(
      "SELECT digest, population, label, uses_left, expires, created FROM token ORDER BY created, digest");
  std::vector<TokenRecord> tokens;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return tokens;
    tokens.push_back({.digest = rows.digest(0),
                      .population = Population(rows.text(1)),
                      .label = rows.text(2),
                      .uses_left = rows.u32(3),
                      .expires = rows.time(4),
                      .created = rows.time(5)});
  }
}

Status SqlDeviceStore::remove_token(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  Statement remove = database_.prepare("DELETE FROM token WHERE digest = ?");
  remove << digest;
  COT_TRY(os::crash_around(os::crash::remove_token, [&] { return remove.run(); }));
  if (database_.changes() == 0) return Error(ErrorCode::not_found, "no such token");
  return {};
}

Result<DeviceRecord> SqlDeviceStore::enroll(const Digest& token, DeviceRecord device, WallTime now) {
  const std::lock_guard lock(mutex_);
  const auto enroll_once = [&]() -> Status {
    COT_ASSIGN(const std::optional<DeviceRecord> existing, read_device(device.id));
    if (!existing) return use_token(token, device, now);
    if (existing->revoked) return Error(ErrorCode::permission_denied, "this device was revoked by the operator");
    device = *existing;
    return {};
  };
  Status done = database_.transaction(os::crash::enroll, enroll_once);
  // Another server has enrolled it in between: now it is there.
  if (!done && done.error().code() == ErrorCode::conflict) done = database_.transaction(os::crash::enroll, enroll_once);
  if (!done) return done.error();
  return device;
}

Status SqlDeviceStore::use_token(const Digest& token, DeviceRecord& device, WallTime now) {
  Statement use = database_.prepare(
      "UPDATE token SET uses_left = uses_left - 1 WHERE digest = ? AND uses_left > 0 AND expires > ? "
      "RETURNING population");
  use << token << now;
  COT_ASSIGN(const bool usable, use.step());
  if (!usable) {
    return Error(ErrorCode::unauthenticated,
                 "the enrollment token is unknown, used up or expired; ask the operator for a new one");
  }
  device.population = Population(use.text(0));
  COT_ASSIGN(const bool more, use.step());
  COT_ASSERT(!more);
  Statement insert = database_.prepare("INSERT INTO device(" COT_DEVICE_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, NULL)");
  insert << device.id << device.population.value() << static_cast<uint64_t>(device.algorithm)
         << ByteView(device.public_key) << device.sdk_version << device.enrolled;
  return insert.run();
}

Result<std::optional<DeviceRecord>> SqlDeviceStore::read_device(const DeviceId& id) {
  Statement row = database_.prepare("SELECT " COT_DEVICE_COLUMNS " FROM device WHERE id = ?");
  row << id;
  COT_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<DeviceRecord>();
  return std::optional<DeviceRecord>(device_from(row));
}

Result<DeviceRecord> SqlDeviceStore::get_device(const DeviceId& id) {
  const std::lock_guard lock(mutex_);
  COT_ASSIGN(std::optional<DeviceRecord> device, read_device(id));
  if (!device) return Error(ErrorCode::not_found, "no such device");
  return *std::move(device);
}

Result<std::vector<DeviceRecord>> SqlDeviceStore::list_devices(const DeviceQuery& query) {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT " COT_DEVICE_COLUMNS " FROM device WHERE " COT_DEVICE_FILTER
                                     " AND id > ?4 ORDER BY id LIMIT ?5");
  rows << query.population << revoked_number(query) << query.tenant << query.after
       << static_cast<uint64_t>(query.limit);
  std::vector<DeviceRecord> devices;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return devices;
    devices.push_back(device_from(rows));
  }
}

Result<uint64_t> SqlDeviceStore::count_devices(const DeviceQuery& query) {
  const std::lock_guard lock(mutex_);
  Statement row = database_.prepare("SELECT count(*) FROM device WHERE " COT_DEVICE_FILTER);
  row << query.population << revoked_number(query) << query.tenant;
  COT_ASSIGN(const bool found, row.step());
  return found ? row.u64(0) : 0;
}

Status SqlDeviceStore::revoke_device(const DeviceId& id, WallTime now) {
  const std::lock_guard lock(mutex_);
  Statement update = database_.prepare("UPDATE device SET revoked = coalesce(revoked, ?) WHERE id = ?");
  update << now << id;
  COT_TRY(os::crash_around(os::crash::revoke_device, [&] { return update.run(); }));
  if (database_.changes() == 0) return Error(ErrorCode::not_found, "no such device");
  return {};
}

}  // namespace coterie
