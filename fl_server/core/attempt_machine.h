// AttemptMachine: one attempt of a round whose updates are added up behind masks, decided: whether its cohorts begin,
// what the round and the nodes hear of them, when devices get their answers, when the sum may be opened, and when it is
// lost. Pure: seeds, certificate checks and time come with events.
//
//   BeginCohorts       AttemptFrozen       FinalizeAsked         ready
//   -----------> aggregating -----> frozen ---------> claimed ---------> OpenSum, again if the round asks again
//        |            | failed         | failed          | failed
//        |            v                |                 v
//        +---------> lost              +-- told -----> lost
//   updates came before this life      at the claim
//
// Sessions live in this process: a server that is started anew while devices aggregate cannot take their masks off, so
// that the attempt is lost and the round is tried again, with fresh keys. In buffered rounds it is lost wherever
// sessions may have begun before: their devices have left them for good, and meet again in the next attempt (ADR 127).
//
// Questions of devices are held until a phase of their cohort begins or their time is up. Each call of a device gets
// one answer, whatever becomes of the attempt. The machine knows a call by its number alone.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "fl_server/core/round_cohorts.h"
#include "scheduler/round/attempt_rules.h"

namespace coterie {

using CohortCall = StrongId<struct CohortCallTag, uint64_t>;  // of a device, waiting for its answer

// ---- Events
// clang-format off
// The round collects; said again, it changes nothing. `session`: as terms_of() says (attempt_terms.h). `goal_count` is
// the round's. `has_accepted`: accept rows were there before this process served it. `ring_seeds`: one for each of
// `rules.cohort_count`, random and secret. `draw`: where `rules.draws_cohorts`.
struct BeginCohorts {
  secagg::SessionParameters session; AttemptRules rules; uint32_t goal_count; bool has_accepted;
  std::vector<uint64_t> ring_seeds; secagg::CertificateCheck certificate_is_good;
  std::optional<secagg::CohortDraw> draw = {};
};
struct CohortMessageCame { CohortCall call; DeviceId device; Bytes public_key; CohortMessage message; };
struct CohortAsked { CohortCall call; DeviceId device; CohortQuestion question; Millis hold; };  // held at most so long
struct MaskedInputCame { CohortCall call; DeviceId device; MaskedInput input; };  // its lanes fit
struct MaskedInputAccepted { DeviceId device; };           // durably; may be said twice
struct AttemptFrozen {};                                   // in the store
struct FinalizeAsked { uint64_t serial; };                 // the round is claimed; said again if it failed
struct SurvivorsListed { std::optional<uint64_t> serial; Result<std::vector<DeviceId>> accepted; };
struct SumNotFinalized { uint64_t serial; Error why; };    // OpenSum came to nothing
struct StopHolding {};                                     // answer every question at once, now and later
struct AttemptWithdrawn {};                                // the last event
struct AttemptTime {};
// clang-format on
using AttemptEvent =
    std::variant<BeginCohorts, CohortMessageCame, CohortAsked, MaskedInputCame, MaskedInputAccepted, AttemptFrozen,
                 FinalizeAsked, SurvivorsListed, SumNotFinalized, StopHolding, AttemptWithdrawn, AttemptTime>;

// ---- Effects
// clang-format off
struct AnswerTaken { CohortCall call; Status taken; };     // of CohortMessageCame and MaskedInputCame
struct AnswerAsked { CohortCall call; Result<CohortReply> reply; };
struct AnnounceDue { uint32_t total; };                    // to the nodes: no more inputs than this will come
struct AnnounceExpected { uint32_t total; };               // to the round: so many are durable, and no more can come
// Who is accepted, once the ledger holds what the sum releases; answer SurvivorsListed with the same serial.
struct ListSurvivors { std::optional<uint64_t> serial; };
// On other threads: the cohorts change no more. If it fails: SumNotFinalized.
struct OpenSum {
  uint64_t serial; std::shared_ptr<const RoundCohorts> cohorts; secagg::SessionParameters parameters;
};
struct TellNotFinalized { uint64_t serial; Error why; };   // to the round, which asks again
struct LoseAttempt { std::string reason; };                // to the round: AttemptLost
struct NoteRefused { Error why; };                         // for a log: the cohorts' settings are not valid
struct NoteFailed { Error why; };                          // for a count: a session came to nothing
struct NoteUnknownInput { Error why; };                    // for a log: it is durable, and its cohort would not have it
// clang-format on
using AttemptEffect = std::variant<AnswerTaken, AnswerAsked, AnnounceDue, AnnounceExpected, ListSurvivors, OpenSum,
                                   TellNotFinalized, LoseAttempt, NoteRefused, NoteFailed, NoteUnknownInput>;
using AttemptEffects = std::vector<AttemptEffect>;

// What a device hears of an attempt that has no cohorts here, any more or at all. round_closed.
Error attempt_has_no_session();

class AttemptMachine {
 public:
  // `holds`: as if StopHolding had been said, if not.
  explicit AttemptMachine(bool holds = true) : holds_(holds) {}

  AttemptEffects step(const AttemptEvent& event, Instant now);
  std::optional<Instant> next_deadline() const;

  // Its cohorts have begun, and are neither lost nor withdrawn.
  bool is_aggregating() const { return cohorts_ != nullptr; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  friend struct AttemptTamperer;  // a test that breaks an invariant

  struct Question {
    CohortCall call;
    DeviceId device;
    CohortQuestion what;
    Instant until;
  };

  void handle(const BeginCohorts& event);
  void handle(const CohortMessageCame& event);
  void handle(const CohortAsked& event);
  void handle(const MaskedInputCame& event);
  void handle(const MaskedInputAccepted& event);
  void handle(const AttemptFrozen& event);
  void handle(const FinalizeAsked& event);
  void handle(const SurvivorsListed& event);
  void handle(const SumNotFinalized& event);
  void handle(const StopHolding&) { holds_ = false; }
  void handle(const AttemptWithdrawn&) { drop_cohorts(); }
  void handle(const AttemptTime& event);

  Status take_input(const DeviceId& device, const MaskedInput& input);
  void look();
  void answer_held();
  void tell();
  void lose(std::string reason);
  void drop_cohorts();
  void check_questions() const;
  void check_cohorts() const;

  bool holds_;
  Instant now_{};
  AttemptEffects effects_;
  StepCheck step_check_;

  std::shared_ptr<RoundCohorts> cohorts_;  // shared with whoever opens their sum
  secagg::SessionParameters parameters_;
  std::optional<std::string> lost_;         // why
  std::map<DeviceId, MaskedInput> inputs_;  // whose lanes are being added, or are accepted
  std::set<DeviceId> accepted_;
  std::optional<uint32_t> told_due_;
  bool told_expected_ = false;

  std::vector<Question> held_;               // in order of arrival
  std::optional<Instant> first_held_until_;  // the earliest of their times
  uint32_t held_at_ = 0;                     // the progress at which none of them had an answer

  bool is_frozen_ = false;         // and not claimed: a move of the round is on its way
  std::optional<uint64_t> asked_;  // the serial of a claim whose sum is not being opened yet
  bool is_listed_ = false;         // the claim's survivors
};

}  // namespace coterie
