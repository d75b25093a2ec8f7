// Pixels of a picture, one byte each, as images of another size or in grey. Who trains and who answers both make their
// images by these functions.
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "device_sdk/runtime/bilinear_resize.h"

namespace coterie {

// Red, green and blue of each pixel to one grey: the luma of ITU-R BT.601, rounded.
void turn_grey(Bytes& pixels);

// By bilinear_resize.h, rounded. Precondition: `pixels` is from.height x from.width x channels; no size is 0.
Bytes resize_pixels(ByteView pixels, ImageSize from, ImageSize to, size_t channels);

}  // namespace coterie
