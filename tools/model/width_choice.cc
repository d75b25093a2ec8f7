#include "tools/model/width_choice.h"

#include <algorithm>
#include <limits>

namespace coterie {
namespace {

constexpr uint64_t kPieces = 16'384;
constexpr double kNone = std::numeric_limits<double>::infinity();

// The smallest of each, where they fit together: pieces are not fine enough for what is so tight.
std::optional<std::vector<size_t>> smallest(const std::vector<std::vector<WidthOption>>& weights, uint64_t bytes_max) {
  std::vector<size_t> chosen;
  uint64_t bytes = 0;
  for (const std::vector<WidthOption>& options : weights) {
    const auto least = std::ranges::min_element(options, {}, &WidthOption::bytes);
    chosen.push_back(static_cast<size_t>(least - options.begin()));
    bytes += least->bytes;
  }
  return bytes <= bytes_max ? std::optional(std::move(chosen)) : std::nullopt;
}

}  // namespace

std::optional<std::vector<size_t>> least_loss(const std::vector<std::vector<WidthOption>>& weights,
                                              uint64_t bytes_max) {
  const uint64_t piece = std::max<uint64_t>(1, bytes_max / kPieces);
  const size_t room = static_cast<size_t>(bytes_max / piece);
  // The least loss of the weights so far within so many pieces, and by which option of the last of them.
  std::vector<double> best(room + 1, 0);
  std::vector<std::vector<uint8_t>> taken;
  for (const std::vector<WidthOption>& options : weights) {
    std::vector<double> next(room + 1, kNone);
    std::vector<uint8_t> by(room + 1);
    for (size_t o = 0; o < options.size(); ++o) {
      const uint64_t pieces = (options[o].bytes + piece - 1) / piece;
      for (size_t at = static_cast<size_t>(std::min<uint64_t>(pieces, room + 1)); at <= room; ++at) {
        const double loss = best[at - pieces] + options[o].loss;
        if (loss >= next[at]) continue;
        next[at] = loss;
        by[at] = static_cast<uint8_t>(o);
      }
    }
    best = std::move(next);
    taken.push_back(std::move(by));
  }
  if (best[room] == kNone) return smallest(weights, bytes_max);
  std::vector<size_t> chosen(weights.size());
  size_t at = room;
  for (size_t i = weights.size(); i-- > 0;) {
    chosen[i] = taken[i][at];
    at -= static_cast<size_t>((weights[i][chosen[i]].bytes + piece - 1) / piece);
  }
  return chosen;
}

}  // namespace coterie
