// CIFAR-10 binary batches (https://www.cs.toronto.edu/~kriz/cifar.html): a label, then 32 x 32 pixels, all of them red,
// then all green, then all blue.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "tools/data/labelled_images.h"

namespace coterie {

// The images of one batch file, colours interleaved (height, width, channels). Errors: malformed.
Result<LabelledImages> parse_cifar10(ByteView file);

}  // namespace coterie
