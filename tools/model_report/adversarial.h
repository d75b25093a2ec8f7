// Robustness against an opponent that sees the model: inputs that move one step in the direction in which their own
// loss rises (the fast gradient sign method, Goodfellow, Shlens and Szegedy 2015).
//
//   x' = x + step * range * sign(dL/dx)
//
// `range` is the largest of the example's own values less the smallest; an image stays within the two. L is the
// cross-entropy of the label, whatever loss the report shows, of a model that says a number half the squared error. The
// sign alone counts: the gradient of L by logits is divided by 1 - p(label), so that no answer is too sure to have a
// direction. Behind a softmax of the model's own it may be.
//
// A step in a random direction is as long in each value: what it costs is what any disturbance of that size does. The
// step is no more than a lower bound: who takes several, or knows better ones, does more harm.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"
#include "tools/explain/asked_model.h"

namespace coterie {

inline constexpr uint64_t kAttackedExamplesMax = 1000;      // evenly spread over the data
inline constexpr uint64_t kAttackedValuesMax = 1ull << 26;  // of all of them together

struct AdversarialStep {
  double share = 0;  // of the range
  Evaluation by_gradient, at_random;
};

struct AdversarialSteps {
  Evaluation unmoved;  // the same examples as they are
  std::vector<AdversarialStep> steps;
};

// Steps of 1, 2, 5 and 10 %. `loss` is of one label or of one number an example. Errors: invalid_argument (another
// loss or model), Evaluator's, the source's, and AskedModel's.
Result<AdversarialSteps> adversarial_steps(AskedModel& model, const LossSettings& loss, ExampleSource& examples,
                                           uint32_t threads, uint64_t seed);

}  // namespace coterie
