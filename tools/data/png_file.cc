// PNG through libpng's simplified API, which keeps its longjmp to itself.
#include <png.h>

#include <string>

#include "tools/data/image_file.h"

namespace coterie {
namespace {

struct Reader {
  png_image image{};
  Reader() { image.version = PNG_IMAGE_VERSION; }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_image_free(&image); }

  Error error() const { return Error(ErrorCode::malformed, std::string("is a damaged PNG file: ") + image.message); }
};

}  // namespace

Result<Picture> decode_png(ByteView file) {
  Reader reader;
  if (png_image_begin_read_from_memory(&reader.image, file.data(), file.size()) == 0) return reader.error();
  COT_ASSIGN(Picture picture, blank_picture(reader.image.height, reader.image.width));
  reader.image.format = PNG_FORMAT_RGB;
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&reader.image, &white, picture.pixels.data(), 0, nullptr) == 0) return reader.error();
  return picture;
}

}  // namespace coterie
