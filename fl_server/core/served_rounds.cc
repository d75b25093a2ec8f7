#include "fl_server/core/served_rounds.h"

#include <set>
#include <utility>

namespace coterie {
namespace {

constexpr Millis kAskAgain{500};  // a store that did not answer

}  // namespace

ServingEffects ServedRounds::step(const ServingEvent& event, Instant now) {
  now_ = now;
  std::visit([this](const auto& e) { handle(e); }, event);
  if (step_check_.is_due(rounds_.size())) check();
  return std::exchange(effects_, {});
}

std::optional<Instant> ServedRounds::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [key, round] : rounds_) {
    if (round.ask_at) next = std::min(*round.ask_at, next.value_or(*round.ask_at));
  }
  return next;
}

bool ServedRounds::is_waiting(const RoundKey& key) const {
  const auto round = rounds_.find(key);
  return round != rounds_.end() && round->second.is_waiting();
}

void ServedRounds::handle(const PublishRound& event) {
  const RoundNotice& notice = event.notice;
  std::erase_if(rounds_, [&](const auto& entry) {
    const bool is_replaced = entry.second.newest.notice.job == notice.job && entry.first != notice.key;
    if (is_replaced) effects_.push_back(StopServing{entry.first});
    return is_replaced;
  });
  Round& round = rounds_[notice.key];
  round.newest = event;
  if (notice.state == RoundState::selecting) return effects_.push_back(ChooseNow{notice.job, notice.population});
  if (round.is_waiting()) return ask(round);
  round.asked.reset();
  round.ask_at.reset();
  serve(round, false);
}

void ServedRounds::handle(const RoundReadied& event) {
  const auto found = rounds_.find(event.key);
  if (found == rounds_.end() || found->second.asked != event.serial) return;  // over meanwhile
  Round& round = found->second;
  round.asked.reset();
  if (!event.ready) {
    round.ask_at = now_ + kAskAgain;
    return;
  }
  round.ready = *event.ready;
  serve(round, true);
}

void ServedRounds::handle(const WithdrawRound& event) {
  if (rounds_.erase(event.key) > 0) effects_.push_back(StopServing{event.key});
}

void ServedRounds::handle(const ServingTime&) {
  for (auto& [key, round] : rounds_) {
    if (round.ask_at && *round.ask_at <= now_) ask(round);
  }
}

void ServedRounds::ask(Round& round) {
  round.ask_at.reset();
  if (round.asked) return;  // what was published since is served with the answer
  round.asked = ++last_serial_;
  effects_.push_back(AskBeforeServing{*round.asked, round.newest.notice});
}

// The round machine names the job's plan each time.
void ServedRounds::serve(const Round& round, bool begins) {
  ServePublished served{round.newest, begins, begins && round.ready->has_accepted};
  if (round.ready) {
    served.round.notice.assignment.plan = round.ready->plan;
    served.round.notice.assignment.plan_bytes = round.ready->plan_bytes;
  }
  effects_.push_back(std::move(served));
}

void ServedRounds::check() const {
  std::set<JobId> jobs;
  for (const auto& [key, round] : rounds_) {
    COT_INVARIANT(jobs.insert(round.newest.notice.job).second, "a job has one round that is served");
    COT_INVARIANT(round.newest.notice.key == key, "a round is known by its key");
    const bool is_asked_for = round.asked || round.ask_at;
    COT_INVARIANT(!(round.asked && round.ask_at), "the store is asked one question of a round at a time");
    COT_INVARIANT(round.is_waiting() == is_asked_for, "the store is asked until a round that collects is served");
  }
}

}  // namespace coterie
