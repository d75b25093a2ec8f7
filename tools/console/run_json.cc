#include "tools/console/run_json.h"

#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>

#include "fl_server/json/evaluated_heads_json.h"
#include "fl_server/json/json_reader.h"
#include "fl_server/json/rfc3339.h"
#include "fl_server/json/round_curves.h"
#include "fl_server/net/http_types.h"
#include "tools/console/run_heads.h"
#include "tools/console/run_query.h"
#include "tools/data/csv_reader.h"

namespace coterie {
namespace {

using nlohmann::json;

// What summary.json of demo and simulate says that a run was set to. The rest is what came of it.
constexpr const char* kSettings[] = {
    "devices",     "shards",    "data",     "model",      "split",         "fraction",     "objective",
    "optimizer",   "momentum",  "strategy", "batch_size", "learning_rate", "local_epochs", "server_learning_rate",
    "aggregation", "selection", "attack",   "cohort_max", "dropout",       "seed",         "mean_of_last"};
constexpr const char* kResults[] = {"accuracy", "loss", "mae", "r2", "seconds", "model_digest", "update_bytes"};

// Where a column of metrics.csv stands in a round of the API; of the model that it made, where `is_of_model`.
struct MetricColumn {
  const char* name;
  const char* key;
  bool is_of_model = false;
  bool is_curve = true;  // in the curves, too
};
constexpr MetricColumn kColumns[] = {{"attempts", "attempt", false, false},
                                     {"selected", "selected", false, false},
                                     {"accepted", "accepted"},
                                     {"examples", "examples", false, false},
                                     {"train_loss", "train_loss"},
                                     {"train_accuracy", "train_accuracy"},
                                     {"seconds", "seconds"},
                                     {"train_seconds", "train_seconds"},
                                     {"evaluation_loss", "evaluation_loss", true},
                                     {"evaluation_accuracy", "evaluation_accuracy", true},
                                     {"evaluation_mae", "evaluation_mae", true},
                                     {"evaluation_r2", "evaluation_r2", true}};

// Whole numbers stay whole; what is none, or not finite, is null.
json number_in(const std::string& text) {
  const char* const end = text.data() + text.size();
  uint64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc() && read.ptr == end)
    return whole;
  double value = 0;
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end && std::isfinite(value) ? json(value) : json();
}

struct ReadRounds {
  json rounds = json::array();
  std::string problem;
};

ReadRounds parse_rounds(std::string_view text) {
  ReadRounds read;
  const size_t whole = text.rfind('\n') + 1;  // 0: not even a line
  if (whole < text.size()) read.problem = "metrics.csv: its last line is not whole";
  const Result<std::vector<CsvRow>> rows = parse_csv(text.substr(0, whole));
  if (!rows || rows->empty()) {
    read.problem = rows ? "metrics.csv is empty" : rows.error().with_context("metrics.csv").message();
    return read;
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < rows->front().fields.size(); ++i) places.emplace(rows->front().fields[i], i);
  if (!places.contains("round")) {
    read.problem = "metrics.csv: there is no column `round`";
    return read;
  }
  const RunHeads heads(rows->front().fields);
  for (const CsvRow& row : std::span(*rows).subspan(1)) {
    json number = number_in(row.fields[places.at("round")]);
    if (!number.is_number_unsigned()) {
      read.problem = "metrics.csv: line " + std::to_string(row.line) + ": the round is no number";
      break;
    }
    if (read.rounds.size() == kShownRoundsMax) {
      read.problem = "metrics.csv: the first " + std::to_string(kShownRoundsMax) + " rounds are shown";
      break;
    }
    json round = {{"number", number}, {"attempt", 1}, {"state", "done"}, {"model", {{"version", number}}}};
    for (const MetricColumn& column : kColumns) {
      const auto place = places.find(column.name);
      if (place == places.end()) continue;
      (column.is_of_model ? round["model"] : round)[column.key] = number_in(row.fields[place->second]);
    }
    if (const auto own = heads.in(row.fields); !own.empty()) round["model"]["evaluation_heads"] = to_json(own);
    read.rounds.push_back(std::move(round));
  }
  return read;
}

// Null, with a problem, where it cannot be read.
json read_summary(const Bytes& bytes, std::string& problem) {
  Problems problems;
  std::optional<json> read = parse_json(as_text(bytes), problems);
  if (read && read->is_object()) return std::move(*read);
  problem = "summary.json is no JSON object" + (problems.empty() ? "" : ": " + listed(problems));
  return {};
}

void join(std::string& all, const std::string& more) {
  if (!more.empty()) all += (all.empty() ? "" : "; ") + more;
}

bool is_absent(const Result<Bytes>& file) { return !file && file.error().code() == ErrorCode::not_found; }

ReadRounds read_rounds(const Result<Bytes>& metrics) {
  if (metrics) return parse_rounds(as_text(*metrics));
  return {.rounds = json::array(), .problem = is_absent(metrics) ? std::string() : metrics.error().message()};
}

// Null: there is none.
json model_json(const RunFiles& files, const json& summary, const json& rounds) {
  if (!files.model) return {};
  json model = {{"version", rounds.empty() ? json(0) : rounds.back()["number"]},
                {"bytes", files.model->bytes},
                {"created", rfc3339(files.model->written)}};
  if (summary.is_object() && summary.value("model_digest", json()).is_string())
    model["digest"] = summary["model_digest"];
  return model;
}

}  // namespace

