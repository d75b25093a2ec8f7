#include "tools/mlflow/mlflow_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/assert.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr size_t kIdBytesMax = 256;

// Texts of people: bytes that are no UTF-8 are replaced.
std::string text_of(const json& of) { return of.dump(-1, ' ', false, json::error_handler_t::replace); }

bool is_of_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ' ' || c == '/';
}

}  // namespace

std::string mlflow_key(std::string_view text) {
  std::string key(text.substr(0, kMlflowKeyBytesMax));
  std::ranges::replace_if(
      key, [](char c) { return !is_of_key(c); }, '_');
  return key;
}

std::string mlflow_create_experiment(const std::string& name) { return text_of({{"name", name}}); }

std::string mlflow_create_run(const std::string& experiment_id, const std::string& run_name, WallTime start) {
  return text_of({{"experiment_id", experiment_id}, {"run_name", run_name}, {"start_time", unix_ms(start)}});
}

std::string mlflow_log_batch(const std::string& run_id, std::span<const MlflowMetric> metrics,
                             const MlflowParams& params) {
  COT_ASSERT(params.size() <= kMlflowParamsMax && metrics.size() + params.size() <= kMlflowBatchMax);
  json batch = {{"run_id", run_id}, {"metrics", json::array()}, {"params", json::array()}};
  for (const MlflowMetric& metric : metrics) {
    if (!std::isfinite(metric.value)) continue;
    batch["metrics"].push_back({{"key", mlflow_key(metric.key)},
                                {"value", metric.value},
                                {"timestamp", unix_ms(metric.time)},
                                {"step", metric.step}});
  }
  for (const auto& [key, value] : params) {
    batch["params"].push_back({{"key", mlflow_key(key)}, {"value", value.substr(0, kMlflowValueBytesMax)}});
  }
  return text_of(batch);
}

std::string mlflow_update_run(const std::string& run_id, MlflowEnd how, WallTime end) {
  return text_of(
      {{"run_id", run_id}, {"status", how == MlflowEnd::finished ? "FINISHED" : "FAILED"}, {"end_time", unix_ms(end)}});
}

std::optional<std::string> mlflow_artifact_path(std::string_view artifact_uri) {
  constexpr std::string_view kProxied = "mlflow-artifacts:/";
  if (!artifact_uri.starts_with(kProxied)) return std::nullopt;
  const std::string_view path = artifact_uri.substr(kProxied.size());
  const bool is_plain = std::ranges::all_of(path, [](char c) { return is_of_key(c) && c != ' '; });
  const bool is_whole = !path.empty() && !path.starts_with('/') && !path.ends_with('/') &&
                        path.find("//") == std::string_view::npos && path.find("..") == std::string_view::npos;
  return is_plain && is_whole ? std::optional(std::string(path)) : std::nullopt;
}

Result<std::string> mlflow_text_at(std::string_view answer, const char* pointer) {
  const json read = json::parse(answer, nullptr, /*allow_exceptions=*/false);
  const json::json_pointer at(pointer);
  const bool is_there = !read.is_discarded() && read.contains(at) && read[at].is_string();
  const std::string text = is_there ? read[at].get<std::string>() : std::string();
  if (text.empty() || text.size() > kIdBytesMax) {
    return Error(ErrorCode::malformed,
                 std::string("the answer has no text at ") + pointer + "; is this an MLflow server?");
  }
  return text;
}

}  // namespace coterie
