#include "fl_server/runtime/upload_slot.h"

#include <utility>

#include "base/assert.h"

namespace coterie {

bool UploadSlot::deliver(std::function<void(UploadDecision)> decision) {
  std::optional<UploadDecision> decided;
  {
    const std::lock_guard lock(mutex_);
    COT_ASSERT(state_ == State::admitted || state_ == State::decided);
    if (state_ == State::admitted) {
      state_ = State::delivered;
      decision_ = std::move(decision);
      return true;
    }
    // Refused while its body was on the way: nobody would call back any more.
    decided = std::exchange(decided_, std::nullopt);
  }
  if (decided) decision(std::move(*decided));
  return false;
}

bool UploadSlot::abandon() {
  const std::lock_guard lock(mutex_);
  // With its admission still due, or with the body handed over, the upload is in the core's hands alone.
  if (state_ != State::admitted) return false;
  state_ = State::decided;
  return true;
}

void UploadSlot::admit(UploadAdmitted admitted) {
  std::function<void(UploadAdmission)> admission;
  {
    const std::lock_guard lock(mutex_);
    COT_ASSERT(state_ == State::offered);
    state_ = State::admitted;
    admission = std::exchange(admission_, {});
  }
  admission(std::move(admitted));
}

void UploadSlot::decide(UploadDecision decision) {
  std::function<void(UploadAdmission)> admission;
  std::function<void(UploadDecision)> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::decided) return;  // abandoned or closed meanwhile
    if (state_ == State::admitted) decided_ = decision;
    state_ = State::decided;
    admission = std::exchange(admission_, {});
    waiting = std::exchange(decision_, {});
  }
  // Outside the lock: whoever is called may come back to this slot.
  if (admission) return admission(std::move(decision));
  if (waiting) waiting(std::move(decision));
}

void UploadSlot::close() {
  // Destroyed outside the lock: a callback may hold the coroutine that holds this slot.
  std::function<void(UploadAdmission)> admission;
  std::function<void(UploadDecision)> waiting;
  const std::lock_guard lock(mutex_);
  state_ = State::decided;
  admission = std::exchange(admission_, {});
  waiting = std::exchange(decision_, {});
}

UploadSlot::State UploadSlot::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

}  // namespace coterie
