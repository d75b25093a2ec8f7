// GivenPass: what some plans ask of the given model before it is trained, over all of the device's examples: what it
// loses on them (told_scalars.h), and the gradient there (drift_correction.h); which of a job's clusters loses least
// (proto/messages/model_clusters.h). One place for the agent and for `coterie simulate`.
//
// The gradient is that of training mode, without what a plan adds to steps (momentum, weight decay, proximal terms):
// the mean over batches in the order of the training's seed, each weighted by its examples. The loss is that of an
// evaluation. Images are resized and normalised alone.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/augment.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/messages/plan.h"

namespace coterie {

class UpdateLayout;

struct GivenFacts {
  std::vector<float> gradient;  // of the layout's values; empty: not asked for
  double loss = 0;              // 0: likewise
  uint32_t cluster = 0;         // that loses least; of equal ones the first
};

// Holds an arena of its own: it goes before the training begins. Not thread-safe.
class GivenPass {
 public:
  static bool is_asked_by(const Plan& plan);

  // What one costs on so many examples: the bytes that it holds, and passes over the examples, in those of inference.
  // Allocates none of it. Precondition: the plan asks for it. Errors: as create.
  struct Cost {
    uint64_t bytes = 0;
    double passes = 0;
  };
  static Result<Cost> plan(const Model& model, const Plan& plan, uint64_t examples);

  // `model` is what the layout was made of; `clusters`: of a plan that has some, the file that holds them all
  // (cluster_models.h), else null; `examples` and `layout` outlive this. Errors: those of Trainer::create, and of
  // cluster_values.
  static Result<std::unique_ptr<GivenPass>> create(const Model& model, const Model* clusters,
                                                   const UpdateLayout& layout, const Plan& plan, uint64_t seed,
                                                   ExampleSource& examples);

  bool finished() const;
  // The next batch. Errors: the source's own; invalid_argument if a loss or the gradient is not finite. Precondition:
  // not finished.
  Status step();
  // Precondition: finished.
  GivenFacts facts() const;

 private:
  GivenPass(const UpdateLayout& layout, ExampleSource& examples) : layout_(layout), examples_(examples) {}
  ExampleSource& source() { return judged_ ? static_cast<ExampleSource&>(*judged_) : examples_; }
  Status step_gradient();
  Status step_loss();

  const UpdateLayout& layout_;
  ExampleSource& examples_;
  std::optional<AugmentedSource> judged_;  // none: they are read as they are
  std::optional<Trainer> gradient_of_;     // whose parameters stay
  std::optional<Evaluator> loss_of_;
  std::optional<Model> judged_model_;                  // holds what is judged
  std::vector<std::span<const float>> judged_values_;  // whose losses it finds, in this order
  std::vector<double> losses_;                         // so far
  std::vector<double> gradient_;                       // so far, times examples; of the model's values
};

// All of it at once. Precondition: the plan asks for it.
Result<GivenFacts> given_facts(const Model& model, const Model* clusters, const UpdateLayout& layout, const Plan& plan,
                               uint64_t seed, ExampleSource& examples);

}  // namespace coterie
