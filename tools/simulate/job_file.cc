#include "tools/simulate/job_file.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "base/os/standard_input.h"
#include "fl_server/json/job_json.h"
#include "fl_server/json/json_reader.h"
#include "proto/messages/analytics_lanes.h"

namespace coterie {
namespace {

constexpr uint64_t kJobBytesMax = 1 << 20;

bool leaves_evaluated_open(const nlohmann::json& json) {
  const auto analytics = json.is_object() ? json.find("analytics") : json.end();
  if (!json.is_object() || analytics == json.end() || !analytics->is_object()) return false;
  const nlohmann::json kind = analytics->value("kind", nlohmann::json());
  const bool runs_model =
      kind == to_string(AnalyticsKind::evaluation) || kind == to_string(AnalyticsKind::activation_ranges);
  return runs_model && !analytics->contains("model");
}

bool leaves_files_open(const nlohmann::json& json) {
  return json.is_object() && !json.contains("model") && !json.contains("evaluation");
}

// A job that trains, or counts.
Result<JobSettings> read_settings(const nlohmann::json& json, const std::string& where) {
  Problems problems;
  nlohmann::json whole = json;
  if (leaves_files_open(json)) {
    whole["model"] = Digest().hex();
    if (!json.contains("analytics")) whole["evaluation"] = Digest().hex();  // which do not go with it
  }
  if (leaves_evaluated_open(json)) whole["analytics"]["model"] = Digest().hex();
  JobSettings job = job_settings_from_json(whole, problems);
  if (!problems.empty()) return Error(ErrorCode::invalid_argument, where + ": " + listed(problems));
  const PrivacySettings& privacy = job.horizontal().privacy;
  if (privacy.has_noise()) {
    return Error(ErrorCode::invalid_argument,
                 where +
                     ": /privacy/noise_multiplier: a simulation has no privacy ledger to release noisy sums from, so "
                     "jobs with noise are not simulated; set it to 0, or use `coterie demo`");
  }
  return job;
}

}  // namespace

std::string job_file_name(const std::string& path) {
  return path == os::kStandardInputPath ? std::string(os::kStandardInputName) : path;
}

Result<nlohmann::json> read_job_json(const std::string& path) {
  const bool is_piped = path == os::kStandardInputPath;
  COT_ASSIGN(const Bytes file, is_piped ? os::read_standard_input(kJobBytesMax) : os::read_file(path, kJobBytesMax));
  Problems problems;
  std::optional<nlohmann::json> json = parse_json(as_text(file), problems);
  if (!json) return Error(ErrorCode::malformed, job_file_name(path) + ": " + listed(problems));
  return *std::move(json);
}

Result<JobSettings> job_from_json(const nlohmann::json& json, const std::string& where) {
  COT_ASSIGN(JobSettings job, read_settings(json, where));
  if (job.horizontal().analytics) {
    return Error(ErrorCode::invalid_argument,
                 where +
                     ": /analytics: variants are compared by how well their models do, and counts make none: take "
                     "`coterie simulate`");
  }
  return job;
}

Result<SimulatedJob> read_job(const std::string& path) {
  COT_ASSIGN(const nlohmann::json json, read_job_json(path));
  COT_ASSIGN(JobSettings settings, read_settings(json, job_file_name(path)));
  return SimulatedJob{std::move(settings), leaves_files_open(json)};
}

}  // namespace coterie
