#include "tools/data/csv_reader.h"

#include <algorithm>

namespace coterie {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBlanks = " \t";

// Reads field after field; `text` is what is left.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  bool at_end() const { return text_.empty(); }
  size_t line() const { return line_; }

  // The next field, and the comma or the line end behind it.
  Result<std::string> field() {
    skip_blanks();
    std::string value;
    if (text_.starts_with('"')) {
      COT_ASSIGN(value, quoted());
    } else {
      std::string_view bare = text_.substr(0, text_.find_first_of(",\r\n"));
      text_.remove_prefix(bare.size());
      bare = bare.substr(0, bare.find_last_not_of(kBlanks) + 1);
      value = bare;
    }
    COT_TRY(separator());
    return value;
  }
  bool row_ended() const { return row_ended_; }

 private:
  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(kBlanks), text_.size())); }

  Error error(const std::string& what) const {
    return Error(ErrorCode::malformed, "line " + std::to_string(line_) + ": " + what);
  }

  Result<std::string> quoted() {
    const Error unclosed = error("the quotes that open here do not close");
    std::string value;
    for (text_.remove_prefix(1); !text_.empty();) {
      const char c = text_[0];
      if (c == '"' && !text_.starts_with("\"\"")) {
        text_.remove_prefix(1);
        skip_blanks();
        return value;
      }
      line_ += c == '\n';
      value += c;
      text_.remove_prefix(c == '"' ? 2 : 1);
    }
    return unclosed;
  }

  Status separator() {
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

  std::string_view text_;
  size_t line_ = 1;
  bool row_ended_ = false;
};

}  // namespace

Result<std::vector<CsvRow>> parse_csv(std::string_view text) {
  std::vector<CsvRow> rows;
  Scanner scanner(text);
  while (!scanner.at_end()) {
    CsvRow row{.line = scanner.line(), .fields = {}};
    do {
      COT_ASSIGN(std::string field, scanner.field());
      row.fields.push_back(std::move(field));
    } while (!scanner.row_ended());
    if (row.fields.size() == 1 && row.fields[0].empty()) continue;
    if (!rows.empty() && row.fields.size() != rows[0].fields.size()) {
      return Error(ErrorCode::malformed, "line " + std::to_string(row.line) + ": has " +
                                             std::to_string(row.fields.size()) + " fields, expected " +
                                             std::to_string(rows[0].fields.size()));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace coterie
