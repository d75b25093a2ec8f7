#include "tools/vertical/journaled_stages.h"

#include <algorithm>

#include "secure/crypto/sha256.h"
#include "vertical/exact/exact_messages.h"
#include "vertical/regression/regression_messages.h"
#include "vertical/stage/wire.h"

namespace coterie {

namespace {

using namespace vertical;

Status hear_message(const Message& message, StageId stage, uint32_t number, PartyJournal& journal) {
  WireWriter said;
  said.u16(message.kind);
  said.raw(message.payload);
  return journal.hear({.stage = stage, .part = 0, .unit = number}, said.take());
}

}  // namespace

Status JournaledMatching::receive(const Message& message) {
  COT_TRY(matching_.receive(message));
  COT_TRY(hear_message(message, StageId::matching, heard_, journal_));
  // Behind the peer's hello, which comes in each meeting, the messages have the numbers that they had before.
  heard_ = std::max(heard_ + 1, heard_before_);
  if (const auto checkpoint = matching_.take_checkpoint()) {
    return journal_.put_bucket({.matched = *checkpoint, .heard = heard_});
  }
  return {};
}

Status HeardStage::receive(const Message& message) {
  COT_TRY(stage_.receive(message));
  return hear_message(message, id_, heard_++, journal_);
}

Status hear_shape(const RegressionShape& shape, PartyJournal& journal) {
  WireWriter said;
  for (const uint32_t count : {shape.rows, shape.label_columns, shape.feature_columns}) said.u32(count);
  return journal.hear({.stage = StageId::training, .part = static_cast<uint16_t>(RegressionMessage::shape)},
                      said.take());
}

Status JournaledTraining::hear_columns(const Message& message) {
  if (message.kind == static_cast<uint16_t>(RegressionMessage::columns)) {
    WireWriter chain;
    chain.digest(columns_);
    chain.raw(message.payload);
    columns_ = sha256(chain.take());
    return {};
  }
  // Whoever says something else has said all of its columns, and nothing that this party said so far depends on them.
  if (has_columns_) return {};
  has_columns_ = true;
  return journal_.hear({.stage = StageId::training, .part = static_cast<uint16_t>(RegressionMessage::columns)},
                       columns_.view());
}

Status JournaledTraining::receive(const Message& message) {
  COT_TRY(training_.receive(message));
  if (message.peer == kDealer) return {};
  COT_TRY(hear_columns(message));
  if (message.kind == static_cast<uint16_t>(RegressionMessage::columns)) return {};
  // The training has taken the message, so that it is as it must be: a step, then words. Those of the label party's
  // weights may stand behind the change of the step before, which a training that goes on has had already.
  WireReader reader(message.payload);
  const uint32_t step = reader.u32();
  const size_t weights = own_columns_ * sizeof(Word);
  if (message.kind == static_cast<uint16_t>(RegressionMessage::weights) && reader.rest().size() > weights) {
    const ByteView change = reader.raw(reader.rest().size() - weights);
    COT_TRY(journal_.hear_step(
        {.stage = StageId::training, .part = static_cast<uint16_t>(RegressionMessage::gradients), .unit = step - 1},
        change));
  }
  const HeardName name{.stage = StageId::training, .part = message.kind, .unit = step};
  const bool is_before = step < training_.steps_done();
  if (is_before) COT_TRY(journal_.hear_step(name, reader.rest()));
  if (const auto checkpoint = training_.take_checkpoint()) COT_TRY(journal_.put_checkpoint(kept(*checkpoint)));
  // Now, because it belongs behind the checkpoint.
  return is_before ? Status() : journal_.hear_step(name, reader.rest());
}

Status JournaledSplit::receive(const Message& message) {
  const uint32_t step = training_.steps_done();
  COT_TRY(training_.receive(message));
  // It has taken the message, which is then that step's; what it answers is only said by next().
  COT_TRY(journal_.hear_step({.stage = StageId::training, .part = message.kind, .unit = step}, message.payload));
  if (const auto checkpoint = training_.take_checkpoint()) return journal_.put_checkpoint(kept(*checkpoint));
  return {};
}

Status JournaledExact::receive(const Message& message) {
  const uint32_t step = training_.steps_done();
  COT_TRY(training_.receive(message));
  if (message.kind == static_cast<uint16_t>(ExactMessage::ready)) {
    COT_TRY(journal_.hear({.stage = StageId::training, .part = message.kind}, message.payload));
  }
  if (message.kind == static_cast<uint16_t>(ExactMessage::margins)) {
    COT_TRY(journal_.hear_step({.stage = StageId::training, .part = message.kind, .unit = step}, message.payload));
  }
  if (const auto checkpoint = training_.take_checkpoint()) return journal_.put_checkpoint(kept(*checkpoint));
  return {};
}

JournalCheckpoint kept(const ExactCheckpoint& checkpoint) {
  return {.unit = checkpoint.steps, .state = checkpoint.said, .bytes = write_exact_checkpoint(checkpoint)};
}

JournalCheckpoint kept(const SplitCheckpoint& checkpoint) {
  return {.unit = checkpoint.steps, .state = checkpoint.said, .bytes = write_split_checkpoint(checkpoint)};
}

JournalCheckpoint kept(const RegressionCheckpoint& checkpoint) {
  return {.unit = checkpoint.steps, .state = checkpoint.opened, .bytes = write_regression_checkpoint(checkpoint)};
}

JournalCheckpoint kept(const LabelTreeCheckpoint& checkpoint) {
  return {.unit = levels_done(checkpoint), .state = state_of(checkpoint), .bytes = write_tree_checkpoint(checkpoint)};
}

JournalCheckpoint kept(const FeatureTreeCheckpoint& checkpoint) {
  return {.unit = levels_done(checkpoint), .state = state_of(checkpoint), .bytes = write_tree_checkpoint(checkpoint)};
}

}  // namespace coterie
