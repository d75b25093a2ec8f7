#include "tools/data/image_folder.h"

#include <algorithm>
#include <filesystem>

#include "base/os/file.h"
#include "model_io/image_file.h"
#include "model_io/picture_pixels.h"
#include "secure/crypto/digest.h"

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

std::string size_text(int64_t height, int64_t width) { return std::to_string(height) + " x " + std::to_string(width); }

// Images that do not decode.
struct Skipped {
  uint64_t count = 0;
  std::string first;  // what is wrong with it
  void add(const Error& error) {
    if (count++ == 0) first = error.message();
  }
};

Result<Bytes> read_file(const std::string& path, const LoadWatchers& watchers) {
  StageCall call(watchers.stages, DataStage::read);
  COT_ASSIGN(Bytes file, os::read_file(path, kFileBytesMax));
  call.add_bytes(file.size());
  if (watchers.sources != nullptr) watchers.sources->add(path, content_digest(file));
  return file;
}

// As an image of class `label`.
Status add_image(LabelledImages& images, const std::string& path, int32_t label, bool is_resized, Skipped& skipped,
                 const LoadWatchers& watchers) {
  COT_ASSIGN(const Bytes file, read_file(path, watchers));
  Result<Picture> picture = timed(watchers.stages, DataStage::parse, file.size(), [&] { return decode_image(file); });
  if (!picture) {
    skipped.add(picture.error().with_context(path));
    return {};
  }
  Bytes pixels = std::move(picture->pixels);
  Shape& shape = images.shape;
  const int64_t height = picture->height, width = picture->width;
  if (shape[2] == 1) turn_grey(pixels);
  if (shape[0] == 0) shape = {height, width, shape[2]};
  if (shape[0] != height || shape[1] != width) {
    if (!is_resized) {
      return Error(ErrorCode::malformed, path + ": is " + size_text(height, width) + " pixels, those before it " +
                                             size_text(shape[0], shape[1]) +
                                             "; give a size for all: images:DIR?height=" + std::to_string(shape[0]) +
                                             "&width=" + std::to_string(shape[1]));
    }
    pixels =
        resize_pixels(pixels, {picture->height, picture->width},
                      {static_cast<size_t>(shape[0]), static_cast<size_t>(shape[1])}, static_cast<size_t>(shape[2]));
  }
  if (images.pixels.size() + pixels.size() > kPixelsBytesMax) {
    return Error(ErrorCode::too_large, path + ": the images before it fill 4 GiB; give them a smaller size");
  }
  images.pixels.insert(images.pixels.end(), pixels.begin(), pixels.end());
  images.labels.push_back(label);
  return {};
}

// The class of a folder: its place among those that are given, or the next.
Result<int32_t> label_of(const std::string& name, const std::string& folder, const ImageFolderOptions& options,
                         LabelledImages& images) {
  if (options.classes.empty()) {
    images.class_names.push_back(name);
    return static_cast<int32_t>(images.class_names.size()) - 1;
  }
  const auto found = std::find(options.classes.begin(), options.classes.end(), name);
  if (found != options.classes.end()) return static_cast<int32_t>(found - options.classes.begin());
  std::string all;
  for (const std::string& each : options.classes) all += (all.empty() ? "" : ", ") + each;
  return Error(ErrorCode::malformed, folder + " is none of the classes " + all);
}

}  // namespace

Result<std::vector<ImageClass>> list_image_folder(const std::string& directory) {
  std::vector<ImageClass> classes;
  COT_ASSIGN(const std::vector<std::string> names, os::list_directory(directory));
  for (const std::string& name : names) {
    const std::string folder = directory + "/" + name;
    if (name.starts_with('.') || !is_folder(folder)) continue;
    COT_ASSIGN(std::vector<std::string> files, os::list_directory(folder));
    std::erase_if(files, [](const std::string& file) { return file.starts_with('.') || !is_image_name(file); });
    classes.push_back({name, std::move(files)});
  }
  return classes;
}

Result<LabelledImages> load_image_folder(const std::string& directory, const ImageFolderOptions& options,
                                         const LoadWatchers& watchers) {
  const bool is_resized = options.height > 0;
  LabelledImages images{.name = "images", .shape = {options.height, options.width, options.channels}};
  images.class_names = options.classes;
  Skipped skipped;
  COT_ASSIGN(const std::vector<ImageClass> classes, list_image_folder(directory));
  for (const ImageClass& each : classes) {
    const std::string folder = directory + "/" + each.name;
    COT_ASSIGN(const int32_t label, label_of(each.name, folder, options, images));
    const size_t images_before = images.size(), skipped_before = skipped.count;
    for (const std::string& file : each.files) {
      COT_TRY(add_image(images, folder + "/" + file, label, is_resized, skipped, watchers));
    }
    if (images.size() > images_before) continue;
    if (skipped.count > skipped_before) {
      return Error(ErrorCode::malformed, folder + ": none of its " + std::to_string(skipped.count - skipped_before) +
                                             " images decodes; the first that failed: " + skipped.first);
    }
    return Error(ErrorCode::not_found, folder + " has no image: expected .jpg, .jpeg or .png files");
  }
  if (classes.empty()) return Error(ErrorCode::not_found, directory + " has no folders: expected one a class");
  images.classes = static_cast<uint32_t>(images.class_names.size());
  if (skipped.count > 0) {
    images.notes.push_back(std::to_string(skipped.count) + (skipped.count == 1 ? " image was" : " images were") +
                           " skipped; the first: " + skipped.first);
  }
  return images;
}

}  // namespace coterie
