// How well one number tells two kinds of examples apart, and how sure that is. Pure.
#pragma once

#include <optional>
#include <vector>

namespace coterie {

// The area under the ROC curve, which is how likely a value of the one kind is higher than one of the other, ties
// counting half (Mann and Whitney 1947); and its 95 % interval by the variance of placements (DeLong, DeLong and
// Clarke-Pearson 1988), in [0, 1]. Kinds that do not overlap have no such variance: there it is Wilson's interval of as
// many successes as the smaller kind has values. Else the interval is everything where a kind has one value.
struct RankArea {
  double area = 0.5, low = 0, high = 1;
};

// None where a kind has no value. Values may be infinite, and are never NaN.
std::optional<RankArea> rank_area(std::vector<double> higher, std::vector<double> lower);

}  // namespace coterie
