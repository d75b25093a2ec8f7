// What is true of an attempt between two steps.
#include <algorithm>
#include <set>

#include "fl_server/core/attempt_machine.h"

namespace coterie {

void AttemptMachine::check() const {
  COT_INVARIANT(!cohorts_ || !lost_, "an attempt that is lost has no cohorts");
  COT_INVARIANT(cohorts_ || (inputs_.empty() && accepted_.empty() && !asked_), "without cohorts nothing is waited for");
  check_questions();
  if (cohorts_) check_cohorts();
}

void AttemptMachine::check_questions() const {
  COT_INVARIANT(held_.empty() || cohorts_, "a question is held by cohorts that go on");
  COT_INVARIANT(held_.empty() || holds_, "nobody is held once questions are answered at once");
  std::set<CohortCall> calls;
  std::optional<Instant> first;
  for (const Question& question : held_) {
    COT_INVARIANT(calls.insert(question.call).second, "a question is held once");
    COT_INVARIANT(question.until > now_, "a question whose time is up is answered");
    first = std::min(question.until, first.value_or(question.until));
  }
  COT_INVARIANT(first == first_held_until_, "the machine wakes for the first question whose time is up");
}

void AttemptMachine::check_cohorts() const {
  cohorts_->check();
  for (const DeviceId& device : accepted_) {
    COT_INVARIANT(inputs_.contains(device), "an input that was accepted came before");
  }
  COT_INVARIANT(held_.empty() || held_at_ == cohorts_->progress(), "who is held was asked in this phase");
  COT_INVARIANT(asked_ || !is_listed_, "survivors are listed for a claim");
  if (cohorts_->failure()) {
    COT_INVARIANT(is_frozen_, "a failure waits only while the round moves from frozen to claimed");
    return;
  }
  const auto due = cohorts_->inputs_due();
  COT_INVARIANT(!due || due == told_due_, "nodes have heard how many inputs are due");
  COT_INVARIANT(!cohorts_->updates_expected() || told_expected_, "the round has heard how many updates there are");
  COT_INVARIANT(!(asked_ && is_listed_ && cohorts_->is_ready()), "a sum that is asked for and ready is being opened");
}

}  // namespace coterie
