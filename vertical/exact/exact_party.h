// What both machines of an exact regression have in common: the plan, the party's columns and weights, what is to be
// said, checkpoints. Private to the folder.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "vertical/exact/exact_messages.h"
#include "vertical/exact/train_exact.h"
#include "vertical/regression/ring_plan.h"

namespace coterie::vertical {

Error exact_diverged(uint32_t step);
// Settings are checked before. invalid_argument unless there are `rows` values in each column, and the checkpoint is
// before the last step and has one weight each and `extra`.
Status check_exact_inputs(const ExactRun& run, const std::vector<std::vector<float>>& columns, size_t extra);

class ExactParty : public ExactTraining {
 public:
  ExactParty(ExactRun run, const std::vector<std::vector<float>>& columns, size_t extra);

  std::optional<Message> next() final;
  bool done() const final { return steps_done_ == plan_.steps() && outbox_.empty(); }
  uint32_t steps_done() const final { return steps_done_; }
  std::optional<ExactCheckpoint> take_checkpoint() final { return std::exchange(checkpoint_, std::nullopt); }

 protected:
  // The step's margins go into the chain, which both parties know.
  void margins_are_said(ByteView payload);
  void step_is_done();
  // One step of descent on weight `w` by its mean gradient; the intercept is not pulled to 0.
  void descend(size_t w, double gradient, bool is_intercept);
  bool weights_are_finite() const;
  void say(Message message) { outbox_.push_back(std::move(message)); }

  const ExactRun& run() const { return run_; }
  const RingPlan& plan() const { return plan_; }
  const RegressionModel& scales() const { return model_; }
  std::vector<double>& weights() { return weights_; }
  const std::vector<double>& weights() const { return weights_; }
  uint32_t rows() const { return plan_.rows_of(steps_done_); }
  uint32_t first_row() const { return plan_.first_row(steps_done_); }

 private:
  ExactRun run_;
  RingPlan plan_;
  RegressionModel model_;  // means and deviations
  std::vector<double> weights_;
  uint32_t steps_done_ = 0;
  Digest said_;
  std::optional<ExactCheckpoint> checkpoint_;
  std::deque<Message> outbox_;
};

}  // namespace coterie::vertical
