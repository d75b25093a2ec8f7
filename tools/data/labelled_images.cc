#include "tools/data/labelled_images.h"

#include <array>
#include <numeric>

#include "base/assert.h"
#include "device_sdk/runtime/dataset_source.h"

namespace coterie {

void append(LabelledImages& images, const LabelledImages& more) {
  COT_ASSERT(images.shape == more.shape && images.classes == more.classes && images.white == more.white);
  images.pixels.insert(images.pixels.end(), more.pixels.begin(), more.pixels.end());
  images.labels.insert(images.labels.end(), more.labels.begin(), more.labels.end());
}

Bytes dataset_file(const LabelledImages& images, std::span<const uint32_t> chosen) {
  std::array<float, 256> scaled{};
  for (size_t i = 0; i < scaled.size(); ++i) scaled[i] = static_cast<float>(i) / static_cast<float>(images.white);
  const size_t image_bytes = images.image_bytes();
  std::vector<float> features;
  std::vector<int32_t> labels;
  features.reserve(chosen.size() * image_bytes);
  labels.reserve(chosen.size());
  for (const uint32_t index : chosen) {
    COT_ASSERT(index < images.size());
    for (const uint8_t pixel : ByteView(images.pixels).subspan(index * image_bytes, image_bytes)) {
      features.push_back(scaled[pixel]);
    }
    labels.push_back(images.labels[index]);
  }
  return encode_dataset({images.name, chosen.size(), images.shape, images.classes}, features, labels);
}

Bytes dataset_file(const LabelledImages& images) {
  std::vector<uint32_t> all(images.size());
  std::iota(all.begin(), all.end(), 0u);
  return dataset_file(images, all);
}

std::vector<uint32_t> count_labels(const LabelledImages& images, std::span<const uint32_t> chosen) {
  std::vector<uint32_t> counts(images.classes);
  for (const uint32_t index : chosen) ++counts[static_cast<size_t>(images.labels[index])];
  return counts;
}

}  // namespace coterie
