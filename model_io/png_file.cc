// PNG through libpng's simplified API, which keeps its longjmp to itself.
#include <png.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "model_io/image_file.h"

namespace coterie {
namespace {

// libpng's memory behind an image.
struct Held {
  png_image image{};
  Held() { image.version = PNG_IMAGE_VERSION; }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { png_image_free(&image); }

  Error error() const { return Error(ErrorCode::malformed, std::string("is a damaged PNG file: ") + image.message); }
};

// Chunks before the pixels that may hold a deflated text.
size_t texts_in(ByteView file) {
  constexpr size_t kMagicBytes = 8, kLengthBytes = 4, kNameBytes = 4, kSumBytes = 4;
  constexpr size_t kChunkBytes = kLengthBytes + kNameBytes + kSumBytes;  // beside its data
  size_t texts = 0;
  file = file.subspan(std::min(file.size(), kMagicBytes));
  while (file.size() >= kChunkBytes) {
    uint32_t length = 0;
    for (size_t i = 0; i < kLengthBytes; ++i) length = length << 8 | file[i];
    const std::string_view name = as_text(file.subspan(kLengthBytes, kNameBytes));
    if (name == "IDAT") break;
    texts += name == "zTXt" || name == "iTXt";
    file = file.subspan(std::min<size_t>(file.size(), kChunkBytes + size_t{length}));
  }
  return texts;
}

}  // namespace

Result<Picture> decode_png(ByteView file, uint64_t pixels_max) {
  if (texts_in(file) > kPngTextsMax) {
    return Error(ErrorCode::malformed, "is a PNG file of more than " + std::to_string(kPngTextsMax) +
                                           " zTXt and iTXt chunks: save it without texts");
  }
  Held reader;
  if (png_image_begin_read_from_memory(&reader.image, file.data(), file.size()) == 0) return reader.error();
  COT_ASSIGN(Picture picture, blank_picture(reader.image.height, reader.image.width, pixels_max));
  reader.image.format = PNG_FORMAT_RGB;
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&reader.image, &white, picture.pixels.data(), 0, nullptr) == 0) return reader.error();
  return picture;
}

Result<Bytes> encode_png(const Picture& picture) {
  Held writer;
  writer.image.width = picture.width;
  writer.image.height = picture.height;
  writer.image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  const auto write = [&](void* to) {
    return png_image_write_to_memory(&writer.image, to, &size, 0, picture.pixels.data(), 0, nullptr) != 0;
  };
  if (!write(nullptr)) return Error(ErrorCode::too_large, std::string("cannot be a PNG file: ") + writer.image.message);
  Bytes file(size);
  if (!write(file.data()))
    return Error(ErrorCode::too_large, std::string("cannot be a PNG file: ") + writer.image.message);
  file.resize(size);
  return file;
}

}  // namespace coterie
