#include "device_sdk/client/participant_machine.h"

#include <algorithm>
#include <string>

#include "device_sdk/client/ledger_memory.h"
#include "device_sdk/client/openings.h"
#include "device_sdk/client/state_keeping.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "proto/codec/update/update_decoder.h"
#include "proto/messages/group_weights.h"
#include "secure/crypto/digest.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/identity/manifest.h"
#include "secure/identity/signing_keys.h"

namespace coterie {
namespace {

// A server that sends a device away for longer than this is not believed.
constexpr Millis kWindowMax{24 * 3600 * 1000};

bool has_assignment(ParticipantPhase phase) { return phase >= ParticipantPhase::assigned; }

// In these phases the machine holds the plan, verified: all that can still lead to an upload.
bool has_plan(ParticipantPhase phase) { return phase >= ParticipantPhase::planned; }

// The update is made and its part is counted; it may have left.
bool has_update(ParticipantPhase phase) { return phase >= ParticipantPhase::trained; }

// The error an event brings, or null.
const Error* error_of(const ParticipantEvent& event) {
  return std::visit(
      [](const auto& e) -> const Error* {
        using Event = std::remove_cvref_t<decltype(e)>;
        if constexpr (std::is_same_v<Event, KeysStated> || std::is_same_v<Event, HeldBack>) {
          return nullptr;
        } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(e.outcome)>, Status>) {
          return e.outcome ? nullptr : &e.outcome.error();
        } else {
          const auto* failure = std::get_if<Failure>(&e.outcome);
          return failure == nullptr ? nullptr : &failure->error;
        }
      },
      event);
}

}  // namespace

ParticipantMachine::ParticipantMachine(ParticipantPolicy policy, ParticipantState state)
    : policy_(policy), state_(std::move(state)), prng_(Prng::from_state(state_.random)) {
  // The state comes from a file: what its phase has no use for is dropped, so that no file can break an invariant.
  // Without its server's key a device can believe nobody: it enrolls again.
  if (state_.keys.newest.empty()) state_.phase = ParticipantPhase::unenrolled;
  if (state_.phase == ParticipantPhase::unenrolled) state_.keys = {};
  if (!has_assignment(state_.phase)) state_.assignment.reset();
  if (state_.phase != ParticipantPhase::aggregating) state_.has_opened = state_.has_masked = false;
  if (!has_update(state_.phase)) state_.staged.reset();
  if (!has_update(state_.phase)) state_.late_since = {};
  if (!state_.is_late()) state_.joined.reset();
  if (!state_.joined) state_.joined_weight = 0;
  if (!has_plan(state_.phase)) {
    forget_plan();
    return;
  }
  const Status kept = read_kept_plan();
  if (kept) {
    // Nothing leaves in the clear under a plan with a session.
    const bool is_masked = plan_->privacy.level != SecurityLevel::none;
    if (is_masked && state_.phase == ParticipantPhase::trained) state_.phase = ParticipantPhase::aggregating;
    drop_unfit_round();
    return;
  }
  // The update goes. To train again would be a second one, where the first may have left.
  if (has_update(state_.phase)) {
    last_error_ = kept.error();
    state_.assignment.reset();
    forget_plan();
    state_.phase = ParticipantPhase::idle;
  } else {  // it is fetched again, and judged then
    forget_plan();
    state_.phase = ParticipantPhase::assigned;
    state_.refusal.reset();
    refused_plan_.reset();
  }
}

