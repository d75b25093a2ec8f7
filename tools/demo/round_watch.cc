#include "tools/demo/round_watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/admin/admin_client.h"
#include "tools/admin/live_round.h"

namespace coterie {
namespace {

constexpr Millis kSilenceMax{600'000};
constexpr size_t kRoundsForEstimate = 5;

std::string what_is_waited_for(const std::optional<RoundReport>& live) {
  if (!live) return "the job to open a round";
  if (live->state == "selecting") return "enough devices to check in for round " + std::to_string(live->number);
  if (live->state == "collecting") {
    return std::to_string(live->goal_count - std::min(live->goal_count, live->accepted)) + " of " +
           std::to_string(live->goal_count) + " updates of round " + std::to_string(live->number);
  }
  return "the server to finish round " + std::to_string(live->number) + " (" + live->state + ")";
}

}  // namespace

Result<bool> RoundWatch::look(Instant now) {
  COT_ASSIGN(JobNews news, follower_.poll());
  for (const RoundReport& round : news.ended) {
    // What is spent is known as of now: it stands behind the newest round.
    const bool newest = &round == &news.ended.back();
    const Spent spent = newest ? Spent{news.epsilon, news.epsilon_budget} : Spent{};
    progress_.print(round_line(round, rounds_, progress_.terminal(), spent));
    warn(round);
  }
  epsilon_ = news.epsilon;
  attempts_.insert(attempts_.end(), news.ended.begin(), news.ended.end());
  const bool is_news = !news.ended.empty() || news.live != live_ || news.state != state_;
  if (is_news || !changed_ || news.state == "paused") changed_ = now;
  state_ = news.state;
  live_ = news.live;
  if (news.is_over()) {
    progress_.clear();
    return true;
  }
  return show(now);
}

void RoundWatch::warn(const RoundReport& round) {
  if (!guess_) return;
  const std::string note = divergence_note(round, rounds_, *guess_);
  if (note.empty()) return;
  progress_.print("  note: " + note);
  guess_.reset();
}

Result<bool> RoundWatch::hear(const std::vector<SentEvent>& events, Instant now) {
  bool must_look = !changed_;
  const std::optional<RoundReport> before = live_;
  for (const SentEvent& event : events) {
    COT_ASSIGN(const bool says_all, bring_up_to_date(live_, event));
    must_look |= !says_all;
  }
  if (live_ != before || state_ == "paused") changed_ = now;
  return must_look ? look(now) : show(now);
}

Result<bool> RoundWatch::show(Instant now) {
  if (state_ == "paused") progress_.show("paused; go on with `job resume " + job_ + "`");
  else if (live_) progress_.show(live_line(*live_, rounds_, seconds_left(*live_), progress_.terminal()));
  if (now - *changed_ > kSilenceMax) {
    return Error(ErrorCode::timed_out, "nothing has changed for ten minutes; waited for " + what_is_waited_for(live_));
  }
  return false;
}

// By the rounds done last: what is left of them all.
double RoundWatch::seconds_left(const RoundReport& live) const {
  double seconds = 0;
  size_t counted = 0;
  for (auto round = attempts_.rbegin(); round != attempts_.rend() && counted < kRoundsForEstimate; ++round, ++counted) {
    seconds += round->seconds;
  }
  if (counted == 0 || live.number > rounds_) return 0;
  return seconds / static_cast<double>(counted) * static_cast<double>(rounds_ - live.number + 1);
}

Status RoundWatch::check_completed() {
  if (state_ == "completed") return {};
  const Result<nlohmann::json> job = get_("jobs/" + path_segment(job_));
  std::string reason;
  if (job && job->is_object()) reason = job->value("reason", "");
  return Error(ErrorCode::conflict, "the job was " + state_ + (reason.empty() ? "" : ": " + reason));
}

}  // namespace coterie
