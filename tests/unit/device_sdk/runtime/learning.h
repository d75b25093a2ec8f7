// Whether training lowers the loss.
#pragma once

#include <gtest/gtest.h>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {

// The last step's loss is at most half of the first one's, of batches that are alike.
inline void expect_halves_its_loss(Result<Trainer> trainer) {
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  const double first = trainer->summary().loss_sum;
  double before = first, last = first;
  while (!trainer->finished()) {
    ASSERT_OK(trainer->step());
    last = trainer->summary().loss_sum - before;
    before = trainer->summary().loss_sum;
  }
  EXPECT_LT(last, first / 2);
}

// 40 steps of Adam on one batch at least halve its cross-entropy: its labels are learnt by heart.
inline void expect_learns(const Model& model, Batch& batch) {
  const TrainingSettings settings{.loss = Loss::softmax_cross_entropy,
                                  .batch_size = static_cast<uint32_t>(batch.size()),
                                  .local_epochs = 40,
                                  .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.02f}};
  expect_halves_its_loss(Trainer::create(model, settings, batch, 1));
}

}  // namespace coterie::test
