#include "tools/admin/follow_job.h"

#include <nlohmann/json.hpp>

#include "tools/admin/admin_client.h"

namespace coterie {
namespace {

constexpr size_t kPageRounds = 4;  // who asks often finds one or two that are new

}  // namespace

Result<JobNews> JobFollower::poll() {
  JobNews news;
  std::vector<RoundReport> rounds;
  const std::string target = "jobs/" + path_segment(job_) + "/rounds?limit=" + std::to_string(kPageRounds);
  std::string older;
  for (;;) {
    COT_ASSIGN(const nlohmann::json json, get_(target + older));
    COT_ASSIGN(const RoundsPage page, parse_rounds(json));
    if (older.empty()) {
      news.state = page.job_state;
      news.epsilon_budget = page.epsilon_budget;
      news.epsilon = page.epsilon;
    }
    rounds.insert(rounds.end(), page.rounds.begin(), page.rounds.end());
    if (ledger_.reaches_back(page)) break;
    older = "&before=" + *page.next_before;
  }
  if (!rounds.empty() && !rounds.front().has_ended()) news.live = rounds.front();
  news.ended = ledger_.take_ended(rounds);
  return news;
}

}  // namespace coterie
