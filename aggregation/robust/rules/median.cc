#include "aggregation/robust/sorted_coordinates.h"

namespace coterie::robust {
namespace {

void apply(const RobustTile& tile) { for_sorted_coordinates(tile, kEveryRow, median_of); }

}  // namespace

extern const RobustRule kMedian = {
    .name = "median",
    .sentence = "the median of each coordinate",
    .source = "Yin et al. 2018",
    .settings = {},
    .loses_under_skew = true,
    .updates_min = [](std::span<const float>) { return 3u; },
    .updates_min_text = "3",
    .apply = apply,
};

}  // namespace coterie::robust
