#include "device_sdk/runtime/example_part.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace coterie {
namespace {

constexpr uint64_t kDraw = 0x686f6c64206f7574;  // no meaning but that it never changes

}  // namespace

uint64_t held_out_count(uint64_t count, float share) {
  // A share of .35 is one as a float, too, and 7 of 20.
  const auto millionths = static_cast<uint64_t>(std::llround(static_cast<double>(share) * 1e6));
  return count * millionths / 1'000'000;
}

ExampleSplit split_examples(uint64_t count, float share) {
  std::vector<std::pair<uint64_t, uint32_t>> drawn(count);
  for (uint32_t i = 0; i < drawn.size(); ++i) drawn[i] = {Prng::derived(kDraw, i).next(), i};
  const auto end = drawn.begin() + static_cast<ptrdiff_t>(held_out_count(count, share));
  if (end != drawn.end()) std::nth_element(drawn.begin(), end, drawn.end());
  ExampleSplit split;
  for (auto each = drawn.begin(); each != drawn.end(); ++each) {
    (each < end ? split.held_out : split.trained).push_back(each->second);
  }
  std::sort(split.trained.begin(), split.trained.end());
  std::sort(split.held_out.begin(), split.held_out.end());
  return split;
}

}  // namespace coterie
