// The UCI handwritten digits, as a CSV file of 65 numbers a line: 64 pixels in [0, 16], and the digit.
#pragma once

#include <string_view>

#include "base/result.h"
#include "tools/data/labelled_images.h"

namespace coterie {

// Errors: malformed, with the number of the line.
Result<LabelledImages> parse_digits(std::string_view csv);

// The 1,797 digits that are built into this program (examples/digits).
LabelledImages built_in_digits();

}  // namespace coterie
