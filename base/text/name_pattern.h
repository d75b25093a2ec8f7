// Patterns for the names of parameters, as a shell has them for files.
#pragma once

#include <string_view>

namespace coterie {

// `*` stands for any characters, dots included, `?` for one; everything else for itself. The whole name must match.
bool name_matches(std::string_view pattern, std::string_view name);

}  // namespace coterie
