#include "model_io/image_file.h"

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

Result<Picture> decode_image(ByteView file, uint64_t pixels_max) {
  if (starts_with(file, kJpegMagic)) return decode_jpeg(file, pixels_max);
  if (starts_with(file, kPngMagic)) return decode_png(file, pixels_max);
  return Error(ErrorCode::malformed, "is neither a JPEG nor a PNG file");
}

Result<Picture> blank_picture(uint64_t height, uint64_t width, uint64_t pixels_max) {
  if (height * width > pixels_max) {
    return Error(ErrorCode::too_large, "has " + std::to_string(height) + " x " + std::to_string(width) +
                                           " pixels, at most " + std::to_string(pixels_max) + " are read");
  }
  return Picture{static_cast<uint32_t>(height), static_cast<uint32_t>(width), Bytes(height * width * 3)};
}

}  // namespace coterie
