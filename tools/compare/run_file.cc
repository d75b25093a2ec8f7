#include "tools/compare/run_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "fl_server/json/json_reader.h"
#include "tools/cli/table.h"
#include "tools/data/csv_reader.h"

namespace coterie {
namespace {

constexpr uint64_t kMetricsBytesMax = 64 << 20;  // some 600,000 rounds
constexpr uint64_t kSummaryBytesMax = 1 << 20;

Error malformed(const CsvRow& row, const std::string& what) {
  return Error(ErrorCode::malformed, "line " + std::to_string(row.line) + ": " + what);
}

Result<size_t> column_of(const CsvRow& header, std::string_view name) {
  const auto found = std::ranges::find(header.fields, name);
  if (found != header.fields.end()) return static_cast<size_t>(found - header.fields.begin());
  return malformed(header, "there is no column `" + std::string(name) + "`; a run's metrics have it");
}

template <typename T>
Result<T> number_in(const CsvRow& row, size_t column) {
  const std::string& text = row.fields[column];
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return malformed(row, "`" + printable(text) + "` is no number");
}

// A model that diverged has a loss that is none.
Result<std::optional<double>> value_in(const CsvRow& row, size_t column) {
  if (row.fields[column].empty()) return std::optional<double>();
  COT_ASSIGN(const double value, number_in<double>(row, column));
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// A loss that is not finite is written as null.
Result<RunRecord> parse_summary(std::string_view text) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json || !json->is_object()) return Error(ErrorCode::malformed, "is no JSON object: " + listed(problems));
  RunRecord run;
  const auto number = [&](const char* key) {
    const auto found = json->find(key);
    if (found != json->end() && found->is_number()) return found->get<double>();
    return std::nan("");
  };
  if (json->contains("r2")) run.metric = RunMetric::r2;
  run.score = number(to_string(run.metric).data());
  run.loss = number("loss");
  // Behind targets that are all the same there is no R2, and simulate writes null.
  if (run.metric == RunMetric::r2 && json->at("r2").is_null()) {
    return Error(ErrorCode::malformed, "has no R2, as the held-out targets are all the same");
  }
  const auto seed = json->find("seed");
  if (seed == json->end() || !seed->is_number_unsigned() || !std::isfinite(run.score)) {
    return Error(ErrorCode::malformed, "has no `seed` and `accuracy` or `r2`; a run's summary has them");
  }
  run.seed = seed->get<uint64_t>();
  return run;
}

}  // namespace

std::string_view to_string(RunMetric metric) { return metric == RunMetric::r2 ? "r2" : "accuracy"; }
std::string_view shown(RunMetric metric) { return metric == RunMetric::r2 ? "R2" : "accuracy"; }

Result<std::vector<RunRound>> parse_metrics(std::string_view csv, RunMetric metric) {
  COT_ASSIGN(const std::vector<CsvRow> rows, parse_csv(csv));
  if (rows.empty()) return Error(ErrorCode::malformed, "is empty");
  COT_ASSIGN(const size_t number, column_of(rows[0], "round"));
  COT_ASSIGN(const size_t score, column_of(rows[0], "evaluation_" + std::string(to_string(metric))));
  COT_ASSIGN(const size_t loss, column_of(rows[0], "evaluation_loss"));
  std::vector<RunRound> rounds;
  for (const CsvRow& row : std::span(rows).subspan(1)) {
    RunRound round;
    COT_ASSIGN(round.number, number_in<uint64_t>(row, number));
    COT_ASSIGN(round.score, value_in(row, score));
    COT_ASSIGN(round.loss, value_in(row, loss));
    if (!rounds.empty() && round.number <= rounds.back().number) {
      return malformed(row, "round " + std::to_string(round.number) + " follows round " +
                                std::to_string(rounds.back().number) + "; they ascend");
    }
    rounds.push_back(round);
  }
  return rounds;
}

Result<RunRecord> read_run(const std::string& folder) {
  const auto read = [&](const char* name, uint64_t bytes_max) { return os::read_file(folder + "/" + name, bytes_max); };
  COT_ASSIGN(const Bytes summary, read("summary.json", kSummaryBytesMax));
  Result<RunRecord> run = parse_summary(as_text(summary));
  if (!run) return run.error().with_context(folder + "/summary.json");
  run->folder = folder;
  COT_ASSIGN(const Bytes metrics, read("metrics.csv", kMetricsBytesMax));
  Result<std::vector<RunRound>> rounds = parse_metrics(as_text(metrics), run->metric);
  if (!rounds) return rounds.error().with_context(folder + "/metrics.csv");
  run->rounds = std::move(*rounds);
  return run;
}

}  // namespace coterie
