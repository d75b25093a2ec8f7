// Who says what in a play.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

struct SpokenPart {
  std::string speaker;
  std::string text;  // all that they say, speech behind speech, each with the line end behind it
};

// A line that ends with a colon, at the begin of the text or behind an empty line, says who speaks from the next line
// on (LEAF's and Karpathy's Shakespeare). The parts are in the order in which they begin to speak. Errors: malformed,
// where text stands before the first such line.
Result<std::vector<SpokenPart>> parts_of(std::string_view play);

}  // namespace coterie
