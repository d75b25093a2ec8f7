#include "tools/explain/perturbation_methods.h"

#include <algorithm>

#include "base/random.h"

namespace coterie {
namespace {

constexpr size_t kInputsAtOnce = 64;
constexpr size_t kPatch = 4, kStride = 2;  // where nobody says, and the image is as large

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// What an input is covered by: of images [height, width, channels] pixels, else single values.
struct Grid {
  size_t height, width, channels;

  static Grid of(const Shape& shape) {
    if (shape.size() != 3) return {1, elements(shape), 1};
    return {static_cast<size_t>(shape[0]), static_cast<size_t>(shape[1]), static_cast<size_t>(shape[2])};
  }
  size_t pixels() const { return height * width; }
};

struct Patch {
  size_t top, left, bottom, right;

  template <typename Visit>
  void for_each_pixel(const Grid& grid, const Visit& visit) const {
    for (size_t y = top; y < bottom; ++y) {
      for (size_t x = left; x < right; ++x) visit(y * grid.width + x);
    }
  }
};

// Where patches begin and end along one side of an image: the first has one pixel of it, so that pixels at an edge lie
// in as many patches as others.
class PatchRow {
 public:
  // A patch that is larger than the image would be the whole of it many times over.
  PatchRow(size_t extent, size_t size, size_t stride)
      : extent_(extent), size_(std::min(size, extent)), stride_(std::min(stride, size_)) {}

  size_t count() const { return (extent_ + size_ - 1 + stride_ - 1) / stride_; }
  size_t begin(size_t i) const { return i * stride_ + 1 > size_ ? i * stride_ + 1 - size_ : 0; }
  size_t end(size_t i) const { return std::min(i * stride_ + 1, extent_); }

 private:
  size_t extent_, size_, stride_;
};

// Patches of a grid, by number, so that however many there are take no memory.
class Patches {
 public:
  Patches(const Grid& grid, size_t size, size_t stride)
      : down_(grid.height, size, stride), across_(grid.width, size, stride) {}

  size_t count() const { return down_.count() * across_.count(); }
  Patch operator[](size_t i) const {
    const size_t y = i / across_.count(), x = i % across_.count();
    return {down_.begin(y), across_.begin(x), down_.end(y), across_.end(x)};
  }

 private:
  PatchRow down_, across_;
};

// The scores of the changed inputs from `first` on, at most kInputsAtOnce; `change` writes the i-th over a copy of the
// input.
template <typename Change>
Result<std::vector<double>> scores_of(AskedModel& model, std::span<const float> input, uint32_t picked, size_t first,
                                      size_t count, const Change& change) {
  std::vector<float> inputs;
  for (size_t i = first; i < first + count; ++i) {
    inputs.insert(inputs.end(), input.begin(), input.end());
    change(i, std::span(inputs).last(input.size()));
  }
  return model.scores(inputs, picked);
}

// A mask of rise: cells that are open or not, one row and one column more than fit, enlarged by bilinear interpolation
// and shifted by part of a cell.
class Mask {
 public:
  Mask(const Grid& grid, uint32_t cells, float kept, Prng& prng)
      : down_(std::min<size_t>(cells, grid.height)), across_(std::min<size_t>(cells, grid.width)) {
    open_.resize((down_ + 2) * (across_ + 2));
    for (float& cell : open_) cell = prng.chance(static_cast<double>(kept)) ? 1.0f : 0.0f;
    shift_y_ = prng.uniform();
    shift_x_ = prng.uniform();
    for (size_t y = 0; y < grid.height; ++y) {
      for (size_t x = 0; x < grid.width; ++x) {
        values_.push_back(at((static_cast<double>(y) + 0.5) / static_cast<double>(grid.height) * down() + shift_y_,
                             (static_cast<double>(x) + 0.5) / static_cast<double>(grid.width) * across() + shift_x_));
      }
    }
  }
  const std::vector<float>& values() const { return values_; }

 private:
  double down() const { return static_cast<double>(down_); }
  double across() const { return static_cast<double>(across_); }
  // Below down_ + 1 and across_ + 1.
  float at(double y, double x) const {
    const auto row = static_cast<size_t>(y), column = static_cast<size_t>(x);
    const float b = static_cast<float>(y - static_cast<double>(row)),
                r = static_cast<float>(x - static_cast<double>(column));
    const auto cell = [&](size_t i, size_t j) { return open_[(row + i) * (across_ + 2) + column + j]; };
    return (1 - b) * ((1 - r) * cell(0, 0) + r * cell(0, 1)) + b * ((1 - r) * cell(1, 0) + r * cell(1, 1));
  }

