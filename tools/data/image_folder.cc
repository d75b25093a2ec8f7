#include "tools/data/image_folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/os/file.h"
#include "device_sdk/runtime/bilinear_resize.h"
#include "tools/data/image_file.h"

namespace coterie {
namespace {

constexpr uint64_t kFileBytesMax = 1 << 28;
constexpr uint64_t kPixelsBytesMax = 1ull << 32;

bool is_image_name(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name.ends_with(".jpg") || name.ends_with(".jpeg") || name.ends_with(".png");
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// Red, green and blue to one grey.
void turn_grey(Bytes& pixels) {
  for (size_t i = 0; i < pixels.size() / 3; ++i) {
    const uint8_t* rgb = &pixels[3 * i];
    pixels[i] = static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
  }
  pixels.resize(pixels.size() / 3);
}

Bytes resized(const Bytes& pixels, size_t height, size_t width, const Shape& to) {
  const auto to_height = static_cast<size_t>(to[0]), to_width = static_cast<size_t>(to[1]);
  const auto channels = static_cast<size_t>(to[2]);
  const std::vector<float> from(pixels.begin(), pixels.end());
  std::vector<float> values(to_height * to_width * channels);
  BilinearResize({height, width}, {to_height, to_width}, channels).run(from, values);
  Bytes result;
  for (const float value : values) result.push_back(static_cast<uint8_t>(std::clamp(std::lround(value), 0l, 255l)));
  return result;
}

std::string size_text(int64_t height, int64_t width) { return std::to_string(height) + " x " + std::to_string(width); }

// As an image of the class that is being read.
Status add_image(LabelledImages& images, const std::string& path, bool is_resized) {
  COT_ASSIGN(const Bytes file, os::read_file(path, kFileBytesMax));
  Result<Picture> picture = decode_image(file);
  if (!picture) return picture.error().with_context(path);
  Bytes pixels = std::move(picture->pixels);
  Shape& shape = images.shape;
  const int64_t height = picture->height, width = picture->width;
  if (shape[2] == 1) turn_grey(pixels);
  if (shape[0] == 0) shape = {height, width, shape[2]};
  if (shape[0] != height || shape[1] != width) {
    if (!is_resized) {
      return Error(ErrorCode::malformed, path + ": is " + size_text(height, width) + " pixels, those before it " +
                                             size_text(shape[0], shape[1]) + "; give a size for all");
    }
    pixels = resized(pixels, picture->height, picture->width, shape);
  }
  if (images.pixels.size() + pixels.size() > kPixelsBytesMax) {
    return Error(ErrorCode::too_large, path + ": the images before it fill 4 GiB; give them a smaller size");
  }
  images.pixels.insert(images.pixels.end(), pixels.begin(), pixels.end());
  images.labels.push_back(static_cast<int32_t>(images.classes));
  return {};
}

}  // namespace

Result<LabelledImages> load_image_folder(const std::string& directory, const ImageFolderOptions& options) {
  const bool is_resized = options.height > 0;
  LabelledImages images{.name = "images", .shape = {options.height, options.width, options.channels}};
  COT_ASSIGN(const std::vector<std::string> names, os::list_directory(directory));
  for (const std::string& name : names) {
    const std::string folder = directory + "/" + name;
    if (!is_folder(folder)) continue;
    const size_t images_before = images.size();
    COT_ASSIGN(const std::vector<std::string> files, os::list_directory(folder));
    for (const std::string& file : files) {
      if (!is_image_name(file)) continue;
      COT_TRY(add_image(images, folder + "/" + file, is_resized));
    }
    if (images.size() == images_before) {
      return Error(ErrorCode::not_found, folder + " has no image: expected .jpg, .jpeg or .png files");
    }
    ++images.classes;
  }
  if (images.classes == 0) return Error(ErrorCode::not_found, directory + " has no folders: expected one a class");
  return images;
}

}  // namespace coterie
