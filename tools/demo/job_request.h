// The job that a demo asks its server for.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "scheduler/job/job_settings.h"
#include "tools/demo/options.h"

namespace coterie {

// The noise multiplier and the epsilon of all rounds that follow from the options: what is not given is found by the
// other. invalid_argument if there is no clip, or no multiplier that reaches the target.
struct DemoNoise {
  double noise_multiplier = 0;
  double epsilon_budget = 0;
};
// `value_count`: of the values that say how far the model moves (ModelValues).
Result<DemoNoise> noise_of(const DemoOptions& options, uint64_t value_count);

// What devices do.
TrainingSettings training_of(const DemoOptions& options);

// That the job's devices are in; 0: in none.
uint32_t groups_of(const DemoOptions& options);

// All but the model and the evaluation data, which are uploaded before.
Result<HorizontalSettings> job_settings(const DemoOptions& options, uint64_t value_count);

// With these files, which are uploaded before. Errors: those of job_settings.
Result<JobSettings> demo_job(const DemoOptions& options, uint64_t value_count, const Digest& model,
                             const Digest& evaluation);

// As the admin plane takes it, with every setting spelt out: JSON, and a newline.
std::string to_text(const JobSettings& job);
// The same of demo_job.
Result<std::string> job_request(const DemoOptions& options, uint64_t value_count, const Digest& model,
                                const Digest& evaluation);

}  // namespace coterie
