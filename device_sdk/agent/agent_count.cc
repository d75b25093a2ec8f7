// What an agent does with a plan that asks for counts, in the place of training.
#include <algorithm>

#include "base/os/clock.h"
#include "device_sdk/agent/agent.h"
#include "device_sdk/agent/count_activations.h"
#include "device_sdk/agent/count_examples.h"
#include "device_sdk/agent/evaluate_examples.h"
#include "device_sdk/agent/model_download.h"
#include "secure/crypto/digest.h"

namespace coterie {
// The other models of a plan that evaluates several, behind the first one, which is there.
Result<ParticipantEvent> Agent::fetch_further(const DoFetchModel& action) {
  ModelFetched fetched{Outcome<Digest>(action.model)};
  for (const EvaluatedModel& next : action.further) {
    COT_ASSIGN(Outcome<Digest> outcome, download_model(api_, machine_.state().device, next.digest, next.bytes,
                                                       model_path(action.job, action.download, next.digest)));
    if (auto* failure = std::get_if<Failure>(&outcome)) return ParticipantEvent(ModelFetched{std::move(*failure)});
    fetched.further.push_back(std::get<Digest>(outcome));
  }
  return ParticipantEvent(std::move(fetched));
}

Result<std::unique_ptr<ExampleReader>> Agent::begin_counting(const DoTrain& action) const {
  const AnalyticsRules& rules = *action.plan.analytics;
  COT_ASSIGN(const uint64_t seed, seed_of(action.assignment));
  if (!rules.evaluation) {
    return std::unique_ptr<ExampleReader>(std::make_unique<ExampleCounter>(rules, examples_.size(), seed));
  }
  std::vector<Model> models;
  for (const EvaluatedModel& named : rules.evaluation->models) {
    const std::string path = model_path(action.plan.job, action.plan.download, named.digest);
    COT_ASSIGN(Model model, load_downloaded(path, named.digest));
    models.push_back(std::move(model));
  }
  if (rules.evaluation->ranges) {
    COT_ASSIGN(ActivationCounter counter, ActivationCounter::create(rules, models.front(), examples_.size(), seed));
    return std::unique_ptr<ExampleReader>(std::make_unique<ActivationCounter>(std::move(counter)));
  }
  COT_ASSIGN(ExampleEvaluator evaluator, ExampleEvaluator::create(rules, models, examples_.size(), seed));
  return std::unique_ptr<ExampleReader>(std::make_unique<ExampleEvaluator>(std::move(evaluator)));
}

// A slice of counting; an event when it has ended, well or not. A new life begins anew and draws the same examples.
Result<std::optional<ParticipantEvent>> Agent::count(const DoTrain& action) {
  const auto ended = [](Status outcome) { return std::optional<ParticipantEvent>(TrainingEnded{std::move(outcome)}); };
  if (!counting_) {
    Result<std::unique_ptr<ExampleReader>> begun = begin_counting(action);
    if (!begun) return ended(begun.error());
    counting_ = std::move(*begun);
  }
  ExampleReader& counter = *counting_;
  if (!counter.finished() && api_.server_now() > action.assignment.not_after) {
    return ended(Error(ErrorCode::ticket_expired, "the round was over before the counting was"));
  }
  const Instant begin = os::monotonic_now();
  uint64_t step_us = 0;  // the longest so far
  while (!counter.finished() && os::monotonic_now() - begin < settings_.train_slice && may_train_on(2 * step_us)) {
    const uint64_t before_us = charge_ != nullptr ? charge_->used_us() : 0;
    if (const Status stepped = counter.step(examples_); !stepped) return ended(stepped);
    if (charge_ != nullptr) step_us = std::max(step_us, charge_->used_us() - before_us);
  }
  if (!counter.finished()) return std::optional<ParticipantEvent>();
  COT_TRY(vault_.write_file(kUpdateFile, counted_update(action.plan, action.assignment, counter.lanes())));
  return ended({});
}

}  // namespace coterie
