#include "tools/tensorboard/round_scalars.h"

#include "device_sdk/runtime/evaluator.h"
#include "tools/admin/round_report.h"
#include "tools/tensorboard/scalar_log.h"

namespace coterie {

Status log_before(ScalarLog& log, const Evaluation& before) {
  log.note("evaluation/loss", before.loss_mean);
  log.note("evaluation/accuracy", before.accuracy);
  return log.add(0);
}

Status log_round(ScalarLog& log, const RoundReport& round, std::optional<double> epsilon, uint64_t update_bytes) {
  if (round.state != "done") return {};
  log.note("evaluation/loss", round.evaluation_loss);
  log.note("evaluation/accuracy", round.evaluation_accuracy);
  for (const auto& [column, value] : columns_of(round.evaluation_heads)) {
    log.note("evaluation/" + column.substr(std::string_view("evaluation_").size()), value);
  }
  log.note("train/loss", round.train_loss);
  log.note("train/accuracy", round.train_accuracy);
  log.note("privacy/epsilon", epsilon);
  log.note("round/seconds", round.seconds);
  log.note("round/updates", static_cast<double>(round.accepted));
  log.note("round/bytes", static_cast<double>(round.accepted * update_bytes));
  return log.add(round.number);
}

}  // namespace coterie
