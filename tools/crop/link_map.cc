#include "tools/crop/link_map.h"

#include <array>
#include <charconv>
#include <optional>

namespace coterie {
namespace {

constexpr size_t kOutputIndent = 1, kInputIndent = 9;  // blanks between the numbers and a name, of lld's

// "    VMA    LMA    Size Align Out     In      Symbol"
struct Line {
  uint64_t bytes = 0;
  size_t indent = 0;
  std::string_view name;
};

std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

// The next number of `line`, which loses it.
std::optional<uint64_t> take_number(std::string_view& line, int base) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, base);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  return number;
}

std::optional<Line> parse(std::string_view line) {
  const auto address = take_number(line, 16), load = take_number(line, 16), bytes = take_number(line, 16),
             alignment = take_number(line, 10);
  if (!address || !load || !bytes || !alignment) return std::nullopt;
  const size_t indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos) return std::nullopt;
  return Line{*bytes, indent, line.substr(indent)};
}

std::string_view behind_last(std::string_view text, char mark) { return text.substr(text.rfind(mark) + 1); }

// "/path/libx.a(object.o):(.section)"
LinkedPiece piece_of(const Line& line) {
  const size_t split = line.name.rfind(":(");
  std::string_view file = line.name.substr(0, split), section;
  if (split != std::string_view::npos) section = line.name.substr(split + 2);
  if (section.ends_with(')')) section.remove_suffix(1);
  LinkedPiece piece{.section = std::string(section), .bytes = line.bytes};
  const size_t member = file.ends_with(')') ? file.rfind('(') : std::string_view::npos;
  if (member != std::string_view::npos) {
    piece.library = behind_last(file.substr(0, member), '/');
    piece.object = file.substr(member + 1, file.size() - member - 2);
  } else {
    piece.object = behind_last(file, '/');
  }
  return piece;
}

// Zeroed memory, and what is no part of a stripped file.
bool takes_room(std::string_view output) {
  constexpr std::array<std::string_view, 6> kNone = {".bss",    ".tbss",    ".symtab",
                                                     ".strtab", ".comment", ".relro_padding"};
  for (const std::string_view name : kNone) {
    if (output.starts_with(name)) return false;
  }
  return !output.starts_with(".debug");
}

}  // namespace

Result<std::vector<LinkedPiece>> read_link_map(std::string_view text) {
  if (text.size() > kLinkMapBytesMax) return Error(ErrorCode::malformed, "the link map is larger than 64 MiB");
  const std::string_view title = next_line(text);
  if (title.find("VMA") == std::string_view::npos || !title.ends_with("Symbol")) {
    return Error(ErrorCode::malformed, "the link map is not one of lld's: it begins with no line of titles");
  }
  std::vector<LinkedPiece> pieces;
  bool counts = false;
  while (!text.empty()) {
    const std::optional<Line> line = parse(next_line(text));
    if (!line) continue;
    if (line->indent == kOutputIndent) counts = takes_room(line->name);
    else if (line->indent == kInputIndent && counts && line->bytes > 0) pieces.push_back(piece_of(*line));
  }
  return pieces;
}

}  // namespace coterie
