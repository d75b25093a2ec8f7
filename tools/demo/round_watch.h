// RoundWatch: a job's rounds on the screen as they happen, until the job is over; for the demo and for `job watch`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tools/admin/follow_job.h"
#include "tools/demo/progress.h"

namespace coterie {

class RoundWatch {
 public:
  // `rounds`: how many the job shall do. `admin` and `progress` outlive the watch.
  RoundWatch(AdminClient& admin, std::string job, uint64_t rounds, ProgressLine& progress)
      : admin_(admin), job_(std::move(job)), follower_(admin, job_), rounds_(rounds), progress_(progress) {}

  // Asks once and prints the news. True when the job is over. Errors: the admin plane's; timed_out if nothing has
  // changed for ten minutes, saying what is waited for (not while the job is paused).
  Result<bool> look(Instant now);

  // The round under way, as of the last look.
  const std::optional<RoundReport>& live() const { return live_; }

  // When it is over: fine if the job is completed, else an error with the server's reason.
  Status check_completed();
  // Every attempt that has ended, oldest first.
  std::vector<RoundReport> take_attempts() { return std::move(attempts_); }

 private:
  double seconds_left(const RoundReport& live) const;

  AdminClient& admin_;
  std::string job_;
  JobFollower follower_;
  uint64_t rounds_;
  ProgressLine& progress_;
  std::string state_;
  std::vector<RoundReport> attempts_;
  std::optional<RoundReport> live_;
  std::optional<Instant> changed_;
};

}  // namespace coterie
