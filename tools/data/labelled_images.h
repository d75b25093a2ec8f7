// LabelledImages: a data set in memory, one byte a pixel; it grows to floats only when a file for training is made of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "proto/messages/model.h"

namespace coterie {

struct LabelledImages {
  std::string name;             // "digits"
  Shape shape;                  // of one image: height, width, channels
  uint32_t classes = 0;         // labels are in [0, classes)
  uint8_t white = 255;          // the pixel value that becomes 1.0
  Bytes pixels;                 // image after image, each in the order of `shape`
  std::vector<int32_t> labels;  // one an image

  size_t size() const { return labels.size(); }
  size_t image_bytes() const { return labels.empty() ? 0 : pixels.size() / labels.size(); }
};

// Adds `more`, which has the same shape and classes, behind the images of `images`.
void append(LabelledImages& images, const LabelledImages& more);

// A data set file (proto/messages/dataset.h) of the images `chosen`, in that order, pixels scaled to [0, 1].
Bytes dataset_file(const LabelledImages& images, std::span<const uint32_t> chosen);

// As above, of all images.
Bytes dataset_file(const LabelledImages& images);

// How many of `chosen` have each label; `classes` numbers.
std::vector<uint32_t> count_labels(const LabelledImages& images, std::span<const uint32_t> chosen);

}  // namespace coterie
