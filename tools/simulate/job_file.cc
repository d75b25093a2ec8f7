#include "tools/simulate/job_file.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "fl_server/json/job_json.h"
#include "fl_server/json/json_reader.h"

namespace coterie {
namespace {

constexpr uint64_t kJobBytesMax = 1 << 20;

}  // namespace

Result<nlohmann::json> read_job_json(const std::string& path) {
  COT_ASSIGN(const Bytes file, os::read_file(path, kJobBytesMax));
  Problems problems;
  std::optional<nlohmann::json> json = parse_json(as_text(file), problems);
  if (!json) return Error(ErrorCode::malformed, path + ": " + listed(problems));
  return *std::move(json);
}

Result<JobSettings> job_from_json(const nlohmann::json& json, const std::string& where) {
  Problems problems;
  JobSettings job = job_settings_from_json(json, problems);
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

Result<JobSettings> read_job(const std::string& path) {
  COT_ASSIGN(const nlohmann::json json, read_job_json(path));
  return job_from_json(json, path);
}

}  // namespace coterie