ParticipantAction ParticipantMachine::next(WallTime now) const {
  if (stopped_) return DoStop{*stopped_};
  if (now < state_.wait_until) return DoWait{state_.wait_until};
  switch (state_.phase) {
    case ParticipantPhase::unenrolled: return DoEnroll{};
    case ParticipantPhase::idle: return DoCheckIn{state_.population, policy_.checkin_hold, state_.refusal};
    case ParticipantPhase::assigned:
      if (unproven_) return DoFetchLogProof{unproven_->step};
      return DoFetchPlan{state_.assignment->plan, state_.assignment->plan_bytes};
    case ParticipantPhase::planned:
      if (plan_->analytics) return fetch_evaluated();
      return DoFetchModel{state_.assignment->model,
                          state_.assignment->model_bytes,
                          plan_->control,
                          handed_value_count(plan_->update),
                          plan_->job,
                          plan_->download};
    case ParticipantPhase::training: return DoTrain{*state_.assignment, *plan_, state_to_train_from(*plan_, state_)};
    case ParticipantPhase::trained:
    case ParticipantPhase::aggregating: return next_with_update();
  }
  return DoStop{Error(ErrorCode::internal, "unknown phase")};
}

ParticipantAction ParticipantMachine::next_with_update() const {
  if (awaits_round()) {
    return DoCheckIn{state_.population, policy_.checkin_hold, state_.refusal, state_.assignment->ticket};
  }
  const Assignment& round = state_.joined ? *state_.joined : *state_.assignment;
  std::optional<float> weight;
  if (state_.joined) weight = state_.joined_weight;
  if (state_.phase == ParticipantPhase::trained) return DoUpload{round, weight};
  return DoAggregate{round, *plan_, weight};
}

void ParticipantMachine::step(const ParticipantEvent& event, WallTime now) {
  if (stopped_) return;
  now_ = now;
  if (const Error* error = error_of(event); error != nullptr && error->code() == ErrorCode::cancelled) {
    last_error_ = *error;  // the app ended it, nothing was learned: the same step is due when the app goes on
    return;
  }
  std::visit([this](const auto& e) { handle(e); }, event);
  // Behind the event: a receipt that came late is a receipt all the same. What is said of keys comes before the answer
  // that it came with.
  if (std::holds_alternative<KeysStated>(event)) return;
  if (state_.assignment && now > last_use()) {
    const char* const why = state_.is_late() ? "no later round has counted the update in a day"
                                             : "the round was over before this device was done";
    give_up(Error(ErrorCode::ticket_expired, why), Millis(0), policy_.backoff_first);
  }
  state_.random = prng_.state();
  if (step_check_.is_due(0)) check();
}

void ParticipantMachine::check() const {
  COT_INVARIANT(state_.keys.newest.empty() == (state_.phase == ParticipantPhase::unenrolled),
                "a device that is enrolled has its server's key, and no other device has one");
  COT_INVARIANT(state_.assignment.has_value() == has_assignment(state_.phase),
                "a device has an assignment from check-in until the round is over for it");
  COT_INVARIANT(plan_.has_value() == has_plan(state_.phase),
                "a device has a verified plan while it may train or upload by it");
  COT_INVARIANT(state_.plan.empty() == !plan_, "the plan that is saved is the plan that was verified");
  COT_INVARIANT(!plan_ || plan_->job == state_.assignment->job, "the plan is the assignment's");
  COT_INVARIANT(!unproven_ || state_.phase == ParticipantPhase::assigned, "a plan is taken when its log is proven");
  COT_INVARIANT(!state_.has_opened || state_.phase == ParticipantPhase::aggregating,
                "what opens a sum is given in a session, and of each the opening is counted once");
  COT_INVARIANT(!state_.is_late() || (has_update(state_.phase) && may_be_late()),
                "late is an update that is made, by a plan that lets later rounds count it");
  COT_INVARIANT(!awaits_round() || !state_.has_opened, "an update that a sum was opened with goes to no other round");
  COT_INVARIANT(state_.phase != ParticipantPhase::trained || plan_->privacy.level == SecurityLevel::none,
                "nothing leaves in the clear under a plan with a session");
  COT_INVARIANT(!state_.has_masked || (state_.phase == ParticipantPhase::aggregating && !awaits_round()),
                "a masked update leaves in a session, which is left when no sum has it");
  COT_INVARIANT(state_.joined.has_value() == (state_.joined_weight > 0), "who joins a later round does so by a weight");
  COT_INVARIANT(!state_.joined || state_.is_late(), "who joins a later round has left its own");
  COT_INVARIANT(!state_.staged || has_update(state_.phase), "a state is staged while an update may be counted");
  COT_INVARIANT(state_.states.size() <= kStatesKeptMax, "a device keeps the states of so many jobs");
  COT_INVARIANT(!stopped_ || last_error_, "a device that stops says why");
  COT_INVARIANT(state_.random == prng_.state(), "the jitter that is saved goes on where it stands");
}

