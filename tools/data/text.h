// A text as examples of what comes next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/data/example_table.h"

namespace coterie {

struct TextOptions {
  uint32_t length = 80;       // characters of an example
  bool is_last_only = false;  // the target is the one character behind the example, not the next one at each place
};

// The text cut into pieces of `length` characters (a shorter rest is left out). Input: int32 [length], the characters'
// numbers; target: int32 [length], those of the characters one further on, or int32, that behind the piece. A
// character's number is its place among the different characters of the text in the order of Unicode; classes: how many
// there are. Errors: malformed (not UTF-8), invalid_argument (shorter than one example).
Result<ExampleTable> text_table(std::string_view text, const std::string& name, const TextOptions& options);

}  // namespace coterie
