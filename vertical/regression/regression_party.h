// What both parties' machines of a training have in common: the seed, the columns there and back, what is dealt, and
// the model at the end. Private to the folder.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "vertical/regression/dealing.h"
#include "vertical/regression/regression_messages.h"
#include "vertical/regression/train_regression.h"
#include "vertical/regression/training_share.h"

namespace coterie::vertical {

// invalid_argument unless the shape is in range and there are so many columns with its rows.
Status check_regression_columns(const RegressionShape& shape, const RegressionColumns& columns, size_t expected);

class RegressionParty : public RegressionTraining {
 public:
  // What is checked by the start functions.
  RegressionParty(const RegressionShape& shape, const RegressionSettings& settings, PartyIndex party,
                  const RegressionColumns& columns, std::vector<float> labels, const RegressionCheckpoint& from);

  std::optional<Message> next() final;
  Status receive(const Message& message) final;
  PartyIndex awaits() const final { return !share_ || dealt_ ? kDealer : peer(); }
  bool done() const final { return is_over_ && outbox_.empty(); }
  Result<RegressionModel> model() const final;
  uint32_t steps_done() const final { return steps_done_; }
  std::optional<RegressionCheckpoint> take_checkpoint() final { return std::exchange(checkpoint_, std::nullopt); }

 protected:
  // All columns of both are here.
  virtual void begin() = 0;
  // Step step_ is dealt, and share() has begun it.
  virtual void begin_step() = 0;
  // Any message of the peer after the columns.
  virtual Status hear(const Message& message) = 0;

  const RingPlan& plan() const { return plan_; }
  TrainingShare& share() { return *share_; }
  uint32_t step() const { return step_; }
  bool is_last_step() const { return step_ + 1 == plan_.steps(); }

  void say(RegressionMessage kind, std::initializer_list<std::span<const Word>> parts) {
    outbox_.push_back(word_message(peer(), kind, step_, parts));
  }
  // begin_step() follows once it is dealt.
  void ask_for_step(uint32_t step) { dealt_.emplace(plan_, party_, step_ = step); }
  void step_is_done();
  // The end: with the peer's shares of this party's weights, or because the guard said so.
  void finish(std::span<const Word> peer_shares);
  void give_up(double edge_rows);

 private:
  PartyIndex peer() const { return 1 - party_; }
  // Own columns go out while the other side only reads: the network holds neither's. The label party's are first.
  std::optional<Message> next_columns();
  Status hear_dealer(const Message& message);
  Status hear_columns(const Message& message);
  bool columns_are_exchanged() const { return sent_ == cells_ && heard_ == peer_cells_; }

  RingPlan plan_;
  RegressionSettings settings_;
  PartyIndex party_;
  RegressionModel model_;
  std::vector<int32_t> columns_;  // these two until the seed comes
  std::vector<float> labels_;
  std::optional<TrainingShare> share_;
  std::optional<DealtStep> dealt_;  // while it comes
  RegressionCheckpoint from_;       // likewise
  uint32_t step_, steps_done_;
  std::optional<RegressionCheckpoint> checkpoint_;  // that nobody has taken
  size_t cells_, sent_ = 0, peer_cells_, heard_ = 0;
  bool is_over_ = false;
  std::optional<double> edge_rows_;  // of a training that was given up
  std::deque<Message> outbox_;
};

}  // namespace coterie::vertical
