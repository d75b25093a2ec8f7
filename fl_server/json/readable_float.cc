#include "fl_server/json/readable_float.h"

#include <charconv>

namespace coterie {

double readable(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double wide = static_cast<double>(value);
  std::from_chars(text, end, wide);
  return wide;
}

}  // namespace coterie
