#include "fl_server/core/served_rounds.h"

#include <algorithm>
#include <set>
#include <utility>

namespace coterie {
namespace {

constexpr Millis kAskAgain{500};  // a store that did not answer

}  // namespace

WallTime assignment_end(Instant deadline, Millis leeway, Now now) {
  return now.wall + std::max(Millis(0), deadline - now.instant) + leeway;
}

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

uint32_t ServedRounds::issued(const RoundKey& key) const {
  const auto round = rounds_.find(key);
  return round == rounds_.end() ? 0 : round->second.issued;
}

bool ServedRounds::is_waiting(const RoundKey& key) const {
  const auto round = rounds_.find(key);
  return round != rounds_.end() && round->second.is_waiting();
}

void ServedRounds::handle(const PublishRound& event) {
  const RoundNotice& notice = event.notice;
  std::erase_if(rounds_, [&](const auto& entry) {
    const bool is_replaced = entry.second.newest.notice.job == notice.job && entry.first != notice.key;
    if (is_replaced) stop(entry.second);
    return is_replaced;
  });
  const auto [entry, is_new] = rounds_.try_emplace(notice.key);
  Round& round = entry->second;
  if (is_new) round.opened = now_;
  round.newest = event;
  if (notice.state == RoundState::selecting) return tell_pool(notice);
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
  const auto round = rounds_.find(event.key);
  if (round == rounds_.end()) return;  // it was replaced
  stop(round->second);
  rounds_.erase(round);
}

void ServedRounds::stop(const Round& round) {
  const RoundNotice& notice = round.newest.notice;
  effects_.push_back(StopServing{notice.key, notice.state, round.opened});
}

// ---- What nodes say

void ServedRounds::handle(const PoolHeard& event) {
  waiting_[event.population] = event.waiting;
  for (const auto& [key, round] : rounds_) {
    if (round.newest.notice.population == event.population) tell_pool(round.newest.notice);
  }
}

void ServedRounds::handle(const NodesCounted& event) {
  nodes_ = event.nodes;
  for (const auto& [key, round] : rounds_) tell_pool(round.newest.notice);
}

void ServedRounds::tell_pool(const RoundNotice& notice) {
  effects_.push_back(TellJob{notice.job, PoolChanged{waiting_[notice.population], nodes_}});
}

void ServedRounds::handle(const TicketsHeard& event) {
  const auto round = rounds_.find(event.key);
  if (round == rounds_.end()) return;  // over meanwhile
  round->second.issued = event.total;
  effects_.push_back(TellJob{round->second.newest.notice.job, TicketsIssued{event.key, event.total}});
}

void ServedRounds::handle(const AcceptedHeard& event) {
  const auto round = rounds_.find(event.key);
  if (round == rounds_.end()) return;
  const RoundNotice& notice = round->second.newest.notice;
  effects_.push_back(NoteUpdates{notice.job, event.key, notice.number, event.total});
  effects_.push_back(TellJob{notice.job, UpdatesAccepted{event.key, event.total}});
}

// ---- Time

// Devices would give up what they have just been given, or work for a round that is long over.
void ServedRounds::handle(const ClockWasSet&) {
  for (const auto& [key, round] : rounds_) {
    if (!round.is_served) continue;
    PublishRound served = as_served(round);
    effects_.push_back(SignAgain{std::move(served.notice), served.rules.deadline});
  }
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

void ServedRounds::serve(Round& round, bool begins) {
  round.is_served = true;
  effects_.push_back(ServePublished{as_served(round), begins, begins && round.ready->has_accepted});
}

// The round machine names the job's plan each time.
PublishRound ServedRounds::as_served(const Round& round) const {
  PublishRound served = round.newest;
  if (round.ready) {
    served.notice.assignment.plan = round.ready->plan;
    served.notice.assignment.plan_bytes = round.ready->plan_bytes;
    if (round.ready->question) served.notice.plan.analytics = round.ready->question;
  }
  return served;
}

void ServedRounds::check() const {
  std::set<JobId> jobs;
  for (const auto& [key, round] : rounds_) {
    COT_INVARIANT(jobs.insert(round.newest.notice.job).second, "a job has one round that is served");
    COT_INVARIANT(round.newest.notice.key == key, "a round is known by its key");
    const bool is_asked_for = round.asked || round.ask_at;
    COT_INVARIANT(!(round.asked && round.ask_at), "the store is asked one question of a round at a time");
    COT_INVARIANT(round.is_waiting() == is_asked_for, "the store is asked until a round that collects is served");
    COT_INVARIANT(!round.is_waiting() || !round.is_served,
                  "a round that collects is served once the store has answered");
  }
}

}  // namespace coterie
