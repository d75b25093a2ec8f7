// A script of the attempt machine, run again for each of its steps with a failure in the step's place. From there on
// devices are silent, time passes, and the round goes its way: frozen, claimed, withdrawn. Every call of a device must
// be answered once, nothing may be told twice, and the claim must end with a sum that is opened or an attempt that is
// lost.
//
// Sessions cannot be copied, so each run begins anew: the same events give the same session, whose devices' messages
// are those of the script.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fl_server/core/attempt_machine.h"

namespace coterie {

struct AttemptStep {
  AttemptEvent event;
  Instant at;
};

class AttemptReplay {
 public:
  void tell(const AttemptEvent& event, Instant at) {
    now_ = std::max(now_, at);
    std::visit([this](const auto& e) { note(e); }, event);
    const AttemptEffects effects = machine_.step(event, now_);
    machine_.check();
    for (const AttemptEffect& effect : effects) std::visit([this](const auto& e) { perform(e); }, effect);
  }
  // Its lanes are durable, and the machine has not heard.
  void row(const DeviceId& device) { rows_.insert(device); }

  void come_to_an_end() {
    if (!is_withdrawn_) settle();
    if (!is_withdrawn_) {
      if (!is_frozen_) tell(AttemptFrozen{}, now_);
      settle();
      tell(FinalizeAsked{++serial_}, now_);
      settle();
      EXPECT_TRUE(opened_.contains(serial_) || lost_after_claim_) << "the claim waits for ever";
      tell(AttemptWithdrawn{}, now_);
    }
    EXPECT_FALSE(machine_.is_aggregating());
    EXPECT_EQ(machine_.next_deadline(), std::nullopt);
    for (const auto& [call, answers] : answers_) EXPECT_EQ(answers, 1) << "call " << call.value();
  }

 private:
  // ---- What an event says about the world
  void note(const BeginCohorts& e) { waits_for_ever_ = e.rules.adverts_least > 0; }
  void note(const CohortMessageCame& e) { answers_[e.call]; }
  void note(const CohortAsked& e) { answers_[e.call]; }
  void note(const MaskedInputCame& e) { answers_[e.call]; }
  void note(const MaskedInputAccepted& e) { rows_.insert(e.device); }
  void note(const AttemptFrozen&) { is_frozen_ = true; }
  void note(const FinalizeAsked& e) {
    is_frozen_ = is_claimed_ = true;
    lost_after_claim_ = false;
    serial_ = std::max(serial_, e.serial);
  }
  void note(const SurvivorsListed& e) {
    lists_.erase(e.serial);
    if (e.serial && e.accepted) listed_.insert(*e.serial);
  }
  void note(const SumNotFinalized&) {}
  void note(const StopHolding&) {}
  void note(const AttemptWithdrawn&) { is_withdrawn_ = true; }
  void note(const AttemptTime&) {}

  // ---- What the machine does
  void perform(const AnswerTaken& e) { ++answers_[e.call]; }
  void perform(const AnswerAsked& e) { ++answers_[e.call]; }
  void perform(const AnnounceDue& e) {
    EXPECT_NE(due_, e.total) << "told twice";
    due_ = e.total;
  }
  void perform(const AnnounceExpected& e) {
    EXPECT_FALSE(is_expected_) << "told twice";
    EXPECT_LE(e.total, rows_.size()) << "more updates than are durable";
    is_expected_ = true;
  }
  void perform(const ListSurvivors& e) { lists_.insert(e.serial); }
  void perform(const OpenSum& e) {
    EXPECT_TRUE(listed_.contains(e.serial)) << "a sum is opened that nobody asked for, or of unknown survivors";
    EXPECT_TRUE(e.cohorts->is_ready());
    opened_.insert(e.serial);
  }
  void perform(const TellNotFinalized&) {}
  void perform(const LoseAttempt& e) {
    EXPECT_NE(e.reason, "");
    EXPECT_TRUE(!is_frozen_ || is_claimed_) << "the round is moving, and would not hear it";
    lost_after_claim_ = is_claimed_;
  }
  void perform(const NoteRefused&) {}
  void perform(const NoteFailed&) {}
  void perform(const NoteUnknownInput&) {}

