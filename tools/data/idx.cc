#include "tools/data/idx.h"

#include <string>

namespace coterie {
namespace {

constexpr uint32_t kImagesMagic = 0x0803;  // unsigned bytes, three dimensions
constexpr uint32_t kLabelsMagic = 0x0801;  // unsigned bytes, one dimension
constexpr size_t kImagesHeadBytes = 16;
constexpr size_t kLabelsHeadBytes = 8;
constexpr uint32_t kSideMax = 4096;

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, what); }

uint32_t big_endian(ByteView bytes, size_t offset) {
  return static_cast<uint32_t>(bytes[offset]) << 24 | static_cast<uint32_t>(bytes[offset + 1]) << 16 |
         static_cast<uint32_t>(bytes[offset + 2]) << 8 | bytes[offset + 3];
}

Status check_head(ByteView file, size_t head_bytes, uint32_t magic, const char* what) {
  const std::string kind = std::string("is not an IDX file of ") + what + ": ";
  if (file.size() < head_bytes) return malformed(kind + "it has only " + std::to_string(file.size()) + " bytes");
  if (big_endian(file, 0) != magic) {
    return malformed(kind + "it begins with " + to_hex(file.first(4)) + ", expected 0000" +
                     (magic == kImagesMagic ? "0803" : "0801"));
  }
  return {};
}

Status check_size(ByteView file, uint64_t expected, const std::string& why) {
  if (file.size() == expected) return {};
  return malformed("has " + std::to_string(file.size()) + " bytes, but " + why + " need " + std::to_string(expected));
}

}  // namespace

Result<IdxImages> parse_idx_images(ByteView file) {
  COT_TRY(check_head(file, kImagesHeadBytes, kImagesMagic, "images"));
  IdxImages images{big_endian(file, 4), big_endian(file, 8), big_endian(file, 12), file.subspan(kImagesHeadBytes)};
  if (images.rows < 1 || images.rows > kSideMax || images.columns < 1 || images.columns > kSideMax) {
    return malformed("says its images have " + std::to_string(images.rows) + " x " + std::to_string(images.columns) +
                     " pixels");
  }
  const uint64_t pixels = static_cast<uint64_t>(images.count) * images.rows * images.columns;  // below 2^56
  COT_TRY(check_size(file, kImagesHeadBytes + pixels,
                     std::to_string(images.count) + " images of " + std::to_string(images.rows) + " x " +
                         std::to_string(images.columns) + " pixels"));
  return images;
}

Result<ByteView> parse_idx_labels(ByteView file) {
  COT_TRY(check_head(file, kLabelsHeadBytes, kLabelsMagic, "labels"));
  const uint32_t count = big_endian(file, 4);
  COT_TRY(check_size(file, kLabelsHeadBytes + uint64_t{count}, std::to_string(count) + " labels"));
  return file.subspan(kLabelsHeadBytes);
}

Result<LabelledImages> join_idx(const IdxImages& images, ByteView labels, uint32_t classes) {
  if (images.count != labels.size()) {
    return malformed("has " + std::to_string(labels.size()) + " labels for " + std::to_string(images.count) +
                     " images");
  }
  if (labels.empty()) return malformed("holds no labels");
  LabelledImages joined;
  joined.shape = {images.rows, images.columns, 1};
  joined.classes = classes;
  joined.pixels.assign(images.pixels.begin(), images.pixels.end());
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= classes) {
      return malformed("gives image " + std::to_string(i) + " the label " + std::to_string(labels[i]) +
                       ", expected 0 to " + std::to_string(classes - 1));
    }
  }
  joined.labels.assign(labels.begin(), labels.end());
  return joined;
}

}  // namespace coterie
