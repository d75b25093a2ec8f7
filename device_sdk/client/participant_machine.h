// ParticipantMachine: a device's session with a server, decided. Pure: it is told results and times, it
// answers with the next thing to do. Between any two steps its state can be saved, the app killed, and a new
// machine made from the state.
//
//   unenrolled
//       | enroll
//       v      check in          plan            model             train            upload
//     idle ------------> assigned ----> planned ------> training -------> trained ----------+
//       ^                   |              |               |                 |              |
//       +-------------------+--------------+---------------+-----------------+--------------+
//                given up: expired, closed, refused by us, or wrong beyond repair       accepted
//
// A plan with analytics goes from assigned to training: its model is the table, which nobody needs who counts. One that
// evaluates models goes by `planned` as others do: these are fetched in the table's place.
//
// A plan with a security level goes from training to `aggregating` in the place of `trained`: many exchanges
// of one session of secure aggregation (secure/secagg/client.h), the update among them, until the sum is
// unmasked or the session is over.
//
// A device believes nothing it has not verified: the assignment's signature (the server it enrolled with, or the key
// that its key has named, secure/identity/signing_keys.h), a
// model version not older than any it has seen of the job, the plan's and the model's digests, the plan's
// rules, a privacy ledger that was not rolled back and is the one it has seen (ledger_memory.h). Where a plan shows a
// longer ledger, its proof is fetched before the plan is taken; nothing of that is saved, so that a new life fetches
// plan and proof again. It trains under no plan that promises less than
// its own policy asks (privacy_policy.h): that is `refused` with a reason, which the app hears at once and the server
// with the next check-in. A plan is refused likewise if what it and the app ask of the device's state is not the
// case when it comes, or if too little is left of the day's budget for its model and its update. What is no longer
// the case later only holds the device back: the same step is due when it is. What a part costs is in the state
// before the update can leave: the shell saves the state between any two steps.
//
// In buffered rounds (ADR 114) an update that its round did not count is kept: `trained`, the device checks in with the
// ticket that it has, joins a later round, and uploads there. It leaves a round only when the server has said for
// certain that it is over without the update (ticket_expired, not round_closed), so that no two count one training.
// With secure aggregation (ADR 127) it is the same in phase `aggregating`, where the later round has a session of its
// own; whatever ends a session before the masked update has left it is certain, and behind it only ticket_expired is.
//
// Where the plan has a correction, a state is kept from round to round, which changes when an update is counted and
// only then (state_keeping.h).
//
// Failures: the same step again after exponential back-off with full jitter, or inside the window the server
// gave; no step outlives the assignment's not_after. Failures add up until an update is accepted or the
// server sends the device away in good order: a server that assigns what never works is asked ever more
// rarely. A step that the app cancelled counts for nothing; it is due again. Devices so spread their load by
// themselves (AWS, "Exponential Backoff And Jitter", 2015).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/assert.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "device_sdk/client/condition_gate.h"
#include "device_sdk/client/daily_budget.h"
#include "device_sdk/client/privacy_policy.h"
#include "proto/messages/checkin.h"
#include "proto/messages/participant_state.h"
#include "proto/messages/plan.h"
#include "proto/messages/update.h"

