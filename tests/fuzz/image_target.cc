// Any bytes as an image: an error, or as many pixels as it says.
#include "base/assert.h"
#include "model_io/image_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto picture = coterie::decode_image({data, size});
  if (picture) COT_ASSERT(picture->pixels.size() == uint64_t{picture->height} * picture->width * 3);
  return 0;
}