json shown_job(const ListedRun& run, const RunFiles& files) {
  std::string damage, gap;
  json summary;
  if (files.summary) summary = read_summary(*files.summary, damage);
  else if (!is_absent(files.summary)) damage = files.summary.error().message();
  const ReadRounds read = read_rounds(files.metrics);
  join(damage, read.problem);
  if (files.has_table) gap = "a job with analytics: its tables are result.json and chart.svg in the folder";
  else if (is_absent(files.summary)) gap = "there is no summary.json: the run goes on, or has ended early";
  else if (is_absent(files.metrics)) damage = "there is no metrics.csv";

  json spec = {{"name", run.name}, {"rounds", json::object()}, {"privacy", json::object()}};
  json results = json::object();
  if (!run.variant.empty()) spec["variant"] = run.variant;
  if (summary.is_object()) {
    for (const char* key : kSettings) {
      if (summary.contains(key)) spec[key] = summary[key];
    }
    for (const char* key : kResults) {
      if (summary.contains(key)) results[key] = summary[key];
    }
    if (summary.contains("security")) spec["privacy"]["level"] = summary["security"];
    if (const auto found = summary.find("rounds"); found != summary.end() && found->is_number_unsigned())
      spec["rounds"]["count"] = *found;
    if (const auto found = summary.find("privacy"); found != summary.end()) results["privacy"] = *found;
  }
  std::string state = "completed", reason = gap;
  if (!files.changed) {
    state = "waiting";
    reason = "this run of the sweep has not begun";
  } else if (!files.has_table && is_absent(files.summary)) {
    state = "unfinished";
    reason = damage;
    join(reason, gap);
  } else if (!damage.empty()) {
    state = "damaged";
    reason = damage;
  }
  json job = {
      {"id", run.id},         {"state", state},    {"spec", std::move(spec)}, {"rounds_done", read.rounds.size()},
      {"folder", run.folder}, {"results", results}};
  if (json model = model_json(files, summary, read.rounds); !model.is_null()) job["model"] = std::move(model);
  if (!reason.empty()) job["reason"] = reason;
  if (files.changed) job["created"] = rfc3339(*files.changed);
  return job;
}

json shown_model(const RunFiles& files) {
  std::string problem;
  return model_json(files, files.summary ? read_summary(*files.summary, problem) : json(),
                    read_rounds(files.metrics).rounds);
}

Result<json> run_rounds_page(const RunFiles& files, std::string_view query) {
  COT_ASSIGN(const auto asked, parse_query(query));
  uint64_t limit = kRunPageDefault;
  std::optional<uint64_t> before;
  bool are_done_asked = true;
  for (const auto& [key, value] : asked) {
    if (key == "limit") {
      COT_ASSIGN(limit, run_query_number(key, value, 1, kRunPageMax));
    } else if (key == "before") {  // a round has one row here, whatever its attempt is
      COT_ASSIGN(before, run_query_number(key, value.substr(0, value.find('.')), 0, INT64_MAX));
    } else if (key == "state") {  // a run tells no round but those that are done
      are_done_asked = value == "done";
    }
  }
  const json rounds = are_done_asked ? shown_rounds(files) : json::array();
  json page = {{"rounds", json::array()}};
  for (const json& round : std::views::reverse(rounds)) {
    if (before && round["number"].get<uint64_t>() >= *before) continue;
    if (page["rounds"].size() == limit) {
      const json& last = page["rounds"].back();
      page["next_before"] = last["number"].dump() + "." + last["attempt"].dump();
      break;
    }
    page["rounds"].push_back(round);
  }
  return page;
}

Result<json> run_curves(const RunFiles& files, std::string_view query) {
  COT_ASSIGN(const auto asked, parse_query(query));
  uint64_t points = kCurvePointsDefault;
  for (const auto& [key, value] : asked) {
    if (key == "points") {
      COT_ASSIGN(points, run_query_number(key, value, kCurvePointsMin, kCurvePointsMax));
    }
  }
  RoundCurves curves;
  for (const json& round : shown_rounds(files)) {
    const uint64_t number = round["number"].get<uint64_t>();
    if (!curves.rounds().empty() && number <= curves.rounds().back()) continue;  // a file may say so; a curve goes on
    curves.add_round(number);
    for (const MetricColumn& column : kColumns) {
      const json& of = column.is_of_model ? round["model"] : round;
      const auto value = of.find(column.key);
      if (column.is_curve && value != of.end() && value->is_number()) curves.set(column.key, value->get<double>());
    }
    for (const auto& [name, value] : columns_of(evaluated_heads_in(round["model"]))) curves.set(name, value);
  }
  return to_json(curves, points);
}

json shown_rounds(const RunFiles& files) { return read_rounds(files.metrics).rounds; }

}  // namespace coterie
