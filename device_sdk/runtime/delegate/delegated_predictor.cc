#include "device_sdk/runtime/delegate/delegated_predictor.h"

#include <algorithm>

#include "device_sdk/runtime/delegate/fence.h"
#include "device_sdk/runtime/delegate/part_runner.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/external_part.h"
#include "device_sdk/runtime/predictor.h"

namespace coterie {

struct DelegatedPredictor::State {
  struct Part {
    std::shared_ptr<PartRunner> runner;  // null: it was not compiled
    std::string refusal;
  };

  Model model;
  DelegateSettings settings;
  DelegateTraits traits;
  Partition plan;
  std::vector<Part> parts;             // of plan.parts
  std::optional<Predictor> predictor;  // around those that are not refused

  Status compile() {
    ExternalParts external;
    std::vector<const PlannedPart*> kept;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].refusal.empty()) continue;
      const PlannedPart& part = plan.parts[i];
      kept.push_back(&part);
      external.parts.push_back({part.ops, part.inputs, part.outputs, parts[i].runner});
    }
    external.order = order_around(model.graph(), kept);
    predictor.reset();  // its memory goes first
    COT_ASSIGN(predictor, Predictor::create(model, settings.batch_size, settings.arena_bytes_max, settings.threads,
                                            kept.empty() ? nullptr : &external));
    return {};
  }

  // Whether some part has been given up that the predictor still has.
  bool finds_refused() {
    bool found = false;
    for (Part& part : parts) {
      if (!part.refusal.empty() || part.runner->refusal().empty()) continue;
      part.refusal = part.runner->refusal();
      found = true;
    }
    return found;
  }
};

double DelegateReport::delegated_flops() const {
  double sum = 0;
  for (const Part& part : parts) sum += part.refusal.empty() ? part.plan.flops : 0;
  return sum;
}

Result<DelegatedPredictor> DelegatedPredictor::create(const Model& model, Delegate& delegate,
                                                      const DelegateSettings& settings) {
  if (settings.batch_size < 1) return Error(ErrorCode::invalid_argument, "delegate: batch_size must be at least 1");
  COT_ASSIGN(Partition plan,
             partition(model, delegate,
                       {.batch_size = settings.batch_size, .takes_whatever_cost = settings.takes_whatever_cost}));
  COT_ASSIGN(DelegateTraits traits, traits_of(delegate));
  auto state = std::make_unique<State>(State{model, settings, std::move(traits), std::move(plan), {}, {}});
  for (const PlannedPart& part : state->plan.parts) {
    Result<std::shared_ptr<PartRunner>> runner =
        PartRunner::create(model, delegate, part, settings.batch_size, settings.threads);
    if (runner) state->parts.push_back({std::move(*runner), {}});
    else state->parts.push_back({nullptr, "it was not compiled: " + runner.error().message()});
  }
  COT_TRY(state->compile());
  return DelegatedPredictor(std::move(state));
}

DelegatedPredictor::DelegatedPredictor(std::unique_ptr<State> state) : state_(std::move(state)) {}
DelegatedPredictor::DelegatedPredictor(DelegatedPredictor&&) noexcept = default;
DelegatedPredictor& DelegatedPredictor::operator=(DelegatedPredictor&&) noexcept = default;
DelegatedPredictor::~DelegatedPredictor() = default;

Status DelegatedPredictor::run(std::span<const std::span<const float>> inputs, uint64_t count,
                               std::span<float> output) {
  for (;;) {
    if (!state_->predictor) COT_TRY(state_->compile());  // it has failed before: without a part it may need more memory
    const Status done = state_->predictor->run(inputs, count, output);
    if (done || !state_->finds_refused()) return done;
    state_->predictor.reset();
  }
}

DelegateReport DelegatedPredictor::report() const {
  const State& s = *state_;
  DelegateReport report{s.traits, {}, s.plan.own, s.plan.flops};
  for (size_t i = 0; i < s.parts.size(); ++i) {
    DelegateReport::Part part{s.plan.parts[i], s.parts[i].refusal, {}, {}};
    if (const PartRunner* runner = s.parts[i].runner.get()) {
      part.verified = runner->verified();
      part.copies = runner->copies();
    }
    report.parts.push_back(std::move(part));
  }
  return report;
}

}  // namespace coterie
