#include "tools/debug/judge_record.h"

namespace coterie {

void judge_record(const StepRecord& record, WatchJudge& judge) {
  judge.begin_step(record.step, record.from);
  for (const RecordedInput& input : record.inputs) {
    if (input.tensor != kNoTensor || input.values.type != ElementType::int32) continue;
    judge.see_labels({static_cast<const int32_t*>(input.values.data), input.values.count});
  }
  if (!record.before.empty()) {
    judge.begin_look(record.before, record.has_failed());
    for (const WatchedStep& step : record.program) {
      judge.before(step);
      judge.behind(step);
    }
  }
  if (record.has_failed()) return;
  judge.end_step(record.summary, record.next_learning_rate,
                 record.before.empty() ? std::span<const float>() : record.behind);
}

}  // namespace coterie
