// JobFollower: what has happened to a job, as news: asks the admin plane, tells every ended round once.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
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
  // A target below /admin/v1/ to the server's answer (AdminClient::get).
  using Get = std::function<Result<nlohmann::json>(const std::string& target)>;
  JobFollower(Get get, std::string job) : get_(std::move(get)), job_(std::move(job)) {}

  Result<JobNews> poll();

 private:
  Get get_;
  std::string job_;
  RoundLedger ledger_;
};

}  // namespace coterie