// ---- Steps

void ParticipantMachine::handle(const EnrollAnswered& event) {
  if (state_.phase != ParticipantPhase::unenrolled) return;
  if (const auto* failure = std::get_if<Failure>(&event.outcome)) {
    const RetryClass retry = traits(failure->error.code()).retry;
    // A server that is busy is no reason to stop.
    const bool may_go_on = failure->window && retry == RetryClass::window;
    if (retry == RetryClass::never || (!may_go_on && state_.failures >= policy_.enroll_failures_max)) {
      stopped_ = failure->error;
      last_error_ = failure->error;
      return;
    }
    return fail(*failure);
  }
  const EnrollReply& reply = std::get<EnrollReply>(event.outcome);
  state_.device = reply.device;
  state_.population = reply.population;
  state_.keys = {reply.signing_key, reply.retiring_keys};
  state_.failures = 0;
  advance(ParticipantPhase::idle);
}

// Nothing failed, and the same step is due again. The server hears of it when it is asked for work the next time; what
// it is to be told of a plan goes before.
void ParticipantMachine::handle(const HeldBack& event) {
  last_error_ = event.error;
  if (state_.phase == ParticipantPhase::unenrolled || (state_.refusal && state_.refusal->round != RoundKey{})) return;
  const RoundKey round = state_.assignment ? state_.assignment->round : RoundKey{};
  state_.refusal = Refusal{round, std::string(event.error.reason())};
}

void ParticipantMachine::handle(const KeysStated& event) { follow_key_statements(state_.keys, event.statements); }

void ParticipantMachine::handle(const CheckInAnswered& event) {
  if (state_.phase != ParticipantPhase::idle && !awaits_round()) return;
  if (!std::holds_alternative<Failure>(event.outcome)) state_.refusal.reset();  // the server has heard of it
  if (const auto* window = std::get_if<RetryWindow>(&event.outcome)) {
    state_.failures = 0;
    if (awaits_round() && now_ > state_.late_since + kHeldMax) {
      return give_up(Error(ErrorCode::ticket_expired, "no later round has asked for the update"),
                     Millis(window->min_ms), Millis(window->max_ms));
    }
    return wait_between(Millis(window->min_ms), Millis(window->max_ms));
  }
  if (const auto* failure = std::get_if<Failure>(&event.outcome)) {
    if (failure->error.code() == ErrorCode::permission_denied) {  // revoked
      stopped_ = failure->error;
      last_error_ = failure->error;
      return;
    }
    return awaits_round() ? ask_for_round_again(*failure) : fail(*failure);
  }
  const Assignment& assignment = std::get<Assignment>(event.outcome);
  if (awaits_round()) join(assignment);
  else take(assignment);
}

void ParticipantMachine::take(const Assignment& assignment) {
  if (const Status verified = verify(assignment); !verified) {
    return give_up(verified.error(), policy_.refusal_pause, 2 * policy_.refusal_pause);
  }
  // Before anything is fetched: from here on no older model of this job is accepted, whatever becomes of the round.
  state_.newest_models[assignment.job] = assignment.model_version;
  expire_states(now_, state_);
  settle_state(assignment, state_);
  state_.assignment = assignment;
  advance(ParticipantPhase::assigned);
}

