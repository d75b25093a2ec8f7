// What both parties' machines of a split network's training have in common: the order, the part of the network, what
// was said so far, checkpoints. Private to the folder.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "device_sdk/runtime/part_trainer.h"
#include "vertical/split/batch_order.h"
#include "vertical/split/split_messages.h"
#include "vertical/split/train_split.h"

namespace coterie::vertical {

constexpr PartyIndex kSplitLabelParty = 0, kSplitFeatureParty = 1;

// invalid_argument unless the network is one of this cut: `own_input` is the number of its input for the party's
// columns.
Status check_split_parts(const SplitRun& run, const Model& network, const SplitInputs& inputs, size_t own_input);

class SplitParty : public SplitTraining {
 public:
  SplitParty(SplitRun run, const Model& network, SplitInputs inputs, PartTrainer trainer);

  std::optional<Message> next() final;
  bool done() const final { return steps_done_ == order_.steps() && outbox_.empty(); }
  Bytes network() const final { return network_.file_with(trainer_.parameters()); }
  uint32_t steps_done() const final { return steps_done_; }
  std::optional<SplitCheckpoint> take_checkpoint() final { return std::exchange(checkpoint_, std::nullopt); }

 protected:
  // Where the training goes on, of the checkpoint in `run`.
  Status restore();
  // Step steps_done() is done; what both said of it goes into the chain.
  void step_is_done(const Digest& activations, ByteView gradients);
  virtual std::vector<double> loss_sums() const { return {}; }

  const SplitSettings& settings() const { return run_.settings; }
  const Secret<32>& seed() const { return run_.seed; }
  const SplitCheckpoint& from() const { return run_.from; }
  size_t width() const { return cut_width(run_.settings); }
  BatchOrder& order() { return order_; }
  const BatchOrder& order() const { return order_; }
  const SplitInputs& inputs() const { return inputs_; }
  PartTrainer& trainer() { return trainer_; }
  void say(Message message) { outbox_.push_back(std::move(message)); }
  // What `message` carries behind the step's number, for the chain.
  static ByteView tensor_of(const Message& message) { return ByteView(message.payload).subspan(kStepNumberBytes); }

 private:
  SplitRun run_;
  Model network_;
  SplitInputs inputs_;
  PartTrainer trainer_;
  BatchOrder order_;
  uint32_t steps_done_ = 0;
  Digest said_;
  std::optional<SplitCheckpoint> checkpoint_;  // that nobody has taken
  std::deque<Message> outbox_;
};

// Finite, all of them.
bool all_are_finite(std::span<const float> values);
Error split_diverged(uint32_t step);

// What the trainer of a part is told.
PartOptions part_options(const SplitSettings& settings, std::vector<uint32_t> inputs_with_gradient);

}  // namespace coterie::vertical
