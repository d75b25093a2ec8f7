#include "tools/vertical/party_table.h"

#include <cmath>
#include <limits>
#include <optional>

#include "base/assert.h"
#include "tools/data/csv_rows.h"
#include "vertical/psi/id_set.h"

namespace coterie {
namespace {

// Takes a file's rows one by one, as all of them as texts would take several times the memory of the table.
class TableReader {
 public:
  TableReader(std::string_view text, LabelValues label_values) : text_(text), label_values_(label_values) {}

  Result<PartyTable> read(const std::string& id_column, const std::string& label_column) {
    CsvReader reader(text_);
    COT_TRY(read_header(reader, id_column, label_column));
    for (CsvRow row;;) {
      COT_ASSIGN(const bool has_more, reader.next(row));
      if (!has_more) break;
      COT_TRY(take(row));
    }
    if (ids_->size() == 0) return no_rows_below_header();
    COT_TRY(check_each_id_once());
    table_.ids = std::move(ids_);
    return std::move(table_);
  }

 private:
  Status read_header(CsvReader& reader, const std::string& id_column, const std::string& label_column) {
    CsvRow row;
    COT_ASSIGN(const bool has_header, reader.next(row));
    if (!has_header) return no_rows_below_header();
    COT_ASSIGN(header_, CsvHeader::make(std::move(row)));
    COT_ASSIGN(id_, header_->find(id_column));
    if (!label_column.empty()) {
      COT_ASSIGN(label_, header_->find(label_column));
      if (*label_ == id_) return Error(ErrorCode::invalid_argument, "column " + id_column + " is both id and label");
    }
    for (size_t column = 0; column < header_->columns().size(); ++column) {
      if (column != id_ && column != label_) table_.names.push_back(header_->columns()[column]);
    }
    table_.columns.resize(table_.names.size());
    return {};
  }

  Status take(const CsvRow& row) {
    const std::string& id = row.fields[id_];
    if (id.empty() || id.size() > vertical::kIdBytesMax) {
      return header_->error(row.line, id_, "must have 1 to " + std::to_string(vertical::kIdBytesMax) + " bytes");
    }
    ids_->push_back(id);
    size_t place = 0;
    for (size_t column = 0; column < row.fields.size(); ++column) {
      if (column == id_) continue;
      const bool is_label = column == label_;
      std::vector<float>& values = is_label ? table_.labels : table_.columns[place++];
      COT_ASSIGN(const float value, number_of(row, column, is_label));
      values.push_back(value);
    }
    return {};
  }

  Result<float> number_of(const CsvRow& row, size_t column, bool is_label) const {
    const std::string& field = row.fields[column];
    if (!is_label && is_missing(field)) return std::numeric_limits<float>::quiet_NaN();
    const std::optional<double> number = number_in(field);
    if (!number || !std::isfinite(static_cast<float>(*number))) {
      return header_->error(row.line, column, "must be a finite number");
    }
    const bool is_binary = is_label && label_values_ == LabelValues::binary;
    if (is_binary && *number != 0 && *number != 1) return header_->error(row.line, column, "a label must be 0 or 1");
    return static_cast<float>(*number);
  }

  Status check_each_id_once() const {
    const std::vector<uint32_t> order = vertical::rows_by_id(*ids_);
    std::optional<uint32_t> again, before;
    for (size_t i = 1; i < order.size(); ++i) {
      const bool is_first = !again || order[i] < *again;
      if (!is_first || (*ids_)[order[i - 1]] != (*ids_)[order[i]]) continue;
      again = order[i];
      before = order[i - 1];
    }
    if (!again) return {};
    return header_->error(line_of(*again), id_,
                          "this id was there before, in row " + std::to_string(*before + 1) + " below the header");
  }

  // Read again: lines are not kept for an error that is seldom.
  size_t line_of(uint32_t row) const {
    CsvReader reader(text_);
    CsvRow found;
    // The header is one more.
    for (uint32_t i = 0; i < row + 2; ++i) {
      const Result<bool> has_more = reader.next(found);
      COT_ASSERT(has_more && *has_more);
    }
    return found.line;
  }

  std::string_view text_;
  LabelValues label_values_;
  std::optional<CsvHeader> header_;
  size_t id_ = 0;
  std::optional<size_t> label_;
  std::shared_ptr<vertical::IdList> ids_ = std::make_shared<vertical::IdList>();
  PartyTable table_;
};

}  // namespace

Result<PartyTable> parse_party_table(std::string_view text, const std::string& file, const std::string& id_column,
                                     const std::string& label_column, LabelValues values) {
  Result<PartyTable> table = TableReader(text, values).read(id_column, label_column);
  if (!table) return table.error().with_context(file);
  return table;
}

std::vector<std::vector<float>> rows_of(const std::vector<std::vector<float>>& columns,
                                        const std::vector<uint32_t>& rows) {
  std::vector<std::vector<float>> chosen;
  chosen.reserve(columns.size());
  for (const std::vector<float>& column : columns) {
    std::vector<float>& values = chosen.emplace_back();
    values.reserve(rows.size());
    for (const uint32_t row : rows) values.push_back(column[row]);
  }
  return chosen;
}

}  // namespace coterie
