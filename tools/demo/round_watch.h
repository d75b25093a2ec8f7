// RoundWatch: a job's rounds on the screen as they happen, until the job is over. The demo looks, as often as it looks
// after its devices; `job watch` hears the job's events.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tools/admin/event_parser.h"
#include "tools/admin/follow_job.h"
#include "tools/demo/divergence.h"
#include "tools/demo/progress.h"

namespace coterie {

class RoundWatch {
 public:
  // `rounds`: how many the job shall do. `progress` outlives the watch.
  // `guess`: what a model has to be better than, as is said once of a job that is not; none: not known.
  RoundWatch(JobFollower::Get get, std::string job, uint64_t rounds, ProgressLine& progress,
             std::optional<GuessLevel> guess = std::nullopt)
      : get_(std::move(get)),
        job_(std::move(job)),
        follower_(get_, job_),
        rounds_(rounds),
        progress_(progress),
        guess_(guess) {}

  // Asks once and prints the news. True when the job is over. Errors: the admin plane's; timed_out if nothing has
  // changed for ten minutes, saying what is waited for (not while the job is paused).
  Result<bool> look(Instant now);
  // Shows what the job's events say, none for one that only says that the server lives. Asks as look() does, once,
  // where they do not say it all: at first, when a round or the job has ended, and when events were missed. Errors:
  // also malformed.
  Result<bool> hear(const std::vector<SentEvent>& events, Instant now);

  // The round under way, as of the last look or event.
  const std::optional<RoundReport>& live() const { return live_; }

  // When it is over: fine if the job is completed, else an error with the server's reason.
  Status check_completed();
  // Every attempt that has ended, oldest first.
  const std::vector<RoundReport>& attempts() const { return attempts_; }
  std::vector<RoundReport> take_attempts() { return std::move(attempts_); }
  // What the job has spent by the last look; none without noise, or where nothing is protected.
  std::optional<double> epsilon() const { return epsilon_; }

 private:
  // False, or timed_out.
  Result<bool> show(Instant now);
  void warn(const RoundReport& round);
  double seconds_left(const RoundReport& live) const;

  JobFollower::Get get_;
  std::string job_;
  JobFollower follower_;
  uint64_t rounds_;
  ProgressLine& progress_;
  std::optional<GuessLevel> guess_;  // until it was compared with in vain
  std::string state_;
  std::vector<RoundReport> attempts_;
  std::optional<double> epsilon_;
  std::optional<RoundReport> live_;
  std::optional<Instant> changed_;
};

}  // namespace coterie
