#include "fl_server/finalize/next_statistics.h"

#include <algorithm>

#include "base/assert.h"

namespace coterie {
namespace {

Result<std::vector<float>> given(const FrameStream& model, uint64_t first, uint64_t count) {
  std::vector<float> values(count);
  COT_TRY(model.peek(first * sizeof(float), {reinterpret_cast<uint8_t*>(values.data()), count * sizeof(float)}));
  return values;
}

// Averaged variances are none below 0, but lanes round: what is below by no more than that is 0.
constexpr double kRounding = 1e-6;

}  // namespace

Result<NextStatistics> NextStatistics::of(std::span<const RunningStatistics> statistics,
                                          std::span<const RunningStatistics> places, UpdateEncoding encoding,
                                          const FrameStream& model, const MeanSource& mean) {
  COT_ASSERT(statistics.size() == places.size());
  NextStatistics next;
  for (size_t at = 0; at < statistics.size(); ++at) {
    const RunningStatistics &norm = statistics[at], &place = places[at];
    COT_ASSIGN(std::vector<float> means, given(model, norm.mean, norm.channels));
    COT_ASSIGN(std::vector<float> variances, given(model, norm.variance, norm.channels));
    COT_ASSIGN(const std::vector<double> m, mean.peek(place.mean, norm.channels));
    COT_ASSIGN(const std::vector<double> s, mean.peek(place.variance, norm.channels));
    for (uint64_t i = 0; i < norm.channels; ++i) {
      means[i] = static_cast<float>(static_cast<double>(means[i]) + m[i]);
      // With pooling a device sends how far the moments of its examples are from the model's; without, the difference
      // of its own running variance.
      if (encoding == UpdateEncoding::float32_pooled) {
        variances[i] = pooled_variance(variances[i], m[i], s[i]);
      } else {
        const double averaged = static_cast<double>(variances[i]) + s[i];
        variances[i] = static_cast<float>(averaged > -kRounding ? std::max(0.0, averaged) : averaged);
      }
    }
    next.pieces_.push_back({norm.mean, std::move(means)});
    next.pieces_.push_back({norm.variance, std::move(variances)});
  }
  return next;
}

void NextStatistics::put(uint64_t first, std::span<float> values) const {
  for (const Piece& piece : pieces_) {
    const uint64_t begin = std::max(first, piece.first);
    const uint64_t end = std::min<uint64_t>(first + values.size(), piece.first + piece.values.size());
    for (uint64_t i = begin; i < end; ++i) values[i - first] = piece.values[i - piece.first];
  }
}

}  // namespace coterie
