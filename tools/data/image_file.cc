#include "tools/data/image_file.h"

#include <algorithm>
#include <string>

namespace coterie {
namespace {

constexpr uint8_t kJpegMagic[] = {0xff, 0xd8, 0xff};
constexpr uint8_t kPngMagic[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

bool starts_with(ByteView file, ByteView magic) {
  return file.size() >= magic.size() && std::equal(magic.begin(), magic.end(), file.begin());
}

}  // namespace

Result<Picture> decode_image(ByteView file) {
  if (starts_with(file, kJpegMagic)) return decode_jpeg(file);
  if (starts_with(file, kPngMagic)) return decode_png(file);
  return Error(ErrorCode::malformed, "is neither a JPEG nor a PNG file");
}

Result<Picture> blank_picture(uint64_t height, uint64_t width) {
  if (height * width > kPicturePixelsMax) {
    return Error(ErrorCode::too_large,
                 "has " + std::to_string(height) + " x " + std::to_string(width) + " pixels, at most 2^26 are read");
  }
  return Picture{static_cast<uint32_t>(height), static_cast<uint32_t>(width), Bytes(height * width * 3)};
}

}  // namespace coterie
