#include "device_sdk/agent/given_pass.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/cluster_models.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/step_runner.h"
#include "proto/messages/group_weights.h"
#include "proto/messages/model_clusters.h"

namespace coterie {
namespace {

Error not_finite(const char* what) {
  return Error(ErrorCode::invalid_argument, std::string("training: the given model's ") + what + " is not finite");
}

// Adds up the gradients of steps that change no parameter.
class GradientSum final : public StepRunner {
 public:
  explicit GradientSum(std::vector<double>& sum) : sum_(sum) {}
  void begin(const BatchMoment& moment) override { examples_ = static_cast<double>(moment.examples.size()); }
  void run(const Program& program, const Arena&, Phase phase, const StepContext& context) override {
    if (phase != Phase::update) program.run(phase, context);
  }
  void scaled(std::span<const float> gradients) override {
    COT_ASSERT(gradients.size() >= sum_.size());
    // A step's gradient is the mean over its examples; the last step may have fewer.
    for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += examples_ * static_cast<double>(gradients[i]);
  }

 private:
  std::vector<double>& sum_;
  double examples_ = 0;
};

bool asks_loss(const Plan& plan) {
  return plan.update.fair.is_on() || cluster_count(plan.training) > 1 || group_count(plan.update) > 0;
}

// One epoch of steps, each of which has its gradient in a region of its own: a norm that no gradient reaches clips
// nothing.
TrainOptions gradient_options(const TrainingSettings& settings, uint64_t seed) {
  TrainOptions options = options_of(settings, seed);
  options.optimizer = OptimizerSettings{};
  options.proximal_mu = 0;
  options.epochs = 1;
  options.steps_max = 0;
  options.clip_norm = 1e30f;
  options.augment = {};  // what is read is resized already
  options.early_stopping = {};
  return options;
}

}  // namespace

bool GivenPass::is_asked_by(const Plan& plan) {
  return needs_gradient(plan.training.correction.kind) || asks_loss(plan);
}

Result<GivenPass::Cost> GivenPass::plan(const Model& model, const Plan& plan, uint64_t examples) {
  // A backward pass costs about two forward ones: the gradient of the input, and that of the weights.
  constexpr double kForwardAndBackward = 3;
  Cost cost;
  if (needs_gradient(plan.training.correction.kind)) {
    COT_ASSIGN(const TrainingMemory memory, Trainer::plan(model, gradient_options(plan.training, 0), examples));
    cost.bytes = memory.bytes() + model.value_count() * sizeof(double);
    cost.passes = kForwardAndBackward;
  }
  if (!asks_loss(plan)) return cost;
  const auto batch = static_cast<uint32_t>(std::min<uint64_t>(plan.training.batch_size, examples));
  COT_ASSIGN(const uint64_t arena, Evaluator::plan(model, loss_of(plan.training), batch, examples));
  cost.bytes += arena;
  cost.passes += cluster_count(plan.training);
  return cost;
}

Result<std::unique_ptr<GivenPass>> GivenPass::create(const Model& model, const Model* clusters,
                                                     const UpdateLayout& layout, const Plan& plan, uint64_t seed,
                                                     ExampleSource& examples) {
  std::unique_ptr<GivenPass> pass(new GivenPass(layout, examples));
  COT_ASSIGN(pass->judged_, judged(examples, model, loss_of(plan.training), plan.training.augment));
  if (needs_gradient(plan.training.correction.kind)) {
    COT_ASSIGN(pass->gradient_of_, Trainer::create(model, gradient_options(plan.training, seed), pass->source()));
    pass->gradient_.resize(model.value_count());
  }
  if (!asks_loss(plan)) return pass;
  const auto batch = static_cast<uint32_t>(std::min<uint64_t>(plan.training.batch_size, examples.size()));
  COT_ASSIGN(pass->loss_of_, Evaluator::create(model, loss_of(plan.training), batch));
  COT_ASSERT((clusters != nullptr) == (cluster_count(plan.training) > 1));
  pass->judged_model_ = clusters != nullptr ? *clusters : model;
  if (clusters == nullptr) pass->judged_values_.push_back(model.parameters());
  for (uint32_t cluster = 0; clusters != nullptr && cluster < cluster_count(plan.training); ++cluster) {
    COT_ASSIGN(const std::span<const float> values, cluster_values(*clusters, cluster));
    pass->judged_values_.push_back(values);
  }
  COT_TRY(pass->loss_of_->begin(pass->judged_values_.front(), examples.size()));
  return pass;
}

bool GivenPass::finished() const {
  return (!gradient_of_ || gradient_of_->finished()) && (!loss_of_ || loss_of_->finished());
}

Status GivenPass::step() {
  COT_ASSERT(!finished());
  return gradient_of_ && !gradient_of_->finished() ? step_gradient() : step_loss();
}

Status GivenPass::step_gradient() {
  GradientSum sum(gradient_);
  COT_TRY(gradient_of_->step(&sum));
  if (!gradient_of_->finished()) return {};
  const bool is_finite = std::ranges::all_of(gradient_, [](double value) { return std::isfinite(value); });
  return is_finite ? Status() : Status(not_finite("gradient"));
}

Status GivenPass::step_loss() {
  COT_TRY(loss_of_->next(source()));
  if (!loss_of_->finished()) return {};
  losses_.push_back(loss_of_->evaluation().loss_mean);
  if (!std::isfinite(losses_.back())) return not_finite("loss");
  if (losses_.size() == judged_values_.size()) return {};
  return loss_of_->begin(judged_values_[losses_.size()], examples_.size());
}

GivenFacts GivenPass::facts() const {
  COT_ASSERT(finished());
  GivenFacts facts;
  if (loss_of_) {
    const auto least = std::ranges::min_element(losses_);
    facts.loss = *least;
    facts.cluster = static_cast<uint32_t>(least - losses_.begin());
  }
  if (!gradient_of_) return facts;
  const auto examples = static_cast<double>(gradient_of_->summary().examples);
  std::vector<float> mean(gradient_.size());
  for (size_t i = 0; i < mean.size(); ++i) mean[i] = static_cast<float>(gradient_[i] / examples);
  facts.gradient.resize(layout_.count());
  layout_.gather(mean, facts.gradient);
  return facts;
}

Result<GivenFacts> given_facts(const Model& model, const Model* clusters, const UpdateLayout& layout, const Plan& plan,
                               uint64_t seed, ExampleSource& examples) {
  COT_ASSIGN(const std::unique_ptr<GivenPass> pass, GivenPass::create(model, clusters, layout, plan, seed, examples));
  while (!pass->finished()) COT_TRY(pass->step());
  return pass->facts();
}

}  // namespace coterie
