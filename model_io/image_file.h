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
// A progressive JPEG goes over all pixels with each scan: a few bytes of scans would keep a thread for minutes.
inline constexpr int kJpegScansMax = 100;
// libpng inflates all texts before the pixels, 8 MB each of 8 KB: a small file would fill the memory.
inline constexpr size_t kPngTextsMax = 16;

// Which of the two it is is told from its first bytes. Grey becomes colour; what is transparent in a PNG, white; 16
// bits become 8; a note about the orientation (EXIF) is not heeded. Errors: malformed (neither, damaged, cut off, more
// than kJpegScansMax scans or kPngTextsMax zTXt and iTXt chunks; with the library's words), too_large (more than
// `pixels_max`, found out before they are allocated).
Result<Picture> decode_image(ByteView file, uint64_t pixels_max = kPicturePixelsMax);

Result<Picture> decode_jpeg(ByteView file, uint64_t pixels_max = kPicturePixelsMax);
Result<Picture> decode_png(ByteView file, uint64_t pixels_max = kPicturePixelsMax);

// Errors: too_large (no pixels, or more than the library takes).
Result<Bytes> encode_png(const Picture& picture);

// A picture of the right size, or too_large.
Result<Picture> blank_picture(uint64_t height, uint64_t width, uint64_t pixels_max = kPicturePixelsMax);

}  // namespace coterie
