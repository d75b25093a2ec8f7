#include "scheduler/fleet/lead_machine.h"

#include <algorithm>
#include <utility>

namespace coterie {

LeadMachine::LeadMachine(LeadSettings settings, std::string owner_url, Instant now)
    : settings_(settings),
      tally_(settings.silence_max),
      tick_at_(now),
      write_from_(now + settings.settle),
      look_at_(now + settings.look_every),
      forget_at_(now + settings.forget_every) {
  board_.owner_url = std::move(owner_url);
}

LeadEffects LeadMachine::step(const LeadEvent& event, Instant now) {
  now_ = now;
  std::visit([this](const auto& e) { handle(e); }, event);
  if (step_check_.is_due(board_.rounds.size())) check();
  return std::exchange(effects_, {});
}

void LeadMachine::check() const {
  std::set<JobId> jobs;
  std::set<RoundKey> keys;
  for (const RoundNotice& round : board_.rounds) {
    COT_INVARIANT(jobs.insert(round.job).second, "a job has at most one round on the board");
    COT_INVARIANT(keys.insert(round.key).second, "a round is on the board once");
  }
  const auto is_posted = [&](const auto& entry) { return keys.contains(entry.first); };
  // What was told does not grow with the rounds of a life.
  COT_INVARIANT(std::ranges::all_of(told_issued_, is_posted), "tickets are told of posted rounds alone");
  COT_INVARIANT(std::ranges::all_of(told_accepted_, is_posted), "updates are told of posted rounds alone");
  COT_INVARIANT(std::ranges::all_of(board_.shares, is_posted), "a round has shares only while it is posted");
  tally_.check();
}

// ---- From the scheduler

void LeadMachine::handle(const PostRound& event) {
  RoundNotice notice = event.notice;
  std::vector<RoundKey> replaced;
  for (const RoundNotice& known : board_.rounds) {
    // What is due was said of the attempt, and stays true when its notice changes.
    if (known.key == notice.key) notice.updates_due = known.updates_due;
    else if (known.job == notice.job) replaced.push_back(known.key);
  }
  for (const RoundKey& key : replaced) forget(key);
  std::erase_if(board_.rounds, [&](const RoundNotice& known) { return known.key == notice.key; });
  // Once a round does not collect any more, nobody gives tickets of it.
  const bool collects = notice.state == RoundState::collecting;
  tally_.serve(notice.key, notice.population, collects ? notice.ticket_count : 0);
  board_.rounds.push_back(std::move(notice));
  write();
}

void LeadMachine::handle(const UnpostRound& event) {
  forget(event.key);
  write();
}

void LeadMachine::forget(const RoundKey& key) {
  tally_.withdraw(key);
  told_issued_.erase(key);
  told_accepted_.erase(key);
  board_.shares.erase(key);
  std::erase_if(board_.rounds, [&](const RoundNotice& known) { return known.key == key; });
}

void LeadMachine::handle(const PostDue& event) {
  for (RoundNotice& round : board_.rounds) {
    if (round.key == event.key) round.updates_due = event.total;
  }
  write();
}

// ---- From the nodes

void LeadMachine::handle(const LeadTime&) {
  if (now_ < tick_at_) return;
  tick_at_ = now_ + settings_.poll_every;
  if (!std::exchange(is_hearing_, true)) effects_.push_back(HearNodes{});
}

void LeadMachine::handle(const NodesHeard& event) {
  COT_ASSERT(is_hearing_);
  is_hearing_ = false;
  if (event.rows) {
    tally_.hear(*event.rows);
    if (now_ >= forget_at_) {
      forget_at_ = now_ + settings_.forget_every;
      effects_.push_back(ForgetNodes{settings_.forget_after});
    }
    tell_pools();
    tell_rounds();
  }
  // Also if nobody was heard: a write that failed is tried again.
  write();
}

void LeadMachine::tell_pools() {
  if (told_nodes_ != tally_.nodes()) effects_.push_back(TellNodes{*(told_nodes_ = tally_.nodes())});
  std::map<Population, uint64_t> waiting = tally_.waiting();
  for (const auto& [population, count] : told_waiting_) waiting.try_emplace(population, 0);  // its node is gone
  for (const auto& [population, count] : waiting) {
    const auto told = told_waiting_.find(population);
    if (told == told_waiting_.end() || told->second != count) effects_.push_back(TellPool{population, count});
  }
  told_waiting_ = std::move(waiting);
}

void LeadMachine::tell_rounds() {
  const bool look = now_ >= look_at_;
  if (look) look_at_ = now_ + settings_.look_every;
  for (const RoundNotice& round : board_.rounds) {
    const RoundKey& key = round.key;
    const uint32_t issued = tally_.issued(key);
    const uint64_t accepted = tally_.accepted(key);
    if (std::exchange(told_issued_[key], issued) != issued) effects_.push_back(TellIssued{key, issued});
    const bool has_more = std::exchange(told_accepted_[key], accepted) != accepted;
    if (has_more) effects_.push_back(TellAccepted{key, accepted});
    // A node may have died between its last commit and its next report. The accept rows have what it did not say.
    if (has_more || look) effects_.push_back(LookAtAccepted{key});
  }
}

// ---- The board

void LeadMachine::write() {
  if (now_ < write_from_ || writing_) return;
  for (const RoundNotice& round : board_.rounds) board_.shares[round.key] = tally_.shares(round.key);
  board_.nodes = tally_.nodes();
  board_.steered = tally_.steered();
  if (written_ == board_) return;
  writing_ = board_;
  effects_.push_back(WriteBoard{board_});
}

void LeadMachine::handle(const BoardWritten& event) {
  COT_ASSERT(writing_.has_value());
  std::optional<PostedBoard> tried = std::exchange(writing_, std::nullopt);
  if (!event.written) {
    written_.reset();  // the store may have either; the next poll writes again
    return;
  }
  written_ = std::move(tried);
  write();  // what changed meanwhile
}

}  // namespace coterie
