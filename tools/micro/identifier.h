// Names of a model as C: identifiers, and words within comments. A model's names come from strangers.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace coterie {

inline constexpr size_t kMicroIdentifierMax = 48;  // characters; C99 promises 31 significant ones across files

// [a-z][a-z0-9_]*, at most 31 characters and what is said here: letters become small, anything else `_`, several `_`
// one. What begins with no letter gets "model_" in front; nothing left is "model"; a header of C or of a C library gets
// "_model" behind, and so does a device of Windows. It names the files and begins every name that others see.
std::string micro_prefix(std::string_view name);

// What a comment may show of a name: letters, digits and `_.:-`, at most 64 characters; anything else is `_`. So no
// comment ends early, and no line is continued.
std::string micro_comment(std::string_view name);

// Identifiers within one file, each once. Not thread-safe.
class MicroNames {
 public:
  // As micro_prefix, with capitals kept, and with a number behind it where it was given before.
  std::string unique(std::string_view name);

 private:
  std::set<std::string> given_;
};

}  // namespace coterie
