#include "fl_server/core/round_intake.h"

#include <algorithm>
#include <set>
#include <utility>

namespace coterie {

IntakeEffects RoundIntake::step(const IntakeEvent& event, Instant now) {
  now_ = now;
  std::visit([this](const auto& e) { handle(e); }, event);
  if (step_check_.is_due(served_.size() + asked_.size() + early_.size())) check();
  return std::exchange(effects_, {});
}

void RoundIntake::check() const {
  std::set<JobId> jobs;
  for (const auto& [key, job] : served_) COT_INVARIANT(jobs.insert(job).second, "a job has one round here");
  for (const auto& [key, asked] : asked_) {
    COT_INVARIANT(jobs.insert(asked.notice.job).second, "a job's round is served, or asked about");
    COT_INVARIANT(key == asked.notice.key, "a round is asked about under its own key");
  }
  const auto is_waited_for = [&](const UploadOffered& early) { return looks_ > 0 || asked_.contains(early.key); };
  COT_INVARIANT(std::ranges::all_of(early_, is_waited_for), "an upload waits only for an answer that is on its way");
}

std::optional<Instant> RoundIntake::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [key, asked] : asked_) {
    if (asked.ask_at) next = next ? std::min(*next, *asked.ask_at) : *asked.ask_at;
  }
  return next;
}

// ---- Rounds

void RoundIntake::handle(const LearnRound& event) {
  const RoundNotice& notice = event.notice;
  std::vector<RoundKey> replaced;
  for (const auto& [key, job] : served_) {
    if (job == notice.job && key != notice.key) replaced.push_back(key);
  }
  for (const auto& [key, asked] : asked_) {
    if (asked.notice.job == notice.job && key != notice.key) replaced.push_back(key);
  }
  for (const RoundKey& key : replaced) forget(key);
  // Who is accepted in a round that is served, the machines have seen themselves.
  if (served_.contains(notice.key)) return take_up(notice, {});
  const auto [asked, is_new] = asked_.try_emplace(notice.key);
  asked->second.notice = notice;
  if (is_new) effects_.push_back(AskAccepted{notice.key});
}

void RoundIntake::handle(const LearnDue& event) {
  if (served_.contains(event.key)) effects_.push_back(StepIngest{UpdatesDue{event.key, event.total}});
  else if (const auto asked = asked_.find(event.key); asked != asked_.end()) {
    asked->second.notice.updates_due = event.total;  // told when it is taken up
  }
}

void RoundIntake::handle(const AcceptedListed& event) {
  const auto asked = asked_.find(event.key);
  if (asked == asked_.end()) return;  // over meanwhile
  if (!event.listed) {
    asked->second.ask_at = now_ + settings_.ask_again;
    return;
  }
  const RoundNotice notice = std::move(asked->second.notice);
  asked_.erase(asked);
  take_up(notice, *event.listed);
  offer_early();
}

void RoundIntake::take_up(const RoundNotice& notice, Listed devices) {
  served_.insert_or_assign(notice.key, notice.job);
  effects_.push_back(TakeUp{notice, std::move(devices)});
  if (notice.updates_due) effects_.push_back(StepIngest{UpdatesDue{notice.key, *notice.updates_due}});
}

// Early uploads of a round that is over go to the ingest machine, which has no lane for it and looks into the store.
void RoundIntake::forget(const RoundKey& key) {
  if (asked_.erase(key) > 0) return offer_early();
  if (served_.erase(key) > 0) effects_.push_back(GiveUp{key});
}

void RoundIntake::handle(const IntakeTime&) {
  for (auto& [key, asked] : asked_) {
    if (!asked.ask_at || now_ < *asked.ask_at) continue;
    asked.ask_at.reset();
    effects_.push_back(AskAccepted{key});
  }
}

// ---- Uploads

void RoundIntake::handle(const OfferUpload& event) {
  const RoundKey& key = event.offered.key;
  if (served_.contains(key)) return effects_.push_back(StepIngest{event.offered});
  // A round that another node heard of sooner, or one that is over.
  early_.push_back(event.offered);
  if (asked_.contains(key)) return;
  if (!settings_.can_look) return offer_early();
  ++looks_;
  effects_.push_back(LookForRounds{});
}

void RoundIntake::handle(const RoundsLookedAt&) {
  COT_ASSERT(looks_ > 0);
  --looks_;
  offer_early();
}

// Those whose round is known by now, or is known to be over.
void RoundIntake::offer_early() {
  for (const UploadOffered& offered : std::exchange(early_, {})) {
    if (asked_.contains(offered.key)) early_.push_back(offered);
    else effects_.push_back(StepIngest{offered});
  }
}

}  // namespace coterie
