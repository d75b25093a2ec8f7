// What tenants have, and what they have uploaded. Each is counted where it is stored: no number is kept beside the rows
// that could come apart from them.
#include "fl_server/store/sql_admin_store.h"
#include "fl_server/store/sql_delta_files.h"
#include "fl_server/store/sql_tenant_lock.h"

namespace coterie {
namespace {

// What of a version lies in its job's first model, or in an upload, is one file.
#define COT_BYTES_OF_TENANTS                                                                                \
  "SELECT u.tenant AS tenant, u.digest AS digest, u.bytes AS bytes FROM upload u UNION "                    \
  "SELECT coalesce(t.tenant, 'default'), m.digest, m.bytes FROM model m LEFT JOIN tenancy t ON t.kind = 1 " \
  "AND t.name = m.job UNION "                                                                               \
  "SELECT coalesce(t.tenant, 'default'), m.exact, m.bytes FROM model m LEFT JOIN tenancy t ON t.kind = 1 "  \
  "AND t.name = m.job WHERE m.exact IS NOT NULL"

struct Counted {
  Quota quota;
  const char* by_tenant;  // rows of tenant and number
};

constexpr Counted kCounted[] = {
    {Quota::blob_bytes,
     "SELECT b.tenant, CAST(sum(b.bytes) AS BIGINT) FROM (" COT_BYTES_OF_TENANTS ") b GROUP BY b.tenant"},
    {Quota::uploads, "SELECT tenant, count(*) FROM upload GROUP BY tenant"},
    {Quota::jobs,
     "SELECT coalesce(t.tenant, 'default') AS owner, count(*) FROM job j LEFT JOIN tenancy t ON t.kind = 1 "
     "AND t.name = j.id WHERE j.deleted = 0 GROUP BY owner"},
    {Quota::admin_tokens, "SELECT tenant, count(*) FROM admin_token GROUP BY tenant"},
    {Quota::enrollment_tokens,
     "SELECT coalesce(t.tenant, 'default') AS owner, count(*) FROM token k LEFT JOIN tenancy t ON t.kind = 2 "
     "AND t.name = k.population GROUP BY owner"},
    {Quota::idempotency_keys, "SELECT tenant, count(*) FROM idempotency GROUP BY tenant"}};

}  // namespace

Result<uint64_t> SqlAdminStore::count_of(const char* sql, const std::string& tenant) {
  Statement row = database_.prepare(sql);
  row << tenant;
  COT_ASSIGN(const bool found, row.step());
  return found ? row.u64(0) : 0;
}

Status SqlAdminStore::note_upload(const UploadRecord& upload, const UploadRoom& room) {
  const std::lock_guard lock(mutex_);
  return database_.transaction(os::crash::note_upload, [&]() -> Status {
    COT_TRY(lock_tenant(database_, upload.tenant));
    Statement again = database_.prepare("UPDATE upload SET put = ? WHERE tenant = ? AND digest = ?");
    again << upload.put << upload.tenant << upload.digest;
    COT_TRY(again.run());
    if (database_.changes() > 0) return {};
    Statement insert = database_.prepare("INSERT INTO upload(tenant, digest, bytes, put) VALUES(?, ?, ?, ?)");
    insert << upload.tenant << upload.digest << upload.bytes << upload.put;
    COT_TRY(insert.run());
    COT_ASSIGN(const uint64_t uploads, count_of("SELECT count(*) FROM upload WHERE tenant = ?", upload.tenant));
    if (uploads > room.uploads) return over_quota(Quota::uploads, upload.tenant, room.uploads, uploads);
    COT_ASSIGN(uint64_t bytes, count_of("SELECT CAST(coalesce(sum(b.bytes), 0) AS BIGINT) FROM "
                                        "(" COT_BYTES_OF_TENANTS ") b WHERE b.tenant = ?",
                                        upload.tenant));
    COT_ASSIGN(const uint64_t deltas, delta_bytes_of(database_, upload.tenant));
    bytes += deltas;
    if (bytes > room.bytes) return over_quota(Quota::blob_bytes, upload.tenant, room.bytes, bytes);
    return {};
  });
}

Result<uint64_t> SqlAdminStore::forget_upload(const Digest& digest, WallTime put_before, const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  // Retention asks for each file that it removes, few of which anybody uploaded: a look waits for no writer.
  {
    Statement noted =
        database_.prepare("SELECT 1 FROM upload WHERE digest = ?1 AND put < ?2 AND (?3 = '' OR tenant = ?3) LIMIT 1");
    noted << digest << put_before << tenant;
    COT_ASSIGN(const bool is_noted, noted.step());
    if (!is_noted) return uint64_t{0};
  }
  Statement remove =
      database_.prepare("DELETE FROM upload WHERE digest = ?1 AND put < ?2 AND (?3 = '' OR tenant = ?3)");
  remove << digest << put_before << tenant;
  COT_TRY(os::crash_around(os::crash::forget_upload, [&] { return remove.run(); }));
  return static_cast<uint64_t>(database_.changes());
}

Result<std::vector<std::string>> SqlAdminStore::list_uploaders(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT tenant FROM upload WHERE digest = ? ORDER BY tenant");
  rows << digest;
  std::vector<std::string> tenants;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return tenants;
    tenants.push_back(rows.text(0));
  }
}

Result<std::vector<Digest>> SqlAdminStore::list_uploads(const Digest& after, size_t limit) {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT DISTINCT digest FROM upload WHERE digest > ? ORDER BY digest LIMIT ?");
  rows << after << static_cast<uint64_t>(limit);
  std::vector<Digest> uploads;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return uploads;
    uploads.push_back(rows.digest(0));
  }
}

Result<std::map<std::string, TenantUse>> SqlAdminStore::list_use() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, TenantUse> use;
  for (const Counted& counted : kCounted) {
    Statement rows = database_.prepare(counted.by_tenant);
    for (;;) {
      COT_ASSIGN(const bool more, rows.step());
      if (!more) break;
      if (rows.text(0) != kEveryTenant) use[rows.text(0)][counted.quota] = rows.u64(1);
    }
  }
  COT_ASSIGN(const auto deltas, delta_files_by_tenant(database_));
  for (const auto& [tenant, files] : deltas) {
    if (tenant != kEveryTenant) use[tenant][Quota::blob_bytes] += sum_of(files);
  }
  return use;
}

}  // namespace coterie