Status ParticipantMachine::verify(const Assignment& assignment) const {
  COT_TRY(verify_manifest(assignment, state_.keys, now_));
  const auto newest = state_.newest_models.find(assignment.job);
  if (newest == state_.newest_models.end() && state_.newest_models.size() >= limits::kJobsRememberedMax) {
    // To forget one would let that one be rolled back.
    return Error(ErrorCode::refused, "assignment: of one job more than this device can remember");
  }
  if (newest != state_.newest_models.end() && assignment.model_version < newest->second) {
    return Error(ErrorCode::refused, "assignment: model version " + std::to_string(assignment.model_version.value()) +
                                         " is older than " + std::to_string(newest->second.value()) +
                                         ", which this device has seen");
  }
  return {};
}

void ParticipantMachine::handle(const PlanFetched& event) {
  if (state_.phase != ParticipantPhase::assigned) return;
  if (const auto* failure = std::get_if<Failure>(&event.outcome)) return fail(*failure);
  const Bytes& bytes = std::get<Bytes>(event.outcome);
  Result<Plan> plan = open_plan(bytes);
  if (!plan) return give_up(plan.error(), policy_.refusal_pause, 2 * policy_.refusal_pause);
  const Result<std::optional<LogStep>> step = look_at_ledger(*plan);
  if (!step) return refuse_plan(*plan, step.error());
  if (!*step) return go_on_with(*std::move(plan), bytes);
  unproven_ = UnprovenPlan{bytes, **step};
  state_.wait_until = WallTime();
}

void ParticipantMachine::handle(const LogProofFetched& event) {
  if (!unproven_) return;
  const auto* failure = std::get_if<Failure>(&event.outcome);
  if (failure != nullptr && traits(failure->error.code()).retry != RetryClass::never) return fail(*failure);
  const UnprovenPlan unproven = *std::exchange(unproven_, std::nullopt);
  Result<Plan> plan = open_plan(unproven.bytes);
  COT_INVARIANT(plan.has_value(), "a plan whose proof was asked for was read before");
  if (failure != nullptr) {  // asking again cannot help: the server has no proof
    return refuse_plan(*plan, Error(ErrorCode::refused,
                                    "plan: the server does not prove that its privacy ledger goes on from the one that "
                                    "this device has seen: " +
                                        failure->error.message(),
                                    refusal_reason::kLedgerUnproven));
  }
  const Status proven = check_log_proof(*plan, state_, std::get<LogProof>(event.outcome));
  if (!proven) return refuse_plan(*plan, proven.error());
  go_on_with(*std::move(plan), unproven.bytes);
}

void ParticipantMachine::go_on_with(Plan plan, Bytes bytes) {
  note_ledger(plan, state_);  // the server has signed it: it counts whether or not this device takes part
  note_log(plan, state_);
  if (const Status good = check_means(plan); !good) return refuse_plan(plan, good.error());
  if (const Status good = take_plan(plan); !good) return refuse_plan(plan, good.error());
  state_.plan = std::move(bytes);
  // Whoever counts needs no table: what others have counted so far is not for devices to read.
  const bool needs_models = !plan_->analytics || plan_->analytics->evaluation.has_value();
  advance(needs_models ? ParticipantPhase::planned : ParticipantPhase::training);
}

void ParticipantMachine::refuse_plan(const Plan& plan, const Error& error) {
  note_refusal(plan, error);
  give_up(error, policy_.refusal_pause, 2 * policy_.refusal_pause);
}

void ParticipantMachine::forget_plan() {
  plan_.reset();
  unproven_.reset();
  state_.plan.clear();
  state_.staged.reset();
  state_.has_opened = false;
  state_.has_masked = false;
  state_.late_since = {};
  state_.joined.reset();
  state_.joined_weight = 0;
}

Result<Plan> ParticipantMachine::open_plan(ByteView bytes) const {
  COT_INVARIANT(state_.assignment.has_value(), "a plan is read for an assignment");
  if (bytes.empty()) return Error(ErrorCode::refused, "plan: was not kept, so that nobody can judge it again");
  if (content_digest(bytes) != state_.assignment->plan) {
    return Error(ErrorCode::refused, "plan: does not have the digest that was signed");
  }
  COT_ASSIGN(Plan plan, decode_plan(bytes));
  if (plan.job != state_.assignment->job) return Error(ErrorCode::refused, "plan: is of another job");
  return plan;
}

