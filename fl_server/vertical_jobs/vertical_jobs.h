// VerticalJobs: the jobs of one coordinator, as its operator sees and steers them. They are the coordinator's: this
// server keeps nothing of them.
//
// Threading: any thread, several at once; each call may block for as long as the coordinator may take.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "vertical/coordinator/job_survey.h"

namespace coterie {

// What an operator may do with a job: to approve one is not among it, as that is a party's signature.
enum class VerticalStep : uint8_t { pause, resume, cancel };

class VerticalJobs {
 public:
  virtual ~VerticalJobs() = default;

  // The tenant that has the jobs.
  virtual const std::string& tenant() const = 0;

  // Errors of all three: unavailable or timed_out, if the coordinator cannot be asked; overloaded, if too many ask.

  // In the order of ids, behind `after`, at most `most` of them.
  virtual Result<vertical::JobSurvey> list(std::optional<vertical::VerticalJobId> after, size_t most) = 0;
  // not_found: the coordinator has no such job.
  virtual Result<vertical::SurveyedJob> get(const vertical::VerticalJobId& job) = 0;
  // As the job is then. not_found; conflict: it is over, or not approved yet.
  virtual Result<vertical::SurveyedJob> steer(const vertical::VerticalJobId& job, VerticalStep step) = 0;
};

}  // namespace coterie
