// JPEG through libjpeg, whose errors come back by longjmp: into decode_into, whose frame has nothing to destroy.
#include <csetjmp>
#include <cstdio>  // jpeglib.h names FILE

#include <jpeglib.h>

#include <jerror.h>

#include <string>

#include "model_io/image_file.h"

namespace coterie {
namespace {

struct Errors {
  jpeg_error_mgr manager{};
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX] = "";
};

Errors& errors_of(j_common_ptr info) { return *reinterpret_cast<Errors*>(info->err); }

[[noreturn]] void fail(j_common_ptr info) {
  Errors& errors = errors_of(info);
  info->err->format_message(info, errors.text);
  std::longjmp(errors.back, 1);
}

// A warning is a picture that goes on as grey: one that is cut off fails, what is merely odd (bytes between two
// markers) passes.
void warn(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) fail(info);
}

void say_nothing(j_common_ptr) {}

void count_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kJpegScansMax) return;
  Errors& errors = errors_of(info);
  std::snprintf(errors.text, sizeof errors.text, "more than %d scans", kJpegScansMax);
  std::longjmp(errors.back, 1);
}

struct Decompressor {
  Errors errors;
  jpeg_progress_mgr progress{};
  jpeg_decompress_struct info{};

  Decompressor() {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = fail;
    errors.manager.emit_message = warn;
    errors.manager.output_message = say_nothing;
    progress.progress_monitor = count_scans;
  }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() { jpeg_destroy_decompress(&info); }
};

// Whether it went well; if not, why is in errors.text, unless it is `picture` that is an error.
bool decode_into(Decompressor& decompressor, ByteView file, uint64_t pixels_max, Result<Picture>& picture) {
  if (setjmp(decompressor.errors.back) != 0) return false;
  jpeg_decompress_struct& info = decompressor.info;
  jpeg_create_decompress(&info);
  info.progress = &decompressor.progress;
  jpeg_mem_src(&info, file.data(), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  picture = blank_picture(info.image_height, info.image_width, pixels_max);
  if (!picture) return false;
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = picture->pixels.data() + size_t{info.output_scanline} * info.output_width * 3;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

}  // namespace

Result<Picture> decode_jpeg(ByteView file, uint64_t pixels_max) {
  Decompressor decompressor;
  Result<Picture> picture = Picture();
  if (decode_into(decompressor, file, pixels_max, picture) || !picture) return picture;
  return Error(ErrorCode::malformed, std::string("is a damaged JPEG file: ") + decompressor.errors.text);
}

}  // namespace coterie
