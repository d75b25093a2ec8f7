// What a tracking server of MLflow is asked, as JSON: its REST API 2.0 (https://mlflow.org/docs/latest/rest-api.html,
// "Create Run", "Log Batch", "Update Run"). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace coterie {

// Limits of one Log Batch, as the server documents them.
inline constexpr size_t kMlflowBatchMax = 1'000;  // metrics and parameters together
inline constexpr size_t kMlflowParamsMax = 100;
inline constexpr size_t kMlflowKeyBytesMax = 250;
inline constexpr size_t kMlflowValueBytesMax = 500;  // of a parameter; newer servers take 6,000

using MlflowParams = std::vector<std::pair<std::string, std::string>>;

struct MlflowMetric {
  std::string key;
  double value = 0;
  WallTime time;
  uint64_t step = 0;
};

enum class MlflowEnd : uint8_t { finished, failed };

// A key of letters, digits, '_', '-', '.', ' ' and '/', at most kMlflowKeyBytesMax: what else it has becomes '_'.
std::string mlflow_key(std::string_view text);

std::string mlflow_create_experiment(const std::string& name);
std::string mlflow_create_run(const std::string& experiment_id, const std::string& run_name, WallTime start);
// At most kMlflowParamsMax parameters, and kMlflowBatchMax with the metrics. Values of parameters are cut at
// kMlflowValueBytesMax.
// Numbers that are not finite are left out: JSON has none.
std::string mlflow_log_batch(const std::string& run_id, std::span<const MlflowMetric> metrics,
                             const MlflowParams& params);
std::string mlflow_update_run(const std::string& run_id, MlflowEnd how, WallTime end);

// Where a run's files go by the server's proxy of artefacts (`mlflow server --serve-artifacts`, its default), by the
// run's `artifact_uri`: "1/ab12/artifacts" of "mlflow-artifacts:/1/ab12/artifacts". None: clients are to write into a
// store of the server's, which is not for us; or it is no path of plain names.
std::optional<std::string> mlflow_artifact_path(std::string_view artifact_uri);

// The text at a JSON pointer of an answer, as "/run/info/run_id". malformed: there is none, or not of 1 to 256 bytes.
Result<std::string> mlflow_text_at(std::string_view answer, const char* pointer);

}  // namespace coterie
