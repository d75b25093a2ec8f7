#include "aggregation/robust/sorted_coordinates.h"

namespace coterie::robust {
namespace {

constexpr RobustSetting kSettings[] = {
    {"liars_max", 1, kLiars, "values that are left out at either end of each coordinate"},
};

// The mean of what is left when the liars_max smallest and the liars_max largest values are gone.
void apply(const RobustTile& tile) {
  const auto cut = static_cast<size_t>(tile.settings[0]);
  for_sorted_coordinates(tile, kEveryRow, [&](std::span<const float> sorted) {
    return mean_of(sorted.subspan(cut, sorted.size() - 2 * cut));
  });
}

}  // namespace

extern const RobustRule kTrimmedMean = {
    .name = "trimmed_mean",
    .sentence = "the mean of each coordinate without its smallest and largest values",
    .source = "Yin et al. 2018",
    .settings = kSettings,
    .loses_under_skew = true,
    .updates_min = [](std::span<const float> settings) { return 2 * static_cast<uint32_t>(settings[0]) + 1; },
    .updates_min_text = "2 liars_max + 1",
    .apply = apply,
};

}  // namespace coterie::robust
