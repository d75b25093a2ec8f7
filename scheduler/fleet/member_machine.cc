#include "scheduler/fleet/member_machine.h"

#include <algorithm>
#include <utility>

namespace coterie {
namespace {

// What this node may do of the board's round. Without a share it gives no tickets.
RoundNotice share_of(const RoundNotice& round, const PostedBoard& board, const std::string& incarnation) {
  RoundNotice notice = round;
  notice.ticket_count = 0;
  if (const auto shares = board.shares.find(round.key); shares != board.shares.end()) {
    const auto share = shares->second.find(incarnation);
    if (share != shares->second.end()) notice.ticket_count = share->second;
  }
  return notice;
}

bool is_same_but_for_due(RoundNotice known, const RoundNotice& notice) {
  known.updates_due = notice.updates_due;
  return known == notice;
}

}  // namespace

MemberEffects MemberMachine::step(const MemberEvent& event, Instant now) {
  now_ = now;
  std::visit([this](const auto& e) { handle(e); }, event);
  if (step_check_.is_due(served_.size())) check();
  return std::exchange(effects_, {});
}

void MemberMachine::check() const {
  const auto is_served = [this](const auto& entry) { return served_.contains(entry.first); };
  // What a node says does not grow with the rounds it has seen.
  COT_INVARIANT(std::ranges::all_of(report_.issued, is_served), "a report has tickets of served rounds alone");
  COT_INVARIANT(std::ranges::all_of(report_.lacking, is_served), "a report lacks devices for served rounds alone");
  COT_INVARIANT(std::ranges::all_of(report_.accepted, is_served), "a report has updates of served rounds alone");
  COT_INVARIANT(is_reading_ || (!is_looked_for_ && !look_again_),
                "somebody waits for a read only while one is on its way");
  COT_INVARIANT(std::ranges::all_of(served_, [](const auto& entry) { return entry.first == entry.second.key; }),
                "a round is served under its own key");
}

// ---- What the node says

// What the device plane says of a round that is over came too late, and is nothing to say.
void MemberMachine::handle(const IssuedNoted& event) {
  if (served_.contains(event.key)) report_.issued[event.key] = event.total;
}

void MemberMachine::handle(const LackingNoted& event) {
  if (served_.contains(event.key)) report_.lacking[event.key] = event.devices;
}

void MemberMachine::handle(const AcceptedNoted& event) {
  if (served_.contains(event.key)) report_.accepted[event.key] = event.total;
}

void MemberMachine::handle(const ReportSaid& event) {
  said_ = event.report;
  said_.load = {};  // changes all the time: it goes along with whatever else is said
  said_at_ = now_;
}

// At once: whoever stops the node does not wait for the next poll.
void MemberMachine::handle(const DrainMember&) {
  report_.draining = true;
  effects_.push_back(SayReport{report_});
}

bool MemberMachine::has_news() const {
  if (now_ >= said_at_ + settings_.say_every) return true;
  NodeReport quiet = report_;
  quiet.steered = said_.steered;  // changes all the time, too
  return quiet != said_;
}

// ---- What the board says

void MemberMachine::handle(const MemberTime&) {
  if (now_ < tick_at_) return;
  tick_at_ = now_ + settings_.poll_every;
  may_say_ = true;
  if (!is_reading_) read_board();
  if (settings_.serves_rounds) effects_.push_back(CountLacking{});  // said at the next tick
}

void MemberMachine::handle(const LookAtBoard&) {
  // A read on its way may have seen the board before it changed.
  if (is_reading_) look_again_ = true;
  else is_looked_for_ = true, read_board();
}

void MemberMachine::read_board() {
  is_reading_ = true;
  effects_.push_back(ReadBoard{revision_});
}

void MemberMachine::handle(const BoardAnswered& event) {
  COT_ASSERT(is_reading_);
  is_reading_ = false;
  if (event.read && event.board) {
    revision_ = event.revision;
    apply(*event.board);
  }
  if (std::exchange(is_looked_for_, false)) effects_.push_back(BoardLookedAt{});
  if (std::exchange(look_again_, false)) is_looked_for_ = true, read_board();
  if (event.read && std::exchange(may_say_, false) && has_news()) effects_.push_back(SayReport{report_});
}

void MemberMachine::apply(const PostedBoard& board) {
  effects_.push_back(TellOwner{board.owner_url});
  if (!settings_.serves_rounds) return;
  effects_.push_back(TellFleet{board.steered, board.nodes});
  std::map<RoundKey, RoundNotice> posted;
  for (const RoundNotice& round : board.rounds) {
    posted.emplace(round.key, share_of(round, board, report_.incarnation));
  }
  // First what is over: a job's next round takes the place of the one before.
  std::vector<RoundKey> over;
  for (const auto& [key, notice] : served_) {
    if (!posted.contains(key)) over.push_back(key);
  }
  for (const RoundKey& key : over) forget(key);
  for (const auto& [key, notice] : posted) apply_round(notice);
}

void MemberMachine::apply_round(const RoundNotice& notice) {
  const auto known = served_.find(notice.key);
  const bool is_served = known != served_.end() && is_same_but_for_due(known->second, notice);
  if (!is_served) effects_.push_back(ServeRound{notice});
  // Serving replaces all that was known of a round, so that what is due is told again.
  const bool is_due_known = is_served && known->second.updates_due == notice.updates_due;
  if (notice.updates_due && !is_due_known) effects_.push_back(TellDue{notice.key, *notice.updates_due});
  served_.insert_or_assign(notice.key, notice);
}

void MemberMachine::forget(const RoundKey& key) {
  effects_.push_back(EndRound{key});
  served_.erase(key);
  report_.issued.erase(key);
  report_.lacking.erase(key);
  report_.accepted.erase(key);
}

}  // namespace coterie
