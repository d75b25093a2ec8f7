// LabelledImages: images of one size in memory, one byte a pixel: what the loaders of images give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "proto/messages/model.h"
#include "tools/data/example_table.h"

namespace coterie {

struct LabelledImages {
  std::string name;                           // "digits"
  Shape shape;                                // of one image: height, width, channels
  uint32_t classes = 0;                       // labels are in [0, classes)
  uint8_t white = 255;                        // the pixel value that becomes 1.0
  Bytes pixels;                               // image after image, each in the order of `shape`
  std::vector<int32_t> labels;                // one an image
  std::vector<std::string> class_names = {};  // of each class; empty: its number
  std::vector<std::string> notes = {};        // what a reader has left out, a sentence each

  size_t size() const { return labels.size(); }
  size_t image_bytes() const { return labels.empty() ? 0 : pixels.size() / labels.size(); }
};

// Adds `more`, which has the same shape and classes, behind the images of `images`.
void append(LabelledImages& images, const LabelledImages& more);

// The images as examples, pixels scaled to [0, 1] when they are read.
ExampleTable to_table(LabelledImages images);

}  // namespace coterie
