#include "device_sdk/watch/open_watch.h"

#include <utility>

#include "base/os/file.h"
#include "base/text/suggest.h"
#include "device_sdk/runtime/lora.h"
#include "device_sdk/runtime/train_options.h"
#include "device_sdk/runtime/trainer.h"
#include "device_sdk/watch/json_members.h"
#include "device_sdk/watch/watch_file.h"

namespace coterie {
namespace {

Result<WatchPlan> plan_of(const std::string& asked) {
  if (asked == kRecommendedWatch) return recommended_watch();
  Result<WatchPlan> plan = read_watch_file(asked);
  if (plan || os::exists(asked)) return plan;
  return plan.error().with_context("a watch is `" + std::string(kRecommendedWatch) + "`, or a file of checks" +
                                   or_meant(asked, {std::string(kRecommendedWatch)}));
}

// A check that looks at nothing would say that all is well.
Status check_use(const Watch& watch, const std::string& file, const TrainOptions& options) {
  const auto refusal = [&](const WatchedCheck& check, const std::string& why) {
    const auto index = &check - watch.plan().checks.data();
    return Error(ErrorCode::invalid_argument,
                 file + ": /checks/" + std::to_string(index) + " (" + std::string(check.check->name) + ") " + why);
  };
  if (const WatchedCheck* const idle = watch.idle_check()) {
    return refusal(*idle, "matches nothing of the model that is trained: it reads " +
                              std::string(to_string(idle->check->subject)) + ", tensors `" + idle->tensors + "`" +
                              (idle->op.empty() ? "" : ", op `" + idle->op + "`"));
  }
  for (const WatchedCheck& check : watch.plan().checks) {
    if (check.check->subject == Subject::labels && options.loss.target != TargetKind::labels) {
      return refusal(check, "reads classes, and the data have none");
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Watch>> open_watch(const std::string& asked, const WatchedTraining& training,
                                          const TrainingSummary& from) {
  COT_ASSIGN(WatchPlan plan, plan_of(asked));
  if (training.has_lora) plan.zero_at_first.emplace_back("*" + std::string(kLoraBEnding));
  COT_ASSIGN(const std::vector<bool> is_trained, trainable_tensors(training.model.graph(), training.options));
  const uint64_t batch = training.options.batch_size;
  const uint64_t steps_an_epoch = (training.examples + batch - 1) / batch;
  auto watch = std::make_unique<Watch>(training.model, std::move(plan), is_trained, steps_an_epoch, from);
  if (watch->bytes_max() > training.bytes_max) {
    return Error(ErrorCode::too_large, "the watch may come to hold " + std::to_string(watch->bytes_max()) +
                                           " bytes, and the training's memory limit leaves " +
                                           std::to_string(training.bytes_max) +
                                           ": raise it, lower hits_max, or leave out the checks of weights");
  }
  if (asked != kRecommendedWatch) COT_TRY(check_use(*watch, asked, training.options));
  return watch;
}

}  // namespace coterie
