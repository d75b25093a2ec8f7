// Table: rows of text in aligned columns, and numbers as people like them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coterie {

class Table {
 public:
  enum class Align : uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns. What a server sends may hold control characters; they are shown as '?'.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Title line and rows, two blanks between columns, no blanks at the end of a line.
  std::string text() const;
  // The same in at most so many columns: what is too long in the first column is cut in the middle, as endings tell
  // names apart, down to 8 columns where the others leave no more.
  std::string text_within(int columns) const;

 private:
  std::string text_of(const std::vector<std::vector<std::string>>& rows) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` with control characters (C0, C1, DEL), those that turn text around (right-to-left overrides and the like) and
// what is not UTF-8 as '?', so that it can neither move the cursor of whoever prints it nor pass for another text.
std::string printable(std::string_view text);

// The same in at most so many columns (2 or more), with ".." for what is cut off.
std::string shortened(std::string_view text, int columns);

// Likewise, with what is cut off in the middle: endings tell names of a model's tensors apart.
std::string shortened_in_middle(std::string_view text, int columns);

// `text` as one word of a shell command, quoted if it has to be.
std::string shell_word(const std::string& text);

std::string format_digits(double value);                       // 1234, 0.0125: four that count; likewise
std::string format_fixed(double value, int decimals);          // 0.5000; "-" unless it is finite
std::string format_percent(double ratio);                      // 0.9722 -> "97.2 %"
std::string format_seconds(double seconds);                    // "0.42 s", "12.3 s", "3 min 05 s"
std::string format_bytes(uint64_t bytes);                      // "512 B", "148 KiB", "1.2 MiB"
std::string format_count(uint64_t count);                      // "1,437"
std::string counted(uint64_t count, const std::string& noun);  // "1 device", "1,437 devices"

}  // namespace coterie
