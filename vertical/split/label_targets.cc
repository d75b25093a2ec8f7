#include "vertical/split/label_targets.h"

#include <cmath>

#include "vertical/split/split_random.h"

namespace coterie::vertical {

LabelTargets label_targets(std::span<const float> labels, double epsilon, const Secret<32>& seed) {
  LabelTargets made;
  const double turned = epsilon > 0 ? 1 / (1 + std::exp(epsilon)) : 0;
  std::vector<uint64_t> words;
  if (epsilon > 0) words = split_words(seed, SplitDraw::label_flips, 0, labels.size());
  for (size_t row = 0; row < labels.size(); ++row) {
    bool is_one = labels[row] == 1;
    if (epsilon > 0 && uniform_of(words[row]) < turned) is_one = !is_one;
    made.labels.push_back(is_one ? 1 : 0);
    made.targets.push_back(static_cast<float>(((is_one ? 1.0 : 0.0) - turned) / (1 - 2 * turned)));
  }
  return made;
}

}  // namespace coterie::vertical
