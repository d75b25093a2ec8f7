// RoundIntake: which rounds a node takes part in, decided: when devices may be asked for updates of one, which it
// replaces, and what becomes of an upload for a round that the node has not heard of. Pure.
//
//   LearnRound --AskAccepted--> AcceptedListed --TakeUp--> served --GiveUp--> forgotten
//
// Before devices are asked for updates of a round, the node must know who has sent one already, elsewhere or in an
// earlier life of its own, and who may not, as an earlier round of the job counts him: the store says, and is asked
// again until it does.
//
// An upload may come before its round: another node, which heard of the round sooner, gave the ticket. It waits for
// the board to be looked at, and for the answer of the store; then the ingest machine decides.
#pragma once

#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "fl_server/core/ingest_machine.h"

namespace coterie {

struct IntakeSettings {
  Millis ask_again{500};  // a store that did not answer
  bool can_look = false;  // rounds are heard of late: there is a board to look at
};

// ---- Events
// clang-format off
struct LearnRound { RoundNotice notice; };                 // takes the place of any other round of its job
struct LearnDue { RoundKey key; uint64_t total; };         // UpdatesDue
struct ForgetRound { RoundKey key; };
struct Listed { std::vector<DeviceId> accepted; std::vector<DeviceId> resting = {}; };
struct AcceptedListed { RoundKey key; Result<Listed> listed; };
struct OfferUpload { UploadOffered offered; };
struct RoundsLookedAt {};                                  // LearnRound was said for each round there is
struct IntakeTime {};
// clang-format on
using IntakeEvent =
    std::variant<LearnRound, LearnDue, ForgetRound, AcceptedListed, OfferUpload, RoundsLookedAt, IntakeTime>;

// ---- Effects
// clang-format off
struct AskAccepted { RoundKey key; };                      // the store; answer AcceptedListed
struct TakeUp { RoundNotice notice; Listed devices; };     // for the ingest machine and the check-in desk
struct GiveUp { RoundKey key; };                           // the same
struct LookForRounds {};                                   // answer RoundsLookedAt
struct StepIngest { IngestEvent event; };
// clang-format on
using IntakeEffect = std::variant<AskAccepted, TakeUp, GiveUp, LookForRounds, StepIngest>;
using IntakeEffects = std::vector<IntakeEffect>;

class RoundIntake {
 public:
  explicit RoundIntake(IntakeSettings settings) : settings_(settings) {}

  IntakeEffects step(const IntakeEvent& event, Instant now);
  std::optional<Instant> next_deadline() const;

  // It was taken up, and not given up since.
  bool serves(const RoundKey& key) const { return served_.contains(key); }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  struct Asked {
    RoundNotice notice;
    std::optional<Instant> ask_at = {};  // none: the question is on its way
  };

  void handle(const LearnRound& event);
  void handle(const LearnDue& event);
  void handle(const ForgetRound& event) { forget(event.key); }
  void handle(const AcceptedListed& event);
  void handle(const OfferUpload& event);
  void handle(const RoundsLookedAt&);
  void handle(const IntakeTime&);

  void take_up(const RoundNotice& notice, Listed devices);
  void forget(const RoundKey& key);
  void offer_early();

  IntakeSettings settings_;
  Instant now_{};
  IntakeEffects effects_;
  StepCheck step_check_;
  std::map<RoundKey, Asked> asked_;
  std::map<RoundKey, JobId> served_;
  std::vector<UploadOffered> early_;
  uint32_t looks_ = 0;  // on their way
};

}  // namespace coterie
