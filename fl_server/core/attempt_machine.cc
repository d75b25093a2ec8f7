#include "fl_server/core/attempt_machine.h"

#include <algorithm>
#include <utility>

namespace coterie {
namespace {

Error another_input() {
  return Error(ErrorCode::invalid_argument,
               "masked update: another one of this device, with another header, came before");
}

// Sharing and masking take two phases at most. Adverts have the rest of the time that the round collects, and at least
// half of it.
Millis time_to_advertise(Instant::duration left, Millis phase_max) {
  const auto all = std::chrono::duration_cast<Millis>(left);
  return std::max(all / 2, all - 2 * phase_max);
}

RoundCohortsSettings settings_of(const BeginCohorts& event, Instant now) {
  const AttemptRules& rules = event.rules;
  return {.cohort_count = rules.cohort_count,
          .adverts_goal = rules.adverts_goal,
          .adverts_enough = std::min(event.goal_count, rules.adverts_goal),
          .adverts_least = rules.adverts_least,
          .cohort = {.advertising_max = time_to_advertise(rules.deadline - now, rules.cohort_phase_max),
                     .phase_max = rules.cohort_phase_max,
                     .dropout_share = event.session.dropout_share},
          .draw = event.draw};
}

bool is_not_yet(const Result<CohortReply>& reply) { return reply && std::holds_alternative<NotYet>(*reply); }

}  // namespace

Error attempt_has_no_session() {
  return Error(ErrorCode::round_closed, "secure aggregation: this attempt takes no more part; check in again");
}

AttemptEffects AttemptMachine::step(const AttemptEvent& event, Instant now) {
  now_ = now;
  std::visit([this](const auto& e) { handle(e); }, event);
  look();
  const size_t devices = cohorts_ ? cohorts_->device_count() : 0;
  if (step_check_.is_due(devices + held_.size())) check();
  return std::exchange(effects_, {});
}

std::optional<Instant> AttemptMachine::next_deadline() const {
  if (!cohorts_) return std::nullopt;
  const std::optional<Instant> phase = cohorts_->next_deadline();
  if (!phase || !first_held_until_) return phase ? phase : first_held_until_;
  return std::min(*phase, *first_held_until_);
}

// ---- Begin and end

void AttemptMachine::handle(const BeginCohorts& event) {
  if (cohorts_ || lost_) return;  // an attempt begins once: what is extended has its sessions
  if (event.has_accepted || event.rules.is_resumed) return lose(kAttemptStartedAnew);
  Result<RoundCohorts> cohorts =
      RoundCohorts::make(event.session, settings_of(event, now_), event.ring_seeds, event.certificate_is_good, now_);
  if (!cohorts) {
    effects_.push_back(NoteRefused{cohorts.error()});
    return lose(cohorts.error().message());
  }
  cohorts_ = std::make_shared<RoundCohorts>(std::move(*cohorts));
  parameters_ = event.session;
}

void AttemptMachine::lose(std::string reason) {
  lost_ = std::move(reason);
  drop_cohorts();
  effects_.push_back(LoseAttempt{*lost_});
}

void AttemptMachine::drop_cohorts() {
  for (const Question& question : std::exchange(held_, {})) {
    effects_.push_back(AnswerAsked{question.call, attempt_has_no_session()});
  }
  first_held_until_.reset();
  cohorts_.reset();
  inputs_.clear();
  accepted_.clear();
  asked_.reset();
  is_listed_ = false;
}

// ---- Devices

void AttemptMachine::handle(const CohortMessageCame& event) {
  if (!cohorts_) return effects_.push_back(AnswerTaken{event.call, attempt_has_no_session()});
  effects_.push_back(AnswerTaken{event.call, cohorts_->receive(event.device, event.public_key, event.message, now_)});
}

void AttemptMachine::handle(const CohortAsked& event) {
  if (!cohorts_) return effects_.push_back(AnswerAsked{event.call, attempt_has_no_session()});
  Result<CohortReply> reply = cohorts_->ask(event.device, event.question, now_);
  if (!is_not_yet(reply) || !holds_) return effects_.push_back(AnswerAsked{event.call, std::move(reply)});
  const Instant until = now_ + event.hold;
  held_.push_back({event.call, event.device, event.question, until});
  first_held_until_ = std::min(until, first_held_until_.value_or(until));
}

void AttemptMachine::handle(const MaskedInputCame& event) {
  effects_.push_back(AnswerTaken{event.call, take_input(event.device, event.input)});
}

// The lanes that are added are those of the header that came first: a device that was cut off sends the same again.
Status AttemptMachine::take_input(const DeviceId& device, const MaskedInput& input) {
  if (!cohorts_) return attempt_has_no_session();
  const auto known = inputs_.find(device);
  if (known != inputs_.end() && !(known->second == input)) return another_input();
  COT_TRY(cohorts_->input_arrived(device, input, now_));
  inputs_.emplace(device, input);
  return {};
}

// The lanes of this device are durable, and count.
void AttemptMachine::handle(const MaskedInputAccepted& event) {
  const auto input = inputs_.find(event.device);
  if (input == inputs_.end() || !accepted_.insert(event.device).second) return;
  // What it refuses now it would have refused before the lanes were added; if not, freeze() finds the sum unknown.
  const Status known = cohorts_->input_accepted(event.device, input->second, now_);
  if (!known) effects_.push_back(NoteUnknownInput{known.error()});
}

// ---- The round

// Those who are accepted are the survivors: devices can go on while the round is claimed.
void AttemptMachine::handle(const AttemptFrozen&) {
  if (!cohorts_) return;
  is_frozen_ = true;
  effects_.push_back(ListSurvivors{});
}

void AttemptMachine::handle(const FinalizeAsked& event) {
  is_frozen_ = false;
  is_listed_ = false;
  if (cohorts_) asked_ = event.serial;
  // The list of the freeze may have failed. If the attempt was lost before, the round hears of it with the answer.
  effects_.push_back(ListSurvivors{event.serial});
}

void AttemptMachine::handle(const SurvivorsListed& event) {
  if (!event.accepted) {
    if (!event.serial) return;  // the claim lists them again
    if (asked_ == event.serial) asked_.reset();
    return effects_.push_back(TellNotFinalized{*event.serial, event.accepted.error()});
  }
  if (!cohorts_) {
    if (event.serial) lose(lost_.value_or(kAttemptStartedAnew));
    return;
  }
  if (event.serial && asked_ == event.serial) is_listed_ = true;
  cohorts_->freeze(*event.accepted, now_);
}

void AttemptMachine::handle(const SumNotFinalized& event) {
  // No second look at the same shares will open what the first did not.
  if (event.why.code() == ErrorCode::data_loss) return lose(event.why.message());
  effects_.push_back(TellNotFinalized{event.serial, event.why});
}

void AttemptMachine::handle(const AttemptTime&) {
  if (cohorts_) cohorts_->time_passed(now_);
}

// ---- What the cohorts have come to, looked at after each event

void AttemptMachine::look() {
  if (!cohorts_) return;
  answer_held();
  if (const std::optional<Error> failure = cohorts_->failure()) {
    // A move of the round is on its way, and it hears of no loss meanwhile. It is told when it claims.
    if (is_frozen_) return;
    effects_.push_back(NoteFailed{*failure});
    return lose("secure aggregation: " + failure->message());
  }
  tell();
  if (!asked_ || !is_listed_ || !cohorts_->is_ready()) return;
  is_listed_ = false;
  effects_.push_back(OpenSum{*std::exchange(asked_, std::nullopt), cohorts_, parameters_});
}

// Answers come when a phase begins: until then only those are looked at whose time is up.
void AttemptMachine::answer_held() {
  // Asking may end a phase whose time is up, which may answer those that were asked before.
  for (bool all = !holds_ || cohorts_->failure().has_value();;) {
    const uint32_t progress = cohorts_->progress();
    all = all || progress != held_at_;
    held_at_ = progress;
    if (!all && !(first_held_until_ && *first_held_until_ <= now_)) return;
    first_held_until_.reset();
    for (Question& question : std::exchange(held_, {})) {
      const bool is_due = now_ >= question.until;
      if (all || is_due) {
        Result<CohortReply> reply = cohorts_->ask(question.device, question.what, now_);
        if (!is_not_yet(reply) || is_due || !holds_) {
          effects_.push_back(AnswerAsked{question.call, std::move(reply)});
          continue;
        }
      }
      first_held_until_ = std::min(question.until, first_held_until_.value_or(question.until));
      held_.push_back(question);
    }
    all = false;
  }
}

void AttemptMachine::tell() {
  if (const auto due = cohorts_->inputs_due(); due && due != told_due_) {
    told_due_ = due;
    effects_.push_back(AnnounceDue{*due});
  }
  if (const auto expected = cohorts_->updates_expected(); expected && !told_expected_) {
    told_expected_ = true;
    effects_.push_back(AnnounceExpected{*expected});
  }
}

}  // namespace coterie