Result<std::optional<LogStep>> ParticipantMachine::look_at_ledger(const Plan& plan) const {
  COT_TRY(check_ledger(plan, state_));
  return check_log(plan, state_);
}

// What its log had to show was shown before it was kept; but for one that was kept by a version which knew no logs, and
// then nothing was seen, or a head without a step between. Any other head stays as it was.
Status ParticipantMachine::read_kept_plan() {
  COT_ASSIGN(Plan plan, open_plan(state_.plan));
  const Result<std::optional<LogStep>> step = look_at_ledger(plan);
  if (!step) {
    note_refusal(plan, step.error());
    return step.error();
  }
  note_ledger(plan, state_);
  if (!*step) note_log(plan, state_);
  const Status good = take_plan(plan);
  if (!good) note_refusal(plan, good.error());
  return good;
}

Status ParticipantMachine::take_plan(Plan plan) {
  Status good = judge(plan);
  // Not yet begun, or begun in an earlier life and counted only when the training has ended.
  if (good && !has_update(state_.phase)) good = check_new_part(policy_.privacy, plan, *state_.assignment, state_);
  if (good && !state_.has_opened) good = check_openings(policy_.privacy, plan, *state_.assignment, state_);
  if (!good) return good;
  note_level(plan, state_);
  plan_ = std::move(plan);
  return {};
}

Status ParticipantMachine::judge(const Plan& plan) {
  if (plan.privacy.level == SecurityLevel::active_dp) COT_TRY(check_promise(plan.privacy, plan.update.value_count));
  return check_policy(policy_.privacy, plan, *state_.assignment, state_);
}

// Before anything is fetched for it: a model without the bytes to send what it becomes is worth nothing to anybody.
Status ParticipantMachine::check_means(const Plan& plan) const {
  COT_TRY(check_conditions(combined(policy_.required, plan.device_requirements), conditions_));
  const uint64_t control_bytes = plan.control ? handed_value_count(plan.update) * sizeof(float) : 0;
  const uint64_t model_bytes = plan.analytics ? evaluated_bytes(*plan.analytics) : state_.assignment->model_bytes;
  const uint64_t upload_bytes = update_decoder(plan.update.encoding).payload_bytes_max(plan.update);
  return check_left(left_, {.upload_bytes = upload_bytes, .download_bytes = model_bytes + control_bytes});
}

void ParticipantMachine::note_refusal(const Plan& plan, const Error& error) {
  refused_plan_ = RefusedPlan{error, plan.job, state_.assignment->round, plan.privacy, state_.spent};
  state_.refusal = Refusal{state_.assignment->round, std::string(error.reason())};
}

void ParticipantMachine::handle(const TrainingEnded& event) {
  if (state_.phase != ParticipantPhase::training) return;
  if (!event.outcome) {
    ++state_.failures;
    return give_up(event.outcome.error(), policy_.backoff_first, backoff());
  }
  // Before the update can leave: a device that is killed between the two has counted too much, never too little.
  // After not_after nothing is sent.
  if (may_be_late() || now_ <= state_.assignment->not_after) {
    count_part(*plan_, *state_.assignment, state_);
    note_told(*plan_, *state_.assignment, state_);
  }
  if (keeps_state(*plan_) && event.state) stage_state(*plan_, *state_.assignment, *event.state, state_);
  const bool is_plain = plan_->privacy.level == SecurityLevel::none;
  advance(is_plain ? ParticipantPhase::trained : ParticipantPhase::aggregating);
}

void ParticipantMachine::handle(const UploadAnswered& event) {
  if (state_.phase != ParticipantPhase::trained || awaits_round()) return;
  if (const auto* failure = std::get_if<Failure>(&event.outcome)) {
    if (!may_be_late()) return fail(*failure);
    if (failure->error.code() == ErrorCode::ticket_expired) return leave_round(*failure);
    if (failure->error.code() != ErrorCode::round_closed) return fail(*failure);
    return ask_what_became_of_it(*failure);
  }
  count_round();
}

