#include "tools/data/table_column.h"

#include "base/bytes.h"
#include "tools/data/csv_rows.h"
#include "tools/data/packed_file.h"

namespace coterie {
namespace {

constexpr uint64_t kFileBytesMax = 1ull << 30;  // of the file, and of what it unpacks to

Result<std::vector<std::string>> fields_of(std::string_view text, const std::string& column) {
  COT_ASSIGN(const CsvRows rows, CsvRows::parse(text));
  COT_ASSIGN(const size_t place, rows.find(column));
  std::vector<std::string> fields;
  for (size_t row = 0; row < rows.size(); ++row) fields.push_back(rows.field(row, place));
  return fields;
}

}  // namespace

Result<std::vector<std::string>> read_column(const std::string& path, const std::string& column) {
  COT_ASSIGN(const Bytes file, read_unpacked(path, kFileBytesMax));
  Result<std::vector<std::string>> fields = fields_of(as_text(file), column);
  if (!fields) return fields.error().with_context(path);
  return fields;
}

}  // namespace coterie
