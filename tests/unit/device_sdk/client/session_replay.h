// A participant's session, run again for each of its steps with a failure in the place of the step's answer. The
// machine's invariants must hold, no round may count that no receipt was given for, what is saved must be what is held,
// and the device must either have stopped or have something to do when its wait is over.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "device_sdk/client/participant_machine.h"
#include "proto/codec/codec.h"
#include "tests/support/matchers.h"

namespace coterie::test {

struct SessionStep {
  std::optional<ParticipantEvent> event;  // none: the app is killed and started again, with this policy
  WallTime at;
  ParticipantPolicy policy = {};
};

// The app is killed and started again: nothing survives but the encoded state.
inline std::optional<ParticipantMachine> started_again(const ParticipantMachine& machine,
                                                       const ParticipantPolicy& policy) {
  Result<ParticipantState> saved = decode_participant_state(encode(machine.state()));
  if (saved) return ParticipantMachine(policy, std::move(*saved));
  ADD_FAILURE() << saved.error().message();
  return std::nullopt;
}

// The event of the same kind, but failed.
inline ParticipantEvent failed(const ParticipantEvent& event, const Failure& failure) {
  return std::visit(
      [&](const auto& e) -> ParticipantEvent {
        using Event = std::remove_cvref_t<decltype(e)>;
        if constexpr (std::is_same_v<Event, TrainingEnded>) return TrainingEnded{failure.error};
        else if constexpr (std::is_same_v<Event, KeysStated> || std::is_same_v<Event, HeldBack>) return e;  // none
        else return Event{failure};
      },
      event);
}

inline void expect_to_go_on(const ParticipantMachine& machine, WallTime now) {
  machine.check();
  const WallTime later = std::max(now, machine.state().wait_until);
  EXPECT_FALSE(std::holds_alternative<DoWait>(machine.next(later))) << "it waits for ever";
}

inline int replay_with_failures(const ParticipantPolicy& policy, const ParticipantState& fresh,
                                const std::vector<SessionStep>& steps) {
  int replays = 0;
  ParticipantMachine before(policy, fresh);
  for (const SessionStep& step : steps) {
    if (!step.event) {
      const auto again = started_again(before, step.policy);
      if (!again) return replays;
      before = *again;
      continue;
    }
    for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::overloaded, ErrorCode::round_closed,
                                 ErrorCode::ticket_expired, ErrorCode::malformed, ErrorCode::refused,
                                 ErrorCode::permission_denied, ErrorCode::storage_full, ErrorCode::cancelled}) {
      SCOPED_TRACE("step " + std::to_string(replays) + " failed: " + std::string(Error(code, "").name()));
      ParticipantMachine machine = before;
      machine.step(failed(*step.event, {Error(code, "the test says so"), {}}), step.at);
      expect_to_go_on(machine, step.at);
      EXPECT_EQ(machine.state().rounds_done, before.state().rounds_done) << "a round counts without a receipt";
      const auto again = started_again(machine, step.policy);  // right behind the failure
      if (!again) return replays;
      expect_to_go_on(*again, step.at);
      ++replays;
    }
    ParticipantMachine late = before;  // the answer comes after all is over
    late.step(*step.event, step.at + Millis(30 * 24 * 3'600'000ll));
    expect_to_go_on(late, step.at + Millis(30 * 24 * 3'600'000ll));
    before.step(*step.event, step.at);
    ParticipantMachine twice = before;
    twice.step(*step.event, step.at);
    expect_to_go_on(twice, step.at);
  }
  return replays;
}

}  // namespace coterie::test
