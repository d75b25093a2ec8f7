// IDX files (http://yann.lecun.com/exdb/mnist) as a test wants them, right or wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/bytes.h"

namespace coterie::test {

// `head`: the magic number and the sizes, as they are to stand there.
inline Bytes idx_file(std::initializer_list<uint32_t> head, const Bytes& content) {
  Bytes file;
  for (const uint32_t word : head) {
    for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<uint8_t>(word >> shift));
  }
  file.insert(file.end(), content.begin(), content.end());
  return file;
}

// `count` images of 2 x 3 pixels: 0, 1, 2 ...
inline Bytes idx_images(uint32_t count) {
  Bytes pixels;
  for (uint32_t i = 0; i < count * 6; ++i) pixels.push_back(static_cast<uint8_t>(i));
  return idx_file({0x0803, count, 2, 3}, pixels);
}

inline Bytes idx_labels(const Bytes& labels) {
  return idx_file({0x0801, static_cast<uint32_t>(labels.size())}, labels);
}

}  // namespace coterie::test
