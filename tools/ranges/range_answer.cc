#include "tools/ranges/range_answer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fl_server/json/json_reader.h"
#include "fl_server/json/ranges_json.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/range_lanes.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr int kNameColumns = 28;  // with the others a line has at most 80
constexpr double kBeyondMax = 1e-3;
constexpr double kCountMax = 0x1p53;  // of either sign: far above sums and their noise, and its square is a number

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, "ranges: " + what); }

// Where a tensor's values are, for people: "0 to 5" of what counts.
struct Seen {
  double low = 0, high = 0;
  bool is_beyond = false;  // some are beyond the outermost bins, which end there
};

Seen seen_in(const RangeRules& rules, std::span<const double> weights) {
  const ActivationHistogram histogram = range_histogram(rules, weights);
  double all = 0;
  for (const double weight : weights) all += weight;
  return {histogram.low, histogram.high, weights.front() + weights.back() > kBeyondMax * all};
}

std::string whole_in(const nlohmann::json& json, const char* key, const std::string& noun) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned()) return noun + "s";
  return counted(found->get<uint64_t>(), noun);
}

}  // namespace

bool is_range_answer(const nlohmann::json& answer) {
  return answer.is_object() && answer.value("schema", nlohmann::json()) == kRangesSchema;
}

Result<CountedRanges> parse_ranges(const nlohmann::json& answer) {
  if (!is_range_answer(answer)) {
    return malformed("it is no " + std::string(kRangesSchema) + ", the answer of a job of kind activation_ranges");
  }
  CountedRanges counted;
  AnalyticsRules rules{.kind = AnalyticsKind::activation_ranges};
  RangeRules& own = rules.evaluation.emplace().ranges.emplace();
  Problems problems;
  JsonReader reader(answer, "", problems);
  reader.require("model");
  reader.read("model", counted.model);
  reader.read("noise_deviation", counted.noise_deviation);
  read_range_bins(reader, own);
  reader.require("tensors");
  for (JsonReader& tensor : reader.objects("tensors")) {
    if (own.tensors.size() == kRangeTensorsMax) return malformed("there are too many tensors");
    tensor.require("name");
    tensor.read("name", own.tensors.emplace_back());
    tensor.require("counts");
    tensor.read("counts", counted.counts.emplace_back());
  }
  if (!problems.empty()) return malformed(listed(problems));
  rules.evaluation->models = {{counted.model, 0}};
  rules.lane_max = range_lane_max(own, rules.values_max);
  if (const Status good = validate(rules); !good) return malformed(good.error().message());
  if (!(counted.noise_deviation >= 0 && counted.noise_deviation <= kCountMax)) {
    return malformed("noise_deviation must be in [0, 2^53]");
  }
  const auto has_bins = [&](const std::vector<double>& counts) { return counts.size() == range_bins(own); };
  if (!std::ranges::all_of(counted.counts, has_bins)) {
    return malformed("each tensor must have " + std::to_string(range_bins(own)) + " counts");
  }
  const auto are_counts = [](const std::vector<double>& counts) {
    return std::ranges::all_of(counts, [](double count) { return std::abs(count) <= kCountMax; });
  };
  if (!std::ranges::all_of(counted.counts, are_counts)) return malformed("counts must be within 2^53");
  counted.rules = std::move(own);
  return counted;
}

Result<CountedRanges> read_ranges(std::string_view text) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json) return malformed(listed(problems));
  return parse_ranges(*json);
}

Result<std::string> ranges_text(const nlohmann::json& answer) {
  COT_ASSIGN(const CountedRanges counted, parse_ranges(answer));
  using enum Table::Align;
  Table table({{"TENSOR"}, {"FROM", right}, {"TO", right}, {"BINS", right}});
  const uint64_t lanes = uint64_t{range_bins(counted.rules)} * counted.rules.tensors.size();
  bool is_beyond = false;
  for (size_t i = 0; i < counted.counts.size(); ++i) {
    const std::vector<double> weights = range_weights(counted.rules, counted.counts[i], lanes, counted.noise_deviation);
    const auto bins = std::ranges::count_if(weights, [](double weight) { return weight > 0; });
    const Seen seen = seen_in(counted.rules, weights);
    is_beyond = is_beyond || seen.is_beyond;
    table.add({shortened_in_middle(counted.rules.tensors[i], kNameColumns), bins > 0 ? format_digits(seen.low) : "-",
               bins > 0 ? format_digits(seen.high) : "-", std::to_string(bins)});
  }
  std::string text = "ranges of the activations of model " + counted.model.hex().substr(0, 12) + "..\n" +
                     whole_in(answer, "updates", "update") + " in " + whole_in(answer, "rounds", "round");
  if (counted.noise_deviation > 0) {
    text += "\nnoise of deviation " + format_digits(counted.noise_deviation) + " in each bin; shown are bins above it";
  }
  text += "\n\n" + table.text();
  if (is_beyond) {
    text += "values are beyond 2^" + std::to_string(counted.rules.exponent_high) +
            ", where they are cut: a larger exponent_high tells how far\n";
  }
  return text;
}

}  // namespace coterie
