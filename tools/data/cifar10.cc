#include "tools/data/cifar10.h"

#include <string>

namespace coterie {
namespace {

constexpr size_t kSide = 32;
constexpr size_t kPlane = kSide * kSide;
constexpr size_t kChannels = 3;
constexpr size_t kRecordBytes = 1 + kChannels * kPlane;
constexpr uint32_t kClasses = 10;

}  // namespace

Result<LabelledImages> parse_cifar10(ByteView file) {
  if (file.empty() || file.size() % kRecordBytes != 0) {
    return Error(ErrorCode::malformed, "is not a CIFAR-10 binary batch: its " + std::to_string(file.size()) +
                                           " bytes are not a multiple of 3073");
  }
  LabelledImages images;
  images.name = "cifar10";
  images.shape = {kSide, kSide, kChannels};
  images.classes = kClasses;
  const size_t count = file.size() / kRecordBytes;
  images.pixels.reserve(count * kChannels * kPlane);
  for (size_t i = 0; i < count; ++i) {
    const ByteView record = file.subspan(i * kRecordBytes, kRecordBytes);
    if (record[0] >= kClasses) {
      return Error(ErrorCode::malformed, "gives image " + std::to_string(i) + " the label " +
                                             std::to_string(record[0]) + ", expected 0 to 9");
    }
    images.labels.push_back(record[0]);
    const ByteView planes = record.subspan(1);
    for (size_t pixel = 0; pixel < kPlane; ++pixel) {
      for (size_t channel = 0; channel < kChannels; ++channel)
        images.pixels.push_back(planes[channel * kPlane + pixel]);
    }
  }
  return images;
}

}  // namespace coterie
