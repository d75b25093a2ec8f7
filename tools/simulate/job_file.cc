#include "tools/simulate/job_file.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "fl_server/json/job_json.h"
#include "fl_server/json/json_reader.h"

namespace coterie {
namespace {

constexpr uint64_t kJobBytesMax = 1 << 20;

}  // namespace

Result<JobSettings> read_job(const std::string& path) {
  COT_ASSIGN(const Bytes file, os::read_file(path, kJobBytesMax));
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(as_text(file), problems);
  if (!json) return Error(ErrorCode::malformed, path + ": " + listed(problems));
  JobSettings job = job_settings_from_json(*json, problems);
  if (!problems.empty()) return Error(ErrorCode::invalid_argument, path + ": " + listed(problems));
  const PrivacySettings& privacy = job.horizontal().privacy;
  if (privacy.has_noise()) {
    return Error(ErrorCode::invalid_argument,
                 path +
                     ": /privacy/noise_multiplier: a simulation has no privacy ledger to release noisy sums from, so "
                     "jobs with noise are not simulated; set it to 0, or use `coterie demo`");
  }
  return job;
}

}  // namespace coterie
