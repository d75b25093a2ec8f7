// IDX files, the format of MNIST (http://yann.lecun.com/exdb/mnist): a magic number, big-endian counts, then bytes.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "tools/data/labelled_images.h"

namespace coterie {

struct IdxImages {
  uint32_t count = 0;
  uint32_t rows = 0;
  uint32_t columns = 0;
  ByteView pixels;  // into the file
};

// Errors: malformed (wrong magic, sizes that do not match the file's).
Result<IdxImages> parse_idx_images(ByteView file);
Result<ByteView> parse_idx_labels(ByteView file);

// Puts the two halves together. Errors: malformed (counts differ, a label outside [0, classes)).
Result<LabelledImages> join_idx(const IdxImages& images, ByteView labels, uint32_t classes);

}  // namespace coterie