  // The store answers, time passes.
  void settle() {
    for (int i = 0; i < 1'000; ++i) {
      if (!lists_.empty()) {
        tell(SurvivorsListed{*lists_.begin(), std::vector<DeviceId>(rows_.begin(), rows_.end())}, now_);
      } else if (const auto wake = machine_.next_deadline()) {
        tell(AttemptTime{}, *wake);
      } else {
        return;
      }
    }
    if (waits_for_ever_) return tell(AttemptWithdrawn{}, now_);
    ADD_FAILURE() << "the machine never comes to rest";
  }

  AttemptMachine machine_;
  Instant now_{};
  std::map<CohortCall, int> answers_;
  std::set<DeviceId> rows_;
  std::set<std::optional<uint64_t>> lists_;  // that the store owes
  std::set<uint64_t> listed_, opened_;
  std::optional<uint32_t> due_;
  bool is_expected_ = false, is_frozen_ = false, is_claimed_ = false, is_withdrawn_ = false;
  bool lost_after_claim_ = false;
  bool waits_for_ever_ = false;  // for devices that the script has not
  uint64_t serial_ = 1'000;      // of claims that no script makes
};

// What may come in the place of `step`: each is a list of events.
inline std::vector<std::vector<AttemptEvent>> failures_of(const AttemptStep& step) {
  const Error away(ErrorCode::unavailable, "the store is away");
  const CohortCall again(888'888);
  std::vector<std::vector<AttemptEvent>> failures{{}, {AttemptWithdrawn{}}, {StopHolding{}, step.event}};
  if (const auto* begin = std::get_if<BeginCohorts>(&step.event)) {
    BeginCohorts late = *begin;
    late.has_accepted = true;
    failures.push_back({late});
    failures.push_back({*begin, *begin});
  } else if (auto message = step.event; auto* m = std::get_if<CohortMessageCame>(&message)) {
    m->call = again;
    failures.push_back({step.event, message});
    m->device.bytes[0] = 250;  // whom nobody knows
    failures.push_back({message});
  } else if (auto* question = std::get_if<CohortAsked>(&message)) {
    question->call = again;
    failures.push_back({step.event, message});
  } else if (auto* input = std::get_if<MaskedInputCame>(&message)) {
    input->call = again;
    failures.push_back({step.event, message});
    input->input.lanes.bytes[0] ^= 1;
    failures.push_back({step.event, message});
    failures.push_back({message, step.event});
  } else if (std::holds_alternative<MaskedInputAccepted>(step.event)) {
    failures.push_back({step.event, step.event});
  } else if (const auto* listed = std::get_if<SurvivorsListed>(&step.event)) {
    failures.push_back({SurvivorsListed{listed->serial, away}});
    failures.push_back({step.event, step.event});
  } else if (const auto* failed = std::get_if<SumNotFinalized>(&step.event)) {
    failures.push_back({SumNotFinalized{failed->serial, away}});
    failures.push_back({SumNotFinalized{failed->serial, Error(ErrorCode::data_loss, "wrong shares")}});
  } else if (std::holds_alternative<FinalizeAsked>(step.event)) {
    failures.push_back({step.event, step.event});
  }
  return failures;
}

// How many times the script was run again.
inline int replay_with_failures(const std::vector<AttemptStep>& steps) {
  int replays = 0;
  const auto run = [&](size_t step, const auto& fail) {
    SCOPED_TRACE("step " + std::to_string(step) + ", failure " + std::to_string(replays++));
    AttemptReplay replay;
    for (size_t i = 0; i < step; ++i) replay.tell(steps[i].event, steps[i].at);
    fail(replay);
    replay.come_to_an_end();
  };
  for (size_t step = 0; step < steps.size(); ++step) {
    for (const std::vector<AttemptEvent>& failure : failures_of(steps[step])) {
      run(step, [&](AttemptReplay& replay) {
        for (const AttemptEvent& event : failure) replay.tell(event, steps[step].at);
      });
    }
    const Instant late = steps[step].at + Millis(60'000);
    run(step, [&](AttemptReplay& replay) { replay.tell(steps[step].event, late); });
    if (const auto* accepted = std::get_if<MaskedInputAccepted>(&steps[step].event)) {
      run(step, [&](AttemptReplay& replay) { replay.row(accepted->device); });
    }
  }
  return replays;
}

}  // namespace coterie
