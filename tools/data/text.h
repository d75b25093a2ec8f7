// A text as examples of what comes next.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/data/example_table.h"

namespace coterie {

struct TextOptions {
  uint32_t length = 80;          // characters of an example
  bool is_last_only = false;     // the target is the one character behind the example, not the next one at each place
  std::u32string alphabet = {};  // whose places are the characters' numbers; empty: the text's own
};

// The different characters of a text, in the order of Unicode. Errors: malformed (not UTF-8).
Result<std::u32string> alphabet_of(std::string_view text);
// Each of its characters as UTF-8, as an input contract names classes, and back. Errors: malformed (not one character
// each, or in another order).
std::vector<std::string> names_of(std::u32string_view alphabet);
Result<std::u32string> alphabet_from(std::span<const std::string> names);

// The text cut into pieces of `length` characters (a shorter rest is left out). Input: int32 [length], the characters'
// numbers; target: int32 [length], those of the characters one further on, or int32, that behind the piece. A
// character's number is its place in the alphabet; classes: how many there are. Errors: malformed (not UTF-8),
// invalid_argument (shorter than one example, a character that the alphabet does not have).
Result<ExampleTable> text_table(std::string_view text, const std::string& name, const TextOptions& options);

}  // namespace coterie
