#include "tests/unit/tools/image_files.h"

#include <cstdio>  // jpeglib.h names FILE
#include <cstdlib>

#include <jpeglib.h>
#include <png.h>

#include "base/assert.h"

namespace coterie::test {
namespace {

Bytes pixels_of(const Halves& halves) {
  Bytes pixels;
  for (uint32_t y = 0; y < halves.height; ++y) {
    for (uint32_t x = 0; x < halves.width; ++x) {
      const Bytes& colour = x < halves.width / 2 ? halves.left : halves.right;
      pixels.insert(pixels.end(), colour.begin(), colour.end());
    }
  }
  return pixels;
}

Bytes jpeg_of(const Halves& halves, bool is_progressive) {
  Bytes pixels = pixels_of(halves);
  const bool is_grey = halves.left.size() == 1;
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);  // ends the program: a test that cannot make its file need not go on
  jpeg_create_compress(&info);
  unsigned char* begin = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &begin, &size);
  info.image_width = halves.width;
  info.image_height = halves.height;
  info.input_components = is_grey ? 1 : 3;
  info.in_color_space = is_grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  if (is_progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = pixels.data() + size_t{info.next_scanline} * halves.width * halves.left.size();
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const Bytes file(begin, begin + size);
  std::free(begin);
  return file;
}

}  // namespace

Bytes png_file(const Halves& halves) {
  const Bytes pixels = pixels_of(halves);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = halves.width;
  image.height = halves.height;
  image.format = halves.left.size() == 1 ? PNG_FORMAT_GRAY : halves.left.size() == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  Bytes file(1 << 16);
  png_alloc_size_t size = file.size();
  COT_ASSERT(png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr) != 0);
  file.resize(size);
  return file;
}

Bytes jpeg_file(const Halves& halves) { return jpeg_of(halves, false); }
Bytes progressive_jpeg_file(const Halves& halves) { return jpeg_of(halves, true); }

}  // namespace coterie::test
