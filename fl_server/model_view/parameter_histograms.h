// What the values of a stored model's parameters are like: of each tensor its size, range, mean and spread, zeros,
// values that are no numbers, and how many lie in each of equal stretches from the least to the greatest.
//
// One question reads kHistogramBytesMax of the file at most, whatever the model: as many tensors as lie in so many
// bytes, or one that is larger by itself, at evenly spread places.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "fl_server/model_view/model_file.h"

namespace coterie {

inline constexpr size_t kHistogramBins = 32;
inline constexpr uint64_t kHistogramBytesMax = 16ull << 20;  // read for one page
inline constexpr uint64_t kHistogramPieces = 256;            // of a tensor that is larger than that

struct ParameterHistogram {
  uint32_t tensor = 0;  // of the graph
  uint64_t count = 0;   // its values
  uint64_t read = 0;    // those that all below is of
  uint64_t zeros = 0;   // of either sign
  uint64_t non_finite = 0;
  // By the finite ones alone; 0 where there are none. `deviation` is the population's: sqrt(mean of (x - mean)^2).
  double min = 0, max = 0, mean = 0, deviation = 0;
  // [min + i w, min + (i + 1) w) with w = (max - min) / kHistogramBins; the last one has max, too. If all are the same
  // the first has them.
  std::array<uint64_t, kHistogramBins> bins{};
};

// Two passes, in double. Pure.
ParameterHistogram histogram_of(std::span<const float> values);

struct HistogramPage {
  std::vector<ParameterHistogram> histograms;
  std::optional<uint64_t> next;  // `passed` of the next page; none: this was the last
};

// At most `limit` (1 or more) tensors behind the first `passed`, in the order of the payload. Trained, frozen and
// running statistics are parameters here. Errors: those of the file.
Result<HistogramPage> read_histograms(const ModelFile& file, uint64_t passed, uint64_t limit);

// ModelParameters of docs/openapi.json.
nlohmann::json to_json(const HistogramPage& page, const ModelGraph& graph);

}  // namespace coterie
