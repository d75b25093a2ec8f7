#include "fl_server/store/sql_disk_use.h"

#include <algorithm>

#include "fl_server/store/schema.h"
#include "fl_server/store/sql_delta_files.h"

namespace coterie {
namespace {

constexpr Millis kGoodFor{60'000};

struct Counted {
  std::string_view name;
  const char* sql;
};

constexpr Counted kTables[] = {
    {"jobs", "SELECT count(*) FROM job"},        {"rounds", "SELECT count(*) FROM round"},
    {"accepted", "SELECT count(*) FROM accept"}, {"partials", "SELECT count(*) FROM partial"},
    {"ledger", "SELECT count(*) FROM ledger"},   {"audit", "SELECT count(*) FROM audit"},
    {"devices", "SELECT count(*) FROM device"},  {"idempotency_keys", "SELECT count(*) FROM idempotency"}};

// Versions with the same bytes have one file, and so has what they were rounded from.
constexpr const char* kModels =
    "SELECT count(*), CAST(coalesce((SELECT sum(f.bytes) FROM (SELECT digest, bytes FROM model UNION "
    "SELECT exact, bytes FROM model WHERE exact IS NOT NULL) f), 0) AS BIGINT) FROM model";
// Those that still have a file.
constexpr const char* kAuditSegments =
    "SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM audit_segment WHERE blob IS NOT NULL";
constexpr const char* kSqliteBytes = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
constexpr const char* kPostgresBytes =
    "SELECT CAST(sum(pg_total_relation_size(oid)) AS BIGINT) FROM pg_class "
    "WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

}  // namespace

Result<std::unique_ptr<SqlDiskUse>> SqlDiskUse::open(Result<Database> opened) {
  COT_ASSIGN(Database database, std::move(opened));
  COT_TRY(prepare_schema(database));
  return std::unique_ptr<SqlDiskUse>(new SqlDiskUse(std::move(database)));
}

Result<DiskUse> SqlDiskUse::read(Instant now) {
  const std::lock_guard lock(mutex_);
  if (const std::optional<DiskUse> known = last(); known && now - counted_at_ < kGoodFor) return *known;
  COT_ASSIGN(DiskUse use, count());
  counted_at_ = now;
  const std::lock_guard last_lock(last_mutex_);
  last_ = use;
  return use;
}

std::optional<DiskUse> SqlDiskUse::last() const {
  const std::lock_guard lock(last_mutex_);
  return last_;
}

Result<DiskUse> SqlDiskUse::count() {
  DiskUse use;
  for (const Counted& table : kTables) {
    Statement row = database_.prepare(table.sql);
    COT_ASSIGN(const bool found, row.step());
    use.kinds.push_back({table.name, found ? row.u64(0) : 0, std::nullopt});
  }
  for (const Counted& files : {Counted{"models", kModels}, Counted{"audit_segments", kAuditSegments}}) {
    Statement row = database_.prepare(files.sql);
    COT_ASSIGN(const bool found, row.step());
    use.kinds.push_back({files.name, found ? row.u64(0) : 0, found ? row.u64(1) : 0});
  }
  COT_ASSIGN(const auto deltas, delta_files_by_tenant(database_));
  DeltaFileSizes files;
  for (const auto& [tenant, own] : deltas) files.insert(own.begin(), own.end());
  const auto models = std::ranges::find(use.kinds, std::string_view("models"), &DiskUse::Kind::name);
  if (models != use.kinds.end() && models->bytes) *models->bytes += sum_of(files);
  Statement row = database_.prepare(database_.engine() == SqlEngine::sqlite ? kSqliteBytes : kPostgresBytes);
  COT_ASSIGN(const bool found, row.step());
  use.kinds.push_back({"database", std::nullopt, found && !row.is_null(0) ? row.u64(0) : 0});
  return use;
}

}  // namespace coterie
