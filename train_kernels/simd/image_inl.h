// A convolution's image in memory: its zero border, and where pixels and taps lie in it. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_IMAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_IMAGE_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_IMAGE_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_IMAGE_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"
#include "train_kernels/simd/vector_inl.h"
#include "train_kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// Offsets are in floats from the start of the first padded image; they fit int32 because an image has at most 2^28
// floats and images_at_once takes several only of small ones.
struct Layout {
  explicit Layout(const Conv2dShape& shape) : s(shape) {
    depth = s.channels / s.groups;
    pixels = s.out_h() * s.out_w();
    image = s.height * s.width * s.channels;
    padded_image = s.padded_h() * s.padded_w() * s.channels;
    // The taps of a kernel row are contiguous unless other groups' channels or, dilated, other pixels lie
    // between them.
    const bool whole_rows = s.groups == 1 && (s.dilation_w == 1 || s.kernel_w == 1);
    taps_of_run = whole_rows ? s.kernel_w : 1;
    run_count = s.kernel_h * s.kernel_w / taps_of_run;
    run_length = taps_of_run * depth;
  }

  size_t at(size_t row, size_t column) const { return (row * s.padded_w() + column) * s.channels; }
  // Where kernel position k (row by row) lies from the window's first pixel.
  size_t tap(size_t k) const { return at(k / s.kernel_w * s.dilation_h, k % s.kernel_w * s.dilation_w); }

  // First pixel of the window of each output pixel of some images, in y's order.
  int32_t* pixels_by_row(size_t images, int32_t* to) const {
    size_t p = 0;
    for (size_t n = 0; n < images; ++n) {
      for (size_t i = 0; i < s.out_h(); ++i) {
        const size_t row = n * padded_image + at(i * s.stride_h, 0), step = at(0, s.stride_w);
        for (size_t j = 0; j < s.out_w(); ++j) to[p++] = static_cast<int32_t>(row + j * step);
      }
    }
    return to;
  }

  // The same column by column; `y_offsets` gets where the pixel lies in one image of y.
  int32_t* pixels_by_column(int32_t* to, int32_t* y_offsets) const {
    size_t p = 0;
    for (size_t j = 0; j < s.out_w(); ++j) {
      for (size_t i = 0; i < s.out_h(); ++i, ++p) {
        to[p] = static_cast<int32_t>(at(i * s.stride_h, j * s.stride_w));
        y_offsets[p] = static_cast<int32_t>((i * s.out_w() + j) * s.filters);
      }
    }
    return to;
  }

  // The start of each contiguous run of taps, from the window's first pixel.
  int32_t* runs(int32_t* to) const {
    for (size_t r = 0; r < run_count; ++r) {
      to[r] = static_cast<int32_t>(tap(r * taps_of_run));
    }
    return to;
  }

  // Every tap, in the order of w's rows.
  int32_t* taps(int32_t* to) const {
    for (size_t t = 0; t < s.taps(); ++t) {
      to[t] = static_cast<int32_t>(tap(t / depth) + t % depth);
    }
    return to;
  }

  // The window of the first output pixel of each output row of some images.
  int32_t* output_rows(size_t images, int32_t* to) const {
    size_t p = 0;
    for (size_t n = 0; n < images; ++n) {
      for (size_t i = 0; i < s.out_h(); ++i) to[p++] = static_cast<int32_t>(n * padded_image + at(i * s.stride_h, 0));
    }
    return to;
  }

  const Conv2dShape& s;
  size_t depth, pixels, image, padded_image, taps_of_run, run_count, run_length;
};

// Some images with their borders, in scratch memory; without padding the images themselves.
class PaddedImage {
 public:
  // Takes these rows of each image alone, the border counted: the others stay undefined.
  PaddedImage(const Conv2dShape& shape, size_t images, Range rows, Scratch& scratch) : s_(shape), rows_(rows) {
    if (!s_.is_padded()) return;
    const size_t image = s_.padded_h() * s_.padded_w() * s_.channels;
    buffer_ = scratch.take<float>(images * image);
    for (size_t n = 0; n < images; ++n) clear_border(buffer_ + n * image);
  }
  PaddedImage(const Conv2dShape& shape, size_t images, Scratch& scratch)
      : PaddedImage(shape, images, {0, shape.padded_h()}, scratch) {}

  // `x` with zeros around each image; valid until the next call.
  const float* padded(const float* x, size_t images) {
    if (buffer_ == nullptr) return x;
    const size_t row = s_.width * s_.channels;
    const size_t begin = HWY_MAX(rows_.begin, s_.pad_top) - s_.pad_top;
    const size_t end = HWY_MIN(HWY_MAX(rows_.end, s_.pad_top) - s_.pad_top, s_.height);
    for (size_t n = 0; n < images; ++n, x += s_.height * row) {
      for (size_t i = begin; i < end; ++i) {
        std::memcpy(interior(n * s_.padded_h() + i), x + i * row, row * sizeof(float));
      }
    }
    return buffer_;
  }

  // One zeroed image to add into; end_sum moves what lies inside the border to dx.
  float* begin_sum(float* dx) {
    const size_t inside = s_.height * s_.width * s_.channels;
    float* to = buffer_ == nullptr ? dx : buffer_;
    const size_t all = s_.padded_h() * s_.padded_w() * s_.channels;
    std::memset(to, 0, (buffer_ == nullptr ? inside : all) * sizeof(float));
    return to;
  }
  void end_sum(float* dx) {
    if (buffer_ == nullptr) return;
    const size_t row = s_.width * s_.channels;
    for (size_t i = 0; i < s_.height; ++i) std::memcpy(dx + i * row, interior(i), row * sizeof(float));
  }

 private:
  // Clears the part of `rows_` that nothing is copied over.
  void clear_border(float* image) const {
    const size_t row = s_.padded_w() * s_.channels, left = s_.pad_left * s_.channels, inside = s_.width * s_.channels;
    for (size_t i = rows_.begin; i < rows_.end; ++i) {
      float* to = image + i * row;
      const bool is_border = i < s_.pad_top || i >= s_.pad_top + s_.height;
      std::memset(to, 0, (is_border ? row : left) * sizeof(float));
      if (!is_border) std::memset(to + left + inside, 0, (row - left - inside) * sizeof(float));
    }
  }
  float* interior(size_t row) { return buffer_ + ((s_.pad_top + row) * s_.padded_w() + s_.pad_left) * s_.channels; }

  const Conv2dShape& s_;
  Range rows_;
  float* buffer_ = nullptr;
};

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
