// The job that is simulated, as its file says it and as far as it can be simulated.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "scheduler/job/job_settings.h"

namespace coterie {

struct SimulatedJob {
  JobSettings settings;
  bool leaves_files_open = false;  // names neither /model nor /evaluation: whoever simulates it says what they are
};

// `-` is standard input, here and below. Errors name the file: malformed (no JSON), invalid_argument (what is wrong
// with the job, by JSON pointers: an unknown kind is among it; a job with noise), and those of reading it.
Result<SimulatedJob> read_job(const std::string& path);
// What errors call it.
std::string job_file_name(const std::string& path);
// The same in two steps: the file as JSON, and what it says; `where` is named by errors. The model of a job that leaves
// it open is a digest of zeros. A job with analytics is refused in the second, as no model comes of it.
Result<nlohmann::json> read_job_json(const std::string& path);
Result<JobSettings> job_from_json(const nlohmann::json& json, const std::string& where);

}  // namespace coterie
