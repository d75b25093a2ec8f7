// Numbers as C99 writes them, the same whatever the locale.
#pragma once

#include <span>
#include <string>

#include "proto/messages/model.h"

namespace coterie {

// A hexadecimal constant: exactly this float. The value is finite.
std::string float_text(float value);
// Six a line, each behind a comma.
std::string list_text(std::span<const float> values);
// "3 x 3 x 1 x 8".
std::string sizes_text(const Shape& shape);

}  // namespace coterie
