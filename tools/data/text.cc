#include "tools/data/text.h"

#include <algorithm>
#include <vector>

namespace coterie {
namespace {

// The character that begins at text[at], which is moved behind it (RFC 3629: the shortest form, no surrogates).
Result<char32_t> next_character(std::string_view text, size_t& at) {
  const size_t begin = at;
  const auto first = static_cast<uint8_t>(text[at++]);
  if (first < 0x80) return static_cast<char32_t>(first);
  const size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  auto character = static_cast<char32_t>(first & (0x3f >> more));
  bool is_valid = first >= 0xc2 && first <= 0xf4 && begin + more < text.size();
  for (size_t i = 0; is_valid && i < more; ++i) {
    const auto byte = static_cast<uint8_t>(text[at++]);
    is_valid = (byte & 0xc0) == 0x80;
    character = (character << 6) | (byte & 0x3f);
  }
  constexpr char32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  is_valid =
      is_valid && character >= kSmallest[more] && character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
  if (!is_valid) return Error(ErrorCode::malformed, "is not UTF-8 at byte " + std::to_string(begin));
  return character;
}

}  // namespace

Result<ExampleTable> text_table(std::string_view text, const std::string& name, const TextOptions& options) {
  std::vector<char32_t> characters;
  for (size_t at = 0; at < text.size();) {
    COT_ASSIGN(const char32_t character, next_character(text, at));
    characters.push_back(character);
  }
  const size_t length = options.length;
  if (characters.size() <= length) {
    return Error(ErrorCode::invalid_argument, "has " + std::to_string(characters.size()) +
                                                  " characters, one example takes " + std::to_string(length + 1));
  }
  std::vector<char32_t> vocabulary = characters;
  std::sort(vocabulary.begin(), vocabulary.end());
  vocabulary.erase(std::unique(vocabulary.begin(), vocabulary.end()), vocabulary.end());
  std::vector<int32_t> numbers;
  numbers.reserve(characters.size());
  for (const char32_t character : characters) {
    const auto place = std::lower_bound(vocabulary.begin(), vocabulary.end(), character);
    numbers.push_back(static_cast<int32_t>(place - vocabulary.begin()));
  }

  ExampleTable table;
  const size_t examples = (numbers.size() - 1) / length;
  const auto begin = numbers.begin();
  const auto end = begin + static_cast<ptrdiff_t>(examples * length);
  std::vector<int32_t> targets(begin + 1, end + 1);
  if (options.is_last_only) {
    for (size_t i = 0; i < examples; ++i) targets[i] = targets[(i + 1) * length - 1];
    targets.resize(examples);
  }
  const Shape piece{static_cast<int64_t>(length)};
  table.header = {
      .name = name,
      .examples = examples,
      .inputs = {{.name = "characters", .type = ColumnType::int32, .shape = piece}},
      .target = {.name = "next", .type = ColumnType::int32, .shape = options.is_last_only ? Shape{} : piece},
      .classes = static_cast<uint32_t>(vocabulary.size())};
  table.columns = {column_of(std::vector<int32_t>(begin, end)), column_of(targets)};
  return table;
}

}  // namespace coterie
