#include "tools/debug/training_record.h"

namespace coterie {

Status TrainingRecord::step(Trainer& trainer) {
  if (trainer.summary().steps % every_ == 0) return recorded(trainer);
  const Status stepped = trainer.step();
  if (stepped) return stepped;
  // It fails again, and is recorded this time.
  static_cast<void>(recorded(trainer));
  return stepped;
}

Status TrainingRecord::recorded(Trainer& trainer) {
  COT_ASSIGN(const std::optional<StepRecord> record, recorder_.step(trainer));
  if (!record) return {};  // it looked at held-out examples
  COT_TRY(folder_.add(*record));
  return record->has_failed() ? Status(Error(ErrorCode::invalid_argument, record->error)) : Status();
}

}  // namespace coterie