  size_t down_, across_;
  double shift_y_ = 0, shift_x_ = 0;
  std::vector<float> open_, values_;
};

Shape map_shape(const AskedModel& model, const Grid& grid) {
  if (model.input_shape().size() != 3) return model.input_shape();
  return {static_cast<int64_t>(grid.height), static_cast<int64_t>(grid.width)};
}

}  // namespace

Result<Attribution> attribute_by_occlusion(AskedModel& model, std::span<const float> input, uint32_t picked,
                                           const AttributionSettings& settings) {
  const Grid grid = Grid::of(model.input_shape());
  const bool is_image = model.input_shape().size() == 3;
  const size_t side = std::max(grid.height, grid.width);
  const size_t patch = is_image ? settings.patch.value_or(std::min<size_t>(kPatch, side)) : 1;
  const size_t stride = is_image ? settings.stride.value_or(std::min<size_t>(kStride, patch)) : 1;
  if (patch > side) {
    return bad("a patch of " + std::to_string(patch) + " is larger than the image of " + std::to_string(grid.height) +
               " x " + std::to_string(grid.width));
  }
  if (patch < 1 || stride < 1 || stride > patch) return bad("the stride of patches must be in [1, the patch]");
  const Patches patches(grid, patch, stride);
  COT_ASSIGN(const std::vector<double> whole, model.scores(input, picked));
  std::vector<double> sum(grid.pixels());
  std::vector<uint32_t> count(grid.pixels());
  for (size_t from = 0; from < patches.count(); from += kInputsAtOnce) {
    const size_t some = std::min(kInputsAtOnce, patches.count() - from);
    const auto cover = [&](size_t i, std::span<float> covered) {
      patches[i].for_each_pixel(grid, [&](size_t pixel) {
        std::ranges::fill(covered.subspan(pixel * grid.channels, grid.channels), settings.baseline);
      });
    };
    COT_ASSIGN(const std::vector<double> without, scores_of(model, input, picked, from, some, cover));
    for (size_t i = 0; i < some; ++i) {
      patches[from + i].for_each_pixel(grid, [&](size_t pixel) {
        sum[pixel] += whole[0] - without[i];
        count[pixel] += 1;
      });
    }
  }
  Attribution made{map_shape(model, grid), std::vector<float>(grid.pixels())};
  for (size_t i = 0; i < sum.size(); ++i) {
    if (count[i] > 0) made.values[i] = static_cast<float>(sum[i] / count[i]);
  }
  return made;
}

Result<Attribution> attribute_by_rise(AskedModel& model, std::span<const float> input, uint32_t picked,
                                      const AttributionSettings& settings) {
  if (model.input_shape().size() != 3) return bad("rise is for images [height, width, channels]");
  if (settings.masks < 1 || settings.cells < 1) return bad("there must be a mask, and a cell of it");
  if (!(settings.kept > 0 && settings.kept < 1)) return bad("what masks keep must be in (0, 1)");
  const Grid grid = Grid::of(model.input_shape());
  Prng prng(settings.seed);
  // Sums about the first score, so that a large constant in f costs no digits.
  std::vector<double> sum(grid.pixels()), with_score(grid.pixels()), squares(grid.pixels());
  double score_sum = 0;
  COT_ASSIGN(const std::vector<double> whole, model.scores(input, picked));
  for (size_t from = 0; from < settings.masks; from += kInputsAtOnce) {
    std::vector<Mask> masks;
    for (size_t i = from; i < std::min<size_t>(from + kInputsAtOnce, settings.masks); ++i) {
      masks.emplace_back(grid, settings.cells, settings.kept, prng);
    }
    COT_ASSIGN(const std::vector<double> scores,
               scores_of(model, input, picked, 0, masks.size(), [&](size_t i, std::span<float> masked) {
                 for (size_t j = 0; j < masked.size(); ++j) {
                   const float open = masks[i].values()[j / grid.channels];
                   masked[j] = settings.baseline + open * (masked[j] - settings.baseline);
                 }
               }));
    for (size_t i = 0; i < masks.size(); ++i) {
      const double score = scores[i] - whole[0];
      score_sum += score;
      for (size_t pixel = 0; pixel < grid.pixels(); ++pixel) {
        const auto open = static_cast<double>(masks[i].values()[pixel]);
        sum[pixel] += open;
        squares[pixel] += open * open;
        with_score[pixel] += open * score;
      }
    }
  }
  Attribution made{map_shape(model, grid), std::vector<float>(grid.pixels())};
  const double count = settings.masks;
  for (size_t pixel = 0; pixel < grid.pixels(); ++pixel) {
    const double variance = squares[pixel] / count - sum[pixel] / count * (sum[pixel] / count);
    const double covariance = with_score[pixel] / count - sum[pixel] / count * (score_sum / count);
    if (variance > 0) made.values[pixel] = static_cast<float>(covariance / variance);
  }
  return made;
}

}  // namespace coterie