// Failures stay counted until the end: a session that began well has not yet been worth its training.
void ParticipantMachine::handle(const AggregationAnswered& event) {
  if (state_.phase != ParticipantPhase::aggregating) return;
  if (awaits_round()) return;  // the answer of a session that was left
  if (const auto* failure = std::get_if<Failure>(&event.outcome)) {
    if (!may_be_late() || state_.has_opened) return fail(*failure);
    if (event.is_left_out) return leave_session(*failure);
    if (failure->error.code() == ErrorCode::round_closed) return ask_what_became_of_it(*failure);
    return fail(*failure);
  }
  if (const auto* window = std::get_if<RetryWindow>(&event.outcome)) {
    return wait_between(Millis(window->min_ms), Millis(window->max_ms));
  }
  switch (std::get<AggregationStep>(event.outcome)) {
    case AggregationStep::went_on: return;
    case AggregationStep::masks: state_.has_masked = true; return;
    case AggregationStep::opens:
      if (!std::exchange(state_.has_opened, true)) count_opening(*plan_, *state_.assignment, state_);
      return;
    case AggregationStep::done: return count_round();
  }
}

// ---- What follows

void ParticipantMachine::count_round() {
  ++state_.rounds_done;
  state_.failures = 0;
  commit_state(*plan_, now_, state_);
  state_.assignment.reset();
  forget_plan();
  last_error_.reset();
  advance(ParticipantPhase::idle);
}

void ParticipantMachine::advance(ParticipantPhase phase) {
  state_.phase = phase;
  state_.wait_until = WallTime();
}

// The same step again later, unless the error says that it cannot succeed.
void ParticipantMachine::fail(const Failure& failure) {
  last_error_ = failure.error;
  ++state_.failures;
  RetryClass retry = traits(failure.error.code()).retry;
  // An enrollment has no round that could be over: a server that says so is asked again, as by any other failure.
  if (state_.phase == ParticipantPhase::unenrolled && retry == RetryClass::check_in) retry = RetryClass::backoff;
  switch (retry) {
    case RetryClass::check_in: {  // the round goes on without this device: there will be others
      if (!failure.window) return give_up(failure.error, Millis(0), backoff());
      return give_up(failure.error, Millis(failure.window->min_ms), Millis(failure.window->max_ms));
    }
    case RetryClass::never:
      if (state_.assignment) return give_up(failure.error, policy_.backoff_first, backoff());
      return wait_between(policy_.refusal_pause, 2 * policy_.refusal_pause);
    case RetryClass::window:
    case RetryClass::backoff:
      if (failure.window && failure.window->max_ms > 0) {
        return wait_between(Millis(failure.window->min_ms), Millis(failure.window->max_ms));
      }
      return wait_between(Millis(0), backoff());
  }
}

void ParticipantMachine::give_up(const Error& error, Millis pause_min, Millis pause_max) {
  COT_INVARIANT(state_.phase != ParticipantPhase::unenrolled, "only a device that is enrolled has work to give up");
  last_error_ = error;
  state_.assignment.reset();
  forget_plan();
  advance(ParticipantPhase::idle);
  wait_between(pause_min, std::max(pause_min, pause_max));
}

Millis ParticipantMachine::backoff() {
  return std::min(policy_.backoff_max, policy_.backoff_first * (1u << std::min(state_.failures, 16u)));
}

void ParticipantMachine::wait_between(Millis min, Millis max) {
  const Millis low = std::min(min, kWindowMax);
  const Millis high = std::clamp(max, low, kWindowMax);
  const auto width = static_cast<uint64_t>((high - low).count());
  state_.wait_until = now_ + low + Millis(prng_.below(width + 1));
  COT_INVARIANT(state_.wait_until - now_ <= kWindowMax, "no server sends a device away for longer than a day");
}

}  // namespace coterie
