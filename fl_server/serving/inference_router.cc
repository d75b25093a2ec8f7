#include "fl_server/serving/inference_router.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/os/clock.h"
#include "fl_server/serving/at_once.h"
#include "fl_server/serving/output_places.h"
#include "fl_server/serving/serving_steps.h"
#include "fl_server/serving/shadow.h"

namespace coterie {

// The same id has the same share: whoever asks again is answered by the same version. Fowler, Noll and Vo's hash, mixed
// as SplitMix64 does.
Result<ServedModels::Choice> InferenceRouter::choose(const Question& question, const std::optional<std::string>& id) {
  uint64_t hash = id ? 0xcbf29ce484222325u : unnamed_++;
  if (id) {
    for (const char c : *id) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return models_.choose(question.model, hash ^ (hash >> 31), settings_.canary_percent, question.caller);
}

// What the model says, as clients get it: the steps behind it run on the worker that computed its last rows.
Result<InferenceRouter::Computed> InferenceRouter::answer_of(std::shared_ptr<ServedVersion> version,
                                                             std::vector<float> values, uint64_t rows) {
  if (const auto& steps = version->steps()) {
    COT_ASSIGN(std::vector<TensorValues> outputs, steps->finish(values, rows));
    return Computed{std::move(version), std::move(outputs)};
  }
  const ModelInterface& model = version->interface();
  std::vector<TensorValues> outputs(model.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].shape = model.outputs[i].shape;
  if (outputs.size() == 1) outputs[0].words = std::move(values);
  else {
    const OutputPlaces<const float> places(model, values, rows);
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].words.assign(places[i].begin(), places[i].end());
  }
  return Computed{std::move(version), std::move(outputs)};
}

// Behind the answer: nobody waits for it, and it has no place where the queue is half full. Compared is the model's own
// output, which lies first.
void InferenceRouter::shadow(std::shared_ptr<ServedVersion> candidate, InferRequest request, std::vector<float> shown,
                             Instant deadline) {
  const uint64_t row_values = candidate->interface().own_output().elements, values = request.rows * row_values;
  workers_.submit_if_quiet(std::move(candidate), std::move(request), deadline,
                           [=, this, shown = std::move(shown)](const InferenceWorkers::Outcome& outcome) {
                             if (!outcome)
                               return metrics_.request_failed("shadow_" + std::string(outcome.error().name()));
                             const ShadowComparison compared = compare_answers(
                                 std::span(shown).first(values), std::span(*outcome).first(values), row_values);
                             metrics_.shadow_compared(compared.rows, compared.agreeing, compared.difference_max);
                           });
}

Result<InferenceRouter::Routed> InferenceRouter::route(const Question& question, std::shared_ptr<ServedVersion> found,
                                                       const InferRequest& request) {
  ServedModels::Choice chosen{std::move(found), nullptr};  // for the whole request
  if (question.version.empty() && (settings_.canary_percent > 0 || settings_.has_shadow)) {
    COT_ASSIGN(ServedModels::Choice share, choose(question, request.id));
    // All versions of a model take the same. A population's name may stand for another model by now, which need not
    // take what was read.
    if (share.version->answers_as(*chosen.version)) chosen = std::move(share);
  }
  if (!settings_.has_shadow) chosen.candidate = nullptr;
  Millis wait = settings_.wait_max;
  if (request.timeout_us) {
    const auto asked = std::chrono::ceil<Millis>(
        std::chrono::microseconds(std::min<uint64_t>(*request.timeout_us, static_cast<uint64_t>(wait.count()) * 1000)));
    wait = std::min(wait, asked);
  }
  return Routed{std::move(chosen), os::monotonic_now() + wait};
}

std::optional<Result<InferenceRouter::Computed>> InferenceRouter::answer_at_once(const Routed& routed,
                                                                                 InferRequest& request,
                                                                                 SocketPass& pass) {
  ServedVersion& version = *routed.chosen.version;
  const std::optional<Nanos> expected = version.cost().expected(request.rows);
  if (!expected || !pass.has_room(*expected, settings_.at_once_max)) return std::nullopt;
  const auto began = std::chrono::steady_clock::now();
  auto outcome = workers_.compute_at_once(version, request, routed.deadline);
  if (!outcome) return std::nullopt;
  const uint64_t rows = request.rows;
  const bool is_good = outcome->has_value();
  if (is_good && routed.chosen.candidate != nullptr)
    shadow(routed.chosen.candidate, std::move(request), **outcome, routed.deadline);
  auto computed =
      is_good ? answer_of(routed.chosen.version, **std::move(outcome), rows) : Result<Computed>(outcome->error());
  const Nanos took = std::chrono::steady_clock::now() - began;
  if (computed) version.cost().observe(rows, took);
  pass.spend(took);
  return computed;
}

void InferenceRouter::answer(Routed routed, InferRequest request, Done done) {
  std::optional<InferRequest> copy;
  if (routed.chosen.candidate != nullptr) copy = request;
  // What a std::function holds is copied with it: so what is not to be copied is behind a pointer.
  struct Rest {
    Routed routed;
    std::optional<InferRequest> copy;
    uint64_t rows;
    Done done;
  };
  const auto rest = std::make_shared<Rest>(Rest{std::move(routed), std::move(copy), request.rows, std::move(done)});
  const Instant deadline = rest->routed.deadline;
  workers_.submit(rest->routed.chosen.version, std::move(request), deadline,
                  [this, rest, deadline](InferenceWorkers::Outcome outcome) {
                    if (!outcome) return rest->done(outcome.error());
                    if (rest->copy) shadow(rest->routed.chosen.candidate, *std::move(rest->copy), *outcome, deadline);
                    rest->done(answer_of(rest->routed.chosen.version, *std::move(outcome), rest->rows));
                  });
}

}  // namespace coterie
