// MeanReader: a round's mean from its first value to its last, in whatever pieces somebody needs.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/assert.h"
#include "fl_server/finalize/mean_source.h"
#include "fl_server/finalize/round_sum.h"

namespace coterie {

class MeanReader {
 public:
  // `source`, which has `count` values and was not read from yet, outlives this.
  MeanReader(MeanSource& source, uint64_t count) : source_(source), left_(count) {}

  // The next values. Precondition: so many are left.
  Status take(std::span<float> values) {
    while (!values.empty()) {
      if (used_ == tile_.size()) COT_TRY(read_tile());
      const size_t count = std::min(values.size(), tile_.size() - used_);
      std::copy_n(tile_.begin() + static_cast<std::ptrdiff_t>(used_), count, values.begin());
      values = values.subspan(count);
      used_ += count;
    }
    return {};
  }

 private:
  Status read_tile() {
    COT_ASSERT(left_ > 0);
    tile_.resize(std::min(RoundSum::kTileValues, left_));
    left_ -= tile_.size();
    used_ = 0;
    return source_.read(tile_);
  }

  MeanSource& source_;
  uint64_t left_;  // behind the tile
  std::vector<float> tile_;
  size_t used_ = 0;  // of the tile
};

}  // namespace coterie
