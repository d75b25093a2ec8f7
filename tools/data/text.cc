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

Result<std::u32string> characters_of(std::string_view text) {
  std::u32string characters;
  for (size_t at = 0; at < text.size();) {
    COT_ASSIGN(const char32_t character, next_character(text, at));
    characters.push_back(character);
  }
  return characters;
}

std::string utf8_of(char32_t character) {
  const auto byte = [](char32_t value) { return static_cast<char>(static_cast<uint8_t>(value)); };
  const auto rest = [&](int shift) { return byte(0x80 | ((character >> shift) & 0x3f)); };
  if (character < 0x80) return {byte(character)};
  if (character < 0x800) return {byte(0xc0 | (character >> 6)), rest(0)};
  if (character < 0x10000) return {byte(0xe0 | (character >> 12)), rest(6), rest(0)};
  return {byte(0xf0 | (character >> 18)), rest(12), rest(6), rest(0)};
}

}  // namespace

Result<std::u32string> alphabet_of(std::string_view text) {
  COT_ASSIGN(std::u32string alphabet, characters_of(text));
  std::sort(alphabet.begin(), alphabet.end());
  alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
  return alphabet;
}

std::vector<std::string> names_of(std::u32string_view alphabet) {
  std::vector<std::string> names;
  for (const char32_t character : alphabet) names.push_back(utf8_of(character));
  return names;
}

Result<std::u32string> alphabet_from(std::span<const std::string> names) {
  std::u32string alphabet;
  for (const std::string& name : names) {
    COT_ASSIGN(const std::u32string one, characters_of(name));
    if (one.size() != 1 || (!alphabet.empty() && one[0] <= alphabet.back())) {
      return Error(ErrorCode::malformed,
                   "the classes of a text are its characters, each once, in the order of Unicode");
    }
    alphabet += one;
  }
  return alphabet;
}

Result<ExampleTable> text_table(std::string_view text, const std::string& name, const TextOptions& options) {
  COT_ASSIGN(const std::u32string characters, characters_of(text));
  const size_t length = options.length;
  if (characters.size() <= length) {
    return Error(ErrorCode::invalid_argument, "has " + std::to_string(characters.size()) +
                                                  " characters, one example takes " + std::to_string(length + 1));
  }
  std::u32string alphabet = options.alphabet;
  if (alphabet.empty()) {
    COT_ASSIGN(alphabet, alphabet_of(text));
  }
  std::vector<int32_t> numbers;
  numbers.reserve(characters.size());
  for (const char32_t character : characters) {
    const auto place = std::lower_bound(alphabet.begin(), alphabet.end(), character);
    if (place == alphabet.end() || *place != character) {
      return Error(ErrorCode::invalid_argument, "has the character \"" + utf8_of(character) +
                                                    "\", which is none of the " + std::to_string(alphabet.size()) +
                                                    " of its contract");
    }
    numbers.push_back(static_cast<int32_t>(place - alphabet.begin()));
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
      .classes = static_cast<uint32_t>(alphabet.size())};
  table.columns = {column_of(std::vector<int32_t>(begin, end)), column_of(targets)};
  return table;
}

}  // namespace coterie
