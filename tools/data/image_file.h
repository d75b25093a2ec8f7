// JPEG and PNG files as pixels, and pixels as a PNG file.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

struct Picture {
  uint32_t height = 0;
  uint32_t width = 0;
  Bytes pixels;  // red, green, blue of one pixel after the other, row by row from the top
};

inline constexpr uint64_t kPicturePixelsMax = 1 << 26;  // 192 MiB

// Which of the two it is is told from its first bytes. Grey becomes colour; what is transparent in a PNG, white; 16
// bits become 8; a note about the orientation (EXIF) is not heeded. Errors: malformed (neither, damaged, or cut off;
// with the library's words), too_large (more than kPicturePixelsMax, found out before they are allocated).
Result<Picture> decode_image(ByteView file);

Result<Picture> decode_jpeg(ByteView file);
Result<Picture> decode_png(ByteView file);

// Errors: too_large (no pixels, or more than the library takes).
Result<Bytes> encode_png(const Picture& picture);

// A picture of the right size, or too_large.
Result<Picture> blank_picture(uint64_t height, uint64_t width);

}  // namespace coterie
