// The job that is simulated, as its file says it and as far as it can be simulated.
#pragma once

#include <string>

#include "base/result.h"
#include "scheduler/job/job_settings.h"

namespace coterie {

// Errors name the file: malformed (no JSON), invalid_argument (what is wrong with the job, by JSON pointers: an unknown
// kind is among it; a job with noise), and those of reading it.
Result<JobSettings> read_job(const std::string& path);

}  // namespace coterie
