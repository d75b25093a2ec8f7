#include "fl_server/model_view/parameter_histograms.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "device_sdk/watch/tensor_statistics.h"

namespace coterie {
namespace {

using nlohmann::json;

struct StoredTensor {
  uint32_t tensor = 0;
  uint64_t offset = 0, count = 0;
  uint64_t end() const { return offset + count * sizeof(float); }
};

Result<std::vector<StoredTensor>> stored_tensors(const ModelGraph& graph) {
  std::vector<StoredTensor> stored;
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorInfo& tensor = graph.tensors[i];
    if (!has_payload(tensor.role)) continue;
    COT_ASSIGN(const uint64_t count, element_count(tensor.shape));
    stored.push_back({i, tensor.payload_offset, count});
  }
  std::ranges::sort(stored, {}, &StoredTensor::offset);
  return stored;
}

Result<std::vector<float>> read_values(const ModelFile& file, uint64_t offset, uint64_t count) {
  std::vector<float> values(count);
  COT_TRY(file.read(offset, values));
  return values;
}

// kHistogramPieces pieces of the same length, whose first begins where the tensor does and whose last ends there.
Result<std::vector<float>> sample_values(const ModelFile& file, const StoredTensor& tensor) {
  constexpr uint64_t kPiece = kHistogramBytesMax / sizeof(float) / kHistogramPieces;
  std::vector<float> values(kPiece * kHistogramPieces);
  for (uint64_t i = 0; i < kHistogramPieces; ++i) {
    // Exact below 2^64: a payload has fewer than 2^34 values.
    const uint64_t first = (tensor.count - kPiece) * i / (kHistogramPieces - 1);
    COT_TRY(file.read(tensor.offset + first * sizeof(float), std::span(values).subspan(i * kPiece, kPiece)));
  }
  return values;
}

ParameterHistogram shown(const StoredTensor& tensor, std::span<const float> values) {
  ParameterHistogram histogram = histogram_of(values);
  histogram.tensor = tensor.tensor;
  histogram.count = tensor.count;
  return histogram;
}

}  // namespace

ParameterHistogram histogram_of(std::span<const float> values) {
  const TensorStatistics known = statistics_of(values);
  const double mean = known.mean();
  ParameterHistogram histogram{.count = known.count,
                               .read = known.count,
                               .zeros = known.zeros,
                               .non_finite = known.non_finite(),
                               .min = known.min,
                               .max = known.max,
                               .mean = mean};
  const double scale = known.max > known.min ? kHistogramBins / (known.max - known.min) : 0;
  double squares = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double x = static_cast<double>(value);
    squares += (x - mean) * (x - mean);
    const auto bin = static_cast<size_t>((x - known.min) * scale);
    ++histogram.bins[std::min(bin, kHistogramBins - 1)];
  }
  if (known.finite() > 0) histogram.deviation = std::sqrt(squares / static_cast<double>(known.finite()));
  return histogram;
}

Result<HistogramPage> read_histograms(const ModelFile& file, uint64_t passed, uint64_t limit) {
  COT_ASSIGN(const std::vector<StoredTensor> stored, stored_tensors(file.graph()));
  HistogramPage page;
  const size_t first = std::min<uint64_t>(passed, stored.size());
  size_t end = first;
  while (end < stored.size() && end - first < limit && stored[end].end() - stored[first].offset <= kHistogramBytesMax) {
    ++end;
  }
  if (end > first) {
    const uint64_t begin = stored[first].offset;
    COT_ASSIGN(const std::vector<float> values,
               read_values(file, begin, (stored[end - 1].end() - begin) / sizeof(float)));
    for (size_t i = first; i < end; ++i) {
      const uint64_t at = (stored[i].offset - begin) / sizeof(float);
      page.histograms.push_back(shown(stored[i], std::span(values).subspan(at, stored[i].count)));
    }
  } else if (first < stored.size()) {
    COT_ASSIGN(const std::vector<float> values, sample_values(file, stored[first]));
    page.histograms.push_back(shown(stored[first], values));
    ++end;
  }
  if (end < stored.size()) page.next = end;
  return page;
}

json to_json(const HistogramPage& page, const ModelGraph& graph) {
  json parameters = json::array();
  for (const ParameterHistogram& each : page.histograms) {
    const TensorInfo& tensor = graph.tensors[each.tensor];
    json shown = {{"name", tensor.name},   {"role", tensor.role == TensorRole::state ? "state" : "parameter"},
                  {"shape", tensor.shape}, {"frozen", tensor.is_frozen},
                  {"values", each.count},  {"read", each.read},
                  {"zeros", each.zeros},   {"non_finite", each.non_finite}};
    if (each.read > each.non_finite) {
      shown.update({{"min", each.min},
                    {"max", each.max},
                    {"mean", each.mean},
                    {"deviation", each.deviation},
                    {"bins", each.bins}});
    }
    parameters.push_back(std::move(shown));
  }
  json answer = {{"parameters", std::move(parameters)}};
  if (page.next) answer["next_after"] = *page.next;
  return answer;
}

}  // namespace coterie
