// LiveAttempts: from the attempts that a leader serves to their sums, decided: which attempt has cohorts, whose call is
// for which, what a call hears that comes too early or too late, and what one attempt's words mean to its round. Pure.
// What comes of an attempt's cohorts is its own machine's affair (attempt_machine.h).
//
//   ServePublished, PublishRound, StopServing   -> its begin, its freeze, its end
//   devices' calls, InputAccepted, RowsListed   -> AnswerTaken, AnswerAsked, TellNodesDue, TellJob
//   FinalizeWanted -> [ListForSum -> SurvivorsOf] -> FinalizeNow -> FinalizeDone -> TellJob
//
// An attempt whose updates lie open has nothing here, and is finalized when that is wanted.
#pragma once

#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "fl_server/core/attempt_machine.h"
#include "fl_server/core/served_rounds.h"

namespace coterie {

// ---- Events. Those of served rounds' effects that change an attempt are three of them.
// clang-format off
// `ring_seeds`: as many as seeds_needed() says, random and secret.
struct AttemptServed {
  ServePublished served; std::vector<uint64_t> ring_seeds; secagg::CertificateCheck certificate_is_good;
};
struct DeviceCalled { RoundKey key; std::variant<CohortMessageCame, CohortAsked, MaskedInputCame> call; };
struct InputAccepted { RoundKey key; DeviceId device; };   // durably; may be said twice
struct RowsMayBeThere { RoundKey key; };                   // that InputAccepted was not said of
struct RowsListed { RoundKey key; Result<std::vector<DeviceId>> accepted; };
struct FinalizeWanted { uint64_t serial; FinalizeRound request; };  // by a round machine
struct SurvivorsOf { RoundKey key; SurvivorsListed listed; };
struct FinalizeDone { uint64_t serial; JobId job; RoundKey key; bool is_masked; Result<FinalizedRound> round; };
// StopHolding: of all, now and later. AttemptTime: of those whose time has come.
// clang-format on
using LiveEvent = std::variant<PublishRound, AttemptServed, StopServing, DeviceCalled, InputAccepted, RowsMayBeThere,
                               RowsListed, FinalizeWanted, SurvivorsOf, FinalizeDone, StopHolding, AttemptTime>;

// ---- Effects
// clang-format off
struct TellNodesDue { RoundKey key; uint64_t total; };     // no more inputs than this will come
struct ListRows { RoundKey key; };                         // who is accepted; answer RowsListed
// The same of an attempt that is frozen; answer SurvivorsOf with this serial. `reserves`: the ledger has what the sum
// releases first, so that nobody is asked to open a sum that is not there.
struct ListForSum { RoundKey key; std::optional<uint64_t> serial; bool reserves; };
// On other threads; answer FinalizeDone. `sum`: whose masks are opened first; none: it has none.
struct FinalizeNow { uint64_t serial; FinalizeRound request; std::optional<OpenSum> sum; };
struct NoteNotBegun { JobId job; Error why; };             // for a log: the cohorts' settings are not valid
// clang-format on
using LiveEffect = std::variant<AnswerTaken, AnswerAsked, TellNodesDue, TellJob, ListRows, ListForSum, FinalizeNow,
                                NoteNotBegun, NoteFailed, NoteUnknownInput>;
using LiveEffects = std::vector<LiveEffect>;

class LiveAttempts {
 public:
  LiveEffects step(const LiveEvent& event, Instant now);
  std::optional<Instant> next_deadline() const;

  // How many ring seeds its begin takes. 0: it begins no cohorts.
  static uint32_t seeds_needed(const ServePublished& served);
  // Its cohorts have begun, and are neither lost nor withdrawn.
  bool is_aggregating(const RoundKey& key) const;

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  friend struct LiveAttemptsTamperer;  // a test that breaks an invariant

  struct Attempt {
    JobId job;
    SecurityLevel level;
    AttemptMachine machine;
    std::optional<FinalizeRound> wanted = {};  // last
  };

  void handle(const PublishRound& event);
  void handle(const AttemptServed& event);
  void handle(const StopServing& event);
  void handle(const DeviceCalled& event);
  void handle(const InputAccepted& event) { tell(event.key, MaskedInputAccepted{event.device}); }
  void handle(const RowsMayBeThere& event);
  void handle(const RowsListed& event);
  void handle(const FinalizeWanted& event);
  void handle(const SurvivorsOf& event) { tell(event.key, event.listed); }
  void handle(const FinalizeDone& event);
  void handle(const StopHolding& event);
  void handle(const AttemptTime& event);

  Attempt& attempt_of(const RoundKey& key, const JobId& job, SecurityLevel level);
  void tell(const RoundKey& key, const AttemptEvent& event);
  void pass_on(const RoundKey& key, const Attempt& attempt, AttemptEffect& effect);
  void answered(CohortCall call);
  void check_calls() const;

  Instant now_{};
  LiveEffects effects_;
  StepCheck step_check_;
  std::map<RoundKey, Attempt> attempts_;
  std::map<CohortCall, RoundKey> calls_;  // that wait for their answer
  bool holds_ = true;
};

}  // namespace coterie
