// RoundCurves: what came of a job's rounds that are done, by column, and the same with fewer points for a chart. Pure.
//
// Thinning is MinMax aggregation (Jugel, Jerzak, Hackenbroich, Markl: "M4: A Visualization-Oriented Time Series Data
// Aggregation", PVLDB 7(10), 2014, section 4): of each stretch of rounds a column keeps its least and its greatest
// value, in their order, at the stretch's two ends. So no peak is lost, and a point stands at most a stretch beside its
// round. The newest round stands for itself, as a page says its values in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace coterie {

inline constexpr size_t kCurveRoundsMax = 100'000;  // of a job: its newest so many
inline constexpr size_t kCurvePointsMin = 3;        // a stretch's two, and the newest round
inline constexpr size_t kCurvePointsMax = kCurveRoundsMax;
inline constexpr size_t kCurvePointsDefault = 1'000;

class RoundCurves {
 public:
  // Rounds come in the order of their numbers, or all of them in the other order and reverse() behind the last.
  void add_round(uint64_t number) { rounds_.push_back(number); }
  // For the round that was added last. What is not finite is a gap, as is what nobody sets.
  void set(const std::string& column, double value);
  void reverse();

  const std::vector<uint64_t>& rounds() const { return rounds_; }
  // A column has a value for each round, NaN where there is a gap; or fewer, and the rest are gaps.
  const std::map<std::string, std::vector<double>>& columns() const { return columns_; }

  // At most `points` rounds (kCurvePointsMin where it is less); all of them as they are where there are no more.
  RoundCurves thinned(size_t points) const;

 private:
  std::vector<uint64_t> rounds_;
  std::map<std::string, std::vector<double>> columns_;
};

// {"rounds": all that there are, "exact", "round": [...], "columns": {name: [number or null]}, "sums": {name: number}}
// of at most `points`. Columns without a value are left out. Where it is not exact, values are float32. `sums`: of what
// adds up (accepted, seconds), over all rounds whatever the points are.
nlohmann::json to_json(const RoundCurves& curves, size_t points);

}  // namespace coterie
