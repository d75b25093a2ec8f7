// "Did you mean": the word that a mistyped one was meant to be. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coterie {

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other (optimal
// string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `words`, if it is near enough to be a typing mistake (at most a third of its letters, at
// least one) or begins with `typed`; else "".
std::string closest_word(std::string_view typed, const std::vector<std::string>& words);

// The end of a sentence that says that there is no `typed`: ". Did you mean `list`?", or ".".
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words);

// The same behind half of a sentence: "; did you mean `list`?", or nothing.
std::string or_meant(std::string_view typed, const std::vector<std::string>& words);

// "pause, resume, cancel"
std::string listed(const std::vector<std::string>& words);

}  // namespace coterie
