// Bilinear resizing of images, and of rectangles in them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace coterie {

struct ImageSize {
  size_t height, width;
};

struct ImageBox {
  size_t top, left, height, width;
};

// Each dimension by itself: the output pixel i is the mean of the input pixels around its centre, (i + 1/2) s with
// s = from / to, weighted by max(0, 1 - distance / max(1, s)), which leaves those beyond the border out. To enlarge,
// that is bilinear interpolation with half-pixel centres (torch.nn.functional.interpolate with align_corners=False); to
// shrink, it is widened so that no pixel is passed over (antialias=True there; Pillow's Image.BILINEAR).
class BilinearResize {
 public:
  // Precondition: all of them are at least 1.
  BilinearResize(ImageSize from, ImageSize to, size_t channels);

  // From now on this part of the image alone, as if it had been cut out before; at first it is all. Does not allocate.
  // Precondition: it lies in the image, and is not empty.
  void look_at(const ImageBox& box);

  // Images as height x width x channels. Does not allocate.
  void run(std::span<const float> from, std::span<float> to);

 private:
  // The pixels that each output row or column i is made of: counts[i] from firsts[i] on, with weights from i * most on.
  struct Taps {
    Taps(size_t from, size_t to);
    void aim(size_t from, size_t first);

    size_t most;
    std::vector<size_t> firsts, counts;
    std::vector<float> weights;
  };

  ImageSize from_;
  size_t channels_;
  ImageBox box_;
  Taps rows_, columns_;
  std::vector<float> narrowed_;  // from.height x to.width x channels
};

}  // namespace coterie
