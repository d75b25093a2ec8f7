// Dialogue: both sides of a participant's session: a machine, the clock it is told, and a server's well-made
// answers.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "device_sdk/client/participant_machine.h"
#include "proto/codec/codec.h"
#include "proto/messages/analytics_lanes.h"
#include "secure/crypto/digest.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/identity/manifest.h"
#include "tests/support/matchers.h"
#include "tests/unit/device_sdk/client/session_replay.h"

namespace coterie::test {

inline constexpr Millis kRoundTime{600'000};
inline constexpr uint64_t kPlanValues = 16;

// What a plan of this level, not none, says.
inline PrivacyRules rules_of(SecurityLevel level, uint32_t cohort_min = 2) {
  PrivacyRules rules{
      .level = level, .cohort_min = cohort_min, .roster_max = 19, .corrupt_share = 0.1, .cipher_suite = 1};
  if (level != SecurityLevel::active_dp) return rules;
  const DeviceNoiseGoal goal{.value_count = kPlanValues, .clip_norm = 1, .noise_multiplier = 16, .delta = 1e-6};
  EXPECT_OK(add_device_noise(rules, goal));
  return rules;
}

// When it ends, the session is run again with a failure at each step, through its restarts (session_replay.h): behind
// the first restart so many steps.
inline constexpr int kReplayedMax = 5;

class Dialogue {
 public:
  explicit Dialogue(uint64_t seed = 1, ParticipantPolicy with = {}) : policy(with) {
    ParticipantState fresh;
    fresh.random = Prng(seed).state();
    machine = std::make_unique<ParticipantMachine>(policy, fresh);
    fresh_ = fresh;
  }
  ~Dialogue() { replay_with_failures(first_policy_, fresh_, steps_); }
  Dialogue(Dialogue&&) = default;  // what is left behind has no steps

  ParticipantAction next() const { return machine->next(now); }
  template <typename Action>
  bool is_next() const {
    return std::holds_alternative<Action>(next());
  }
  const ParticipantState& state() const { return machine->state(); }
  Millis wait() const { return state().wait_until - now; }
  void skip_wait() { now = std::max(now, state().wait_until); }
  void tell(const ParticipantEvent& event) {
    record({event, now, policy});
    machine->step(event, now);
    machine->check();
  }

  // The app is killed and started again: nothing survives but the encoded state.
  void restart() {
    record({std::nullopt, now, policy});
    Result<ParticipantState> state = decode_participant_state(encode(machine->state()));
    ASSERT_OK(state);
    machine = std::make_unique<ParticipantMachine>(policy, std::move(*state));
    machine->check();
  }

  // ---- The server's answers
  EnrollReply identity() const { return {DeviceId{{1, 2, 3}}, Population("default"), signer->public_key()}; }
  Plan plan() const {
    Plan plan;
    plan.job = job;
    plan.update.value_count = kPlanValues;
    plan.update.fixed_point = FixedPointSpec::finest(8, 1000, 1000);
    plan.privacy = privacy;
    plan.training.correction = correction;
    if (has_control(correction.kind)) {
      plan.update.control_value_count = kPlanValues / 2;
      plan.control = control;
    }
    plan.ledger = ledger;
    plan.log = log;
    plan.staleness = staleness;
    if (analytics) {
      plan.analytics = analytics;
      plan.update.value_count = lane_count(*analytics);
      plan.update.clip_l2 = clip_of(*analytics);
      plan.update.fixed_point = FixedPointSpec::finest(8, 1, 1000);
    }
    return plan;
  }
  Assignment unsigned_assignment() const {
    const Bytes plan_bytes = encode(plan());
    return {.job = job,
            .round = round,
            .model_version = version,
            .plan = content_digest(plan_bytes),
            .model = content_digest(as_bytes(model)),
            .plan_bytes = static_cast<uint32_t>(plan_bytes.size()),
            .model_bytes = model.size(),
            .not_after = now + kRoundTime,
            .ticket = Bytes(40, 9),
            .signature = {}};
  }
  Assignment sign(Assignment assignment) const {
    EXPECT_OK(sign_manifest(assignment, *signer));
    return assignment;
  }
  Assignment assignment() const { return sign(unsigned_assignment()); }

  // The answer that takes the session one step on, whatever is due; skips the wait if there is one.
  ParticipantEvent good_answer() {
    skip_wait();
    const ParticipantAction action = next();
    if (std::holds_alternative<DoEnroll>(action)) return EnrollAnswered{identity()};
    if (std::holds_alternative<DoCheckIn>(action)) return CheckInAnswered{assignment()};
    if (std::holds_alternative<DoFetchPlan>(action)) return PlanFetched{encode(plan())};
    if (const auto* fetch = std::get_if<DoFetchModel>(&action)) {
      ModelFetched fetched{fetch->model, fetch->control};
      for (const EvaluatedModel& other : fetch->further) fetched.further.push_back(other.digest);
      return fetched;
    }
    if (const auto* train = std::get_if<DoTrain>(&action)) {
      return correction == DriftCorrection{} ? TrainingEnded{{}} : TrainingEnded{{}, state_after(*train)};
    }
    if (const auto* upload = std::get_if<DoUpload>(&action)) {
      return UploadAnswered{Receipt{upload->assignment.round, Bytes(32, 1)}};
    }
    if (std::holds_alternative<DoAggregate>(action)) return AggregationAnswered{AggregationStep::done};
    ADD_FAILURE() << "no answer can take a session on that is in phase " << static_cast<int>(state().phase);
    return TrainingEnded{{}};
  }

  // The same step's event, but failed.
  ParticipantEvent failed_answer(const Error& error, std::optional<RetryWindow> window = {}) {
    const ParticipantAction action = next();
    const Failure failure{error, std::move(window)};
    if (std::holds_alternative<DoEnroll>(action)) return EnrollAnswered{failure};
    if (std::holds_alternative<DoCheckIn>(action)) return CheckInAnswered{failure};
    if (std::holds_alternative<DoFetchPlan>(action)) return PlanFetched{failure};
    if (std::holds_alternative<DoFetchModel>(action)) return ModelFetched{failure};
    if (std::holds_alternative<DoTrain>(action)) return TrainingEnded{error};
    if (std::holds_alternative<DoAggregate>(action)) return AggregationAnswered{failure};
    EXPECT_TRUE(std::holds_alternative<DoUpload>(action));
    return UploadAnswered{failure};
  }

  // The content of the state that such a training makes: of the model and of what it went on from, and of nothing else.
  static Digest state_after(const DoTrain& train) {
    Bytes from(train.assignment.model.bytes.begin(), train.assignment.model.bytes.end());
    if (train.state) from.insert(from.end(), train.state->content.bytes.begin(), train.state->content.bytes.end());
    return content_digest(from);
  }

  // Good answers until the session is in `phase`.
  void reach(ParticipantPhase phase) {
    if (phase == ParticipantPhase::aggregating && privacy == PrivacyRules{}) privacy = rules_of(SecurityLevel::masked);
    for (int steps = 0; state().phase != phase && steps < 12; ++steps) tell(good_answer());
    ASSERT_EQ(state().phase, phase);
    skip_wait();
  }

  ParticipantPolicy policy;
  PrivacyRules privacy;                // of the plan
  DriftCorrection correction;          // likewise
  std::optional<Digest> control = {};  // of a plan whose correction has one
  LedgerHead ledger;
  std::optional<SignedLogHead> log;
  StalenessRules staleness = {};  // likewise
  std::optional<AnalyticsRules> analytics = {};
  JobId job{"job"};
  std::string model = "model";
  RoundKey round{RoundId(5), Attempt(1)};
  ModelVersion version{4};
  WallTime now = wall_time_from_unix_ms(1'700'000'000'000);
  std::unique_ptr<Signer> signer = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 7)));
  std::unique_ptr<ParticipantMachine> machine;

 private:
  ParticipantPolicy first_policy_ = policy;
  ParticipantState fresh_;
  void record(SessionStep step) {
    if (behind_restart_ > 0 || !step.event) ++behind_restart_;
    if (behind_restart_ <= kReplayedMax) steps_.push_back(std::move(step));
  }

  std::vector<SessionStep> steps_;
  int behind_restart_ = 0;  // steps since the first one
};

inline constexpr ParticipantPhase kPhases[] = {
    ParticipantPhase::unenrolled, ParticipantPhase::idle,    ParticipantPhase::assigned,   ParticipantPhase::planned,
    ParticipantPhase::training,   ParticipantPhase::trained, ParticipantPhase::aggregating};
inline constexpr ParticipantPhase kRequestPhases[] = {ParticipantPhase::unenrolled, ParticipantPhase::idle,
                                                      ParticipantPhase::assigned,   ParticipantPhase::planned,
                                                      ParticipantPhase::trained,    ParticipantPhase::aggregating};

}  // namespace coterie::test
