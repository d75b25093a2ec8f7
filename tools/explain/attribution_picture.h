// Explanations of images as a picture: a row each, the image and beside it its attribution. Red speaks for the output,
// blue against it, white is silent; the strongest value of a row has the full colour. Pure.
#pragma once

#include <span>

#include "model_io/image_file.h"
#include "tools/explain/explanation.h"

namespace coterie {

// `image` is the shape of the inputs: [height, width, channels]. Three channels are red, green and blue; of any other
// number the mean is shown. Errors: invalid_argument (no image), too_large.
Result<Picture> attribution_picture(const Shape& image, std::span<const Explanation> explanations);

}  // namespace coterie
