#include "tools/data/csv_reader.h"

#include <algorithm>

namespace coterie {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBlanks = " \t";

}  // namespace

CsvReader::CsvReader(std::string_view text) : text_(text) {
  if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
}

Result<bool> CsvReader::next(CsvRow& row) {
  while (!text_.empty()) {
    row.line = line_;
    size_t count = 0;
    do {
      if (count == row.fields.size()) row.fields.emplace_back();
      COT_TRY(read_field(row.fields[count++]));
    } while (!row_ended_);
    row.fields.resize(count);
    if (count == 1 && row.fields[0].empty()) continue;
    if (fields_ == 0) fields_ = count;
    if (count == fields_) return true;
    return Error(ErrorCode::malformed, "line " + std::to_string(row.line) + ": has " + std::to_string(count) +
                                           " fields, expected " + std::to_string(fields_));
  }
  return false;
}

Status CsvReader::read_field(std::string& value) {
  skip_blanks();
  if (text_.starts_with('"')) {
    COT_TRY(read_quoted(value));
  } else {
    std::string_view bare = text_.substr(0, text_.find_first_of(",\r\n"));
    text_.remove_prefix(bare.size());
    bare = bare.substr(0, bare.find_last_not_of(kBlanks) + 1);
    value = bare;
  }
  return read_separator();
}

Status CsvReader::read_quoted(std::string& value) {
  const size_t opened = line_;
  value.clear();
  for (text_.remove_prefix(1); !text_.empty();) {
    const char c = text_[0];
    if (c == '"' && !text_.starts_with("\"\"")) {
      text_.remove_prefix(1);
      skip_blanks();
      return {};
    }
    line_ += c == '\n';
    value += c;
    text_.remove_prefix(c == '"' ? 2 : 1);
  }
  line_ = opened;
  return error("the quotes that open here do not close");
}

Status CsvReader::read_separator() {
  row_ended_ = !text_.starts_with(',');
  if (text_.starts_with(',')) {
    text_.remove_prefix(1);
  } else if (text_.starts_with("\r\n") || text_.starts_with('\n')) {
    text_.remove_prefix(text_[0] == '\r' ? 2 : 1);
    ++line_;
  } else if (!text_.empty() && text_ != "\r") {
    return error("expected a comma or the line's end behind a field");
  } else {
    text_ = {};
  }
  return {};
}

void CsvReader::skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(kBlanks), text_.size())); }

Error CsvReader::error(const std::string& what) const {
  return Error(ErrorCode::malformed, "line " + std::to_string(line_) + ": " + what);
}

Result<std::vector<CsvRow>> parse_csv(std::string_view text) {
  std::vector<CsvRow> rows;
  CsvReader reader(text);
  for (CsvRow row;;) {
    COT_ASSIGN(const bool has_more, reader.next(row));
    if (!has_more) return rows;
    rows.push_back(row);
  }
}

}  // namespace coterie
