#include "tools/cli/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "base/assert.h"
#include "tools/cli/terminal.h"

namespace coterie {

namespace {

// Marks, embeddings, overrides and isolates of the Unicode bidirectional algorithm (UAX 9): they turn the text around
// them. So do separators of lines and of paragraphs, which end one.
constexpr std::string_view kTurning[] = {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b",
                                         "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"};

bool is_turning(std::string_view character) { return std::ranges::find(kTurning, character) != std::end(kTurning); }

// Bytes of the character that the text begins with; 0: it is none (of UTF-8, RFC 3629), or one that commands a
// terminal.
size_t printable_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xf5 || first < 0xc2 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_too_long = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_no_character = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  const bool is_control = first == 0xc2 && byte(1) < 0xa0;
  return is_too_long || is_no_character || is_control || is_turning(text.substr(0, length)) ? 0 : length;
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  COT_ASSERT(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const { return text_of(rows_); }

std::string Table::text_within(int columns) const {
  constexpr int kNameColumnsMin = 8;
  int beside = 0;
  for (size_t i = 1; i < columns_.size(); ++i) {
    int width = width_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    beside += 2 + width;
  }
  auto rows = rows_;
  for (auto& row : rows) row[0] = shortened_in_middle(row[0], std::max(kNameColumnsMin, columns - beside));
  return text_of(rows);
}

std::string Table::text_of(const std::vector<std::vector<std::string>>& rows) const {
  std::vector<int> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  const auto add_line = [&](const auto& cell_at) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_at(i);
      const std::string blanks(static_cast<size_t>(widths[i] - width_of(cell)), ' ');
      line += i == 0 ? "" : "  ";
      line += columns_[i].align == Align::right ? blanks + cell : cell + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows) add_line([&](size_t i) -> const std::string& { return row[i]; });
  return text;
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (size_t i = 0; i < result.size();) {
    const size_t length = printable_length(text.substr(i));
    if (length == 0) result[i] = '?';
    i += std::max<size_t>(1, length);
  }
  return result;
}

std::string shortened(std::string_view text, int columns) {
  std::string clean = printable(text);
  return width_of(clean) <= columns ? clean : fit(clean, columns - 2) + "..";
}

std::string shortened_in_middle(std::string_view text, int columns) {
  const std::string clean = printable(text);
  if (width_of(clean) <= columns) return clean;
  const int front = (columns - 2) / 2;
  std::string_view back = clean;
  while (width_of(std::string(back)) > columns - 2 - front) back.remove_prefix(printable_length(back));
  return fit(clean, front) + ".." + std::string(back);
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=@%+,";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string format_digits(double value) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string format_fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "-";
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string format_percent(double ratio) { return std::isfinite(ratio) ? format_fixed(ratio * 100, 1) + " %" : "-"; }

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 10) return format_fixed(seconds, 2) + " s";
  if (seconds < 100) return format_fixed(seconds, 1) + " s";
  const auto whole = static_cast<long>(std::lround(seconds));
  char text[40];
  if (whole < 3600) std::snprintf(text, sizeof text, "%ld min %02ld s", whole / 60, whole % 60);
  else std::snprintf(text, sizeof text, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
  return text;
}

std::string format_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return format_fixed(value, unit == 0 || value >= 100 ? 0 : 1) + " " + kUnits[unit];
}

std::string format_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string counted(uint64_t count, const std::string& noun) {
  return format_count(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace coterie
