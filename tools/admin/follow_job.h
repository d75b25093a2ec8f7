// JobFollower: what happens to a job, as news: asks the admin plane, tells every ended round once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/admin/admin_client.h"
#include "tools/admin/round_report.h"

namespace coterie {

struct JobNews {
  std::string state;                              // of the job
  std::vector<RoundReport> ended;                 // attempts that have ended since the last poll, oldest first
  std::optional<RoundReport> live;                // the one under way
  std::optional<double> epsilon_budget, epsilon;  // as RoundsPage has them

  bool is_over() const { return state != "running" && state != "paused"; }
};

class JobFollower {
 public:
  // `client` outlives the follower.
  JobFollower(AdminClient& client, std::string job) : client_(client), job_(std::move(job)) {}

  Result<JobNews> poll();

 private:
  AdminClient& client_;
  std::string job_;
  RoundLedger ledger_;
};

}  // namespace coterie
