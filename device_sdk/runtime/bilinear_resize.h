// Bilinear resizing of images.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace coterie {

// Each dimension by itself: the output pixel i is the mean of the input pixels around its centre, (i + 1/2) s with
// s = from / to, weighted by max(0, 1 - distance / max(1, s)), which leaves those beyond the border out. To enlarge,
// that is bilinear interpolation with half-pixel centres (torch.nn.functional.interpolate with align_corners=False); to
// shrink, it is widened so that no pixel is passed over (antialias=True there; Pillow's Image.BILINEAR).
class BilinearResize {
 public:
  struct Size {
    size_t height;
    size_t width;
  };
  BilinearResize(Size from, Size to, size_t channels);

  // Images as height x width x channels. Does not allocate.
  void run(std::span<const float> from, std::span<float> to);

 private:
  struct Taps {  // of one output row or column
    size_t first;
    std::vector<float> weights;
  };
  static std::vector<Taps> taps(size_t from, size_t to);

  Size from_;
  size_t channels_;
  std::vector<Taps> rows_, columns_;
  std::vector<float> narrowed_;  // from.height x to.width x channels
};

}  // namespace coterie
