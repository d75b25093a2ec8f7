// JPEG and PNG files as a test wants them, of one colour a half: the left one, then the right one.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace coterie::test {

// As the libraries take it: grey (1) or red, green and blue (3); a PNG also with alpha behind (4).
struct Halves {
  uint32_t height = 4;
  uint32_t width = 8;
  Bytes left;
  Bytes right;
};

Bytes png_file(const Halves& halves);
Bytes jpeg_file(const Halves& halves);
Bytes progressive_jpeg_file(const Halves& halves);

}  // namespace coterie::test