namespace coterie {

struct ParticipantPolicy {
  Millis backoff_first{500};
  Millis backoff_max{120'000};
  Millis checkin_hold{25'000};    // how long a check-in may be held by the server
  Millis refusal_pause{300'000};  // after an assignment we had to refuse, and after a server says "never"
  uint32_t enroll_failures_max = 8;
  PrivacyPolicy privacy;
  DeviceRequirements required;  // by the app, of all work
};

// A plan that was refused for a reason of privacy_policy.h, for the app.
struct RefusedPlan {
  Error error;  // with the reason
  JobId job;
  RoundKey round;
  PrivacyRules promised;
  DeviceSpent spent;  // before
};

// ---- What to do next
struct DoEnroll {};
struct DoCheckIn {
  Population population;
  Millis hold;
  std::optional<Refusal> refusal;
  Bytes held = {};  // as in CheckinRequest
};
// clang-format off
struct DoFetchPlan { Digest plan; uint32_t bytes_max; };
struct DoFetchLogProof { LogStep step; };               // of the plan that was fetched
// `control`: to be fetched likewise, with so many values; none: the plan has none. `download`: how an older model of
// the job leads to this one. `further`: more models, to be fetched likewise; a plan that evaluates two has one.
struct DoFetchModel {
  Digest model; uint64_t bytes; std::optional<Digest> control = {}; uint64_t control_values = 0;
  JobId job = {}; DownloadRules download = {}; std::vector<EvaluatedModel> further = {};
};
// Resume where a checkpoint of this assignment stands. state: what training goes on from; none: zeros.
struct DoTrain { Assignment assignment; Plan plan; std::optional<StateSlot> state = {}; };
// weight: of an update that joins this round: it is multiplied by that, and names the round.
struct DoUpload { Assignment assignment; std::optional<float> weight = {}; };
// The session's next exchange. weight: as above; of the round's own update there is none.
struct DoAggregate { Assignment assignment; Plan plan; std::optional<float> weight = {}; };
struct DoWait { WallTime until; };
struct DoStop { Error error; };                         // nothing a device can do helps: the app or the operator must
// clang-format on
using ParticipantAction = std::variant<DoEnroll, DoCheckIn, DoFetchPlan, DoFetchLogProof, DoFetchModel, DoTrain,
                                       DoUpload, DoAggregate, DoWait, DoStop>;

// ---- What came of it
// An error with what the server said about when to try again, if it said anything.
struct Failure {
  Error error;
  std::optional<RetryWindow> window;
};
template <typename T>
using Outcome = std::variant<T, Failure>;

// clang-format off
struct EnrollAnswered { Outcome<EnrollReply> outcome; };
struct CheckInAnswered { std::variant<Assignment, RetryWindow, Failure> outcome; };
struct PlanFetched { Outcome<Bytes> outcome; };          // the frame's bytes, unverified
struct LogProofFetched { Outcome<LogProof> outcome; };
// The content digests of what was stored; `control`: of the plan's, if it has one; `further`: in the action's order.
struct ModelFetched { Outcome<Digest> outcome; std::optional<Digest> control = {}; std::vector<Digest> further = {}; };
// The encoded update is stored, and so is, if the plan has a correction, the state that counts with it: its content.
struct TrainingEnded { Status outcome; std::optional<Digest> state = {}; };
struct UploadAnswered { Outcome<Receipt> outcome; };
struct HeldBack { Error error; };                         // instead of the action; with the reason of a hold
struct KeysStated { std::vector<KeyStatement> statements; };  // came with an answer, unverified; before its event
// clang-format on
// masks: the masked update leaves with the next exchange, before which that is saved.
// opens: what opens the sum is made, and leaves with the next exchange, before which its opening is counted and saved.
// done: this device's part is.
enum class AggregationStep : uint8_t { went_on, masks, opens, done };
// A window: not yet, ask again inside it. is_left_out: with a failure, for certain no sum of this session has the
// update or will have it, and the device has it as it was.
struct AggregationAnswered {
  std::variant<AggregationStep, RetryWindow, Failure> outcome;
  bool is_left_out = false;
};
using ParticipantEvent = std::variant<EnrollAnswered, CheckInAnswered, PlanFetched, LogProofFetched, ModelFetched,
                                      TrainingEnded, UploadAnswered, AggregationAnswered, HeldBack, KeysStated>;

// How long a server may ask for no late update before its device takes new work: it is asked once in any case, however
// long the device slept.
inline constexpr Millis kHeldMax{600'000};
// How long an update outlives its round, or the last one that it left, whatever the server answers.
inline constexpr Millis kKeptMax{86'400'000};

class ParticipantMachine {
 public:
  // `state` of a new device: default-constructed but for `random` (a seed, not all zero).
  ParticipantMachine(ParticipantPolicy policy, ParticipantState state);

  // The same answer until an event or the time changes it.
  ParticipantAction next(WallTime now) const;
  void step(const ParticipantEvent& event, WallTime now);

  // What policy.privacy.uncertified is from now on, as time changes it.
  void set_uncertified(std::string why) { policy_.privacy.uncertified = std::move(why); }

  // In what state the device is, and what is left of the day's budget, as time changes them.
  void set_means(const DeviceConditions& conditions, const WorkAmount& left) {
    conditions_ = conditions;
    left_ = left;
  }
  // What the device must be like to go on with what it is in the middle of: by the app, and by the plan it has.
  DeviceRequirements required() const {
    return plan_ ? combined(policy_.required, plan_->device_requirements) : policy_.required;
  }

  const ParticipantState& state() const { return state_; }
  // Why the last assignment was given up or the last step failed; for the app to show.
  const std::optional<Error>& last_error() const { return last_error_; }
  // The plan that was refused since this was asked last; the newest, if there were several.
  std::optional<RefusedPlan> take_refused_plan() { return std::exchange(refused_plan_, std::nullopt); }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  friend struct ParticipantTamperer;  // a test that breaks an invariant

  void handle(const EnrollAnswered& event);
  void handle(const HeldBack& event);
  void handle(const KeysStated& event);
  void handle(const CheckInAnswered& event);
  void handle(const PlanFetched& event);
  void handle(const LogProofFetched& event);
  void handle(const ModelFetched& event);
  static uint64_t evaluated_bytes(const AnalyticsRules& rules);
  DoFetchModel fetch_evaluated() const;
  bool is_what_was_named(const ModelFetched& event) const;
  void handle(const TrainingEnded& event);
  void handle(const UploadAnswered& event);
  void handle(const AggregationAnswered& event);

  Status verify(const Assignment& assignment) const;
  void take(const Assignment& assignment);
  bool may_be_late() const {
    return state_.phase >= ParticipantPhase::training && plan_ && plan_->staleness.has_later_rounds();
  }
  // When the work on an assignment has no more use. Precondition: there is one.
  WallTime last_use() const;
  bool awaits_round() const { return state_.is_late() && !state_.joined; }
  // From the model that the update was trained from to that of a later round.
  uint64_t versions_since(const Assignment& later) const;
  float weight_for(const Assignment& later) const;
  void leave_round(const Failure& failure);
  void leave_session(const Failure& failure);
  void ask_what_became_of_it(const Failure& failure);
  ParticipantAction next_with_update() const;
  void join(const Assignment& assignment);
  void ask_for_round_again(const Failure& failure);
  void drop_unfit_round();
  Result<Plan> open_plan(ByteView bytes) const;
  // The plan that this device has gone on with in an earlier life.
  Status read_kept_plan();
  // What is to be proven of the plan's ledger before it is judged by the rest.
  Result<std::optional<LogStep>> look_at_ledger(const Plan& plan) const;
  Status judge(const Plan& plan);
  Status check_means(const Plan& plan) const;
  Status take_plan(Plan plan);
  void go_on_with(Plan plan, Bytes bytes);
  void refuse_plan(const Plan& plan, const Error& error);
  void note_refusal(const Plan& plan, const Error& error);
  void count_round();
  void forget_plan();
  void advance(ParticipantPhase phase);
  void fail(const Failure& failure);
  void give_up(const Error& error, Millis pause_min, Millis pause_max);
  void wait_between(Millis min, Millis max);
  Millis backoff();

  ParticipantPolicy policy_;
  ParticipantState state_;
  DeviceConditions conditions_;
  WorkAmount left_{UINT64_MAX, UINT64_MAX, UINT64_MAX};
  Prng prng_;
  WallTime now_{};
  std::optional<Plan> plan_;  // state_.plan, verified
  struct UnprovenPlan {
    Bytes bytes;
    LogStep step;
  };
  std::optional<UnprovenPlan> unproven_;  // while assigned: the plan, verified but for what its log's proof shows
  std::optional<Error> stopped_;
  std::optional<Error> last_error_;
  std::optional<RefusedPlan> refused_plan_;
  StepCheck step_check_;
};

}  // namespace coterie
