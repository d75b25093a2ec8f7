#include "fl_server/store/sql_delta_files.h"

#include "fl_server/records/delta_chain.h"

namespace coterie {

uint64_t sum_of(const DeltaFileSizes& sizes) {
  uint64_t bytes = 0;
  for (const auto& [file, size] : sizes) bytes += size;
  return bytes;
}

Result<uint64_t> delta_bytes_of(Database& database, const std::string& tenant) {
  Statement rows = database.prepare(
      "SELECT m.deltas FROM model m LEFT JOIN tenancy t ON t.kind = 1 AND t.name = m.job "
      "WHERE m.deltas IS NOT NULL AND coalesce(t.tenant, 'default') = ?");
  rows << tenant;
  DeltaFileSizes own;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return sum_of(own);
    COT_ASSIGN(const std::vector<DeltaFile> chain, decode_delta_chain(rows.blob(0)));
    for (const DeltaFile& delta : chain) own[delta.file] = delta.bytes;
  }
}

Result<std::map<std::string, DeltaFileSizes>> delta_files_by_tenant(Database& database) {
  Statement rows = database.prepare(
      "SELECT coalesce(t.tenant, 'default'), m.deltas FROM model m LEFT JOIN tenancy t ON t.kind = 1 "
      "AND t.name = m.job WHERE m.deltas IS NOT NULL");
  std::map<std::string, DeltaFileSizes> files;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return files;
    COT_ASSIGN(const std::vector<DeltaFile> chain, decode_delta_chain(rows.blob(1)));
    DeltaFileSizes& own = files[rows.text(0)];
    for (const DeltaFile& delta : chain) own[delta.file] = delta.bytes;
  }
}

}  // namespace coterie
