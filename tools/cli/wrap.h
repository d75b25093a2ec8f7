// Text in lines that a terminal need not break. Pure.
#pragma once

#include <string>

namespace coterie {

// `text` in lines of at most `columns` columns, the second and later ones behind `indent` blanks. A longer word has a
// line of its own.
std::string wrapped(const std::string& text, int columns, int indent);

}  // namespace coterie
