// Stages of a party that keeps a journal: what the peer says is in it before the party answers, and so are checkpoints
// of a training before the party says anything more.
#pragma once

#include <concepts>
#include <optional>

#include "tools/vertical/party_journal.h"
#include "vertical/exact/train_exact.h"
#include "vertical/psi/matching.h"
#include "vertical/regression/train_regression.h"
#include "vertical/split/train_split.h"
#include "vertical/stage/stage.h"
#include "vertical/trees/train_trees.h"
#include "vertical/trees/tree_checkpoint.h"

namespace coterie {

// A matching. It says the same in each repetition, as long as the peer does: "replay_differs" if it does not. What was
// matched in a bucket is durable before the party says anything more.
class JournaledMatching final : public vertical::Stage {
 public:
  // Both outlive it. `heard`: how many messages of the peer came before the point where the matching goes on.
  JournaledMatching(vertical::Matching& matching, uint32_t heard, PartyJournal& journal)
      : matching_(matching), heard_before_(heard), journal_(journal) {}

  std::optional<vertical::Message> next() override { return matching_.next(); }
  Status receive(const vertical::Message& message) override;
  bool done() const override { return matching_.done(); }

 private:
  vertical::Matching& matching_;
  uint32_t heard_before_, heard_ = 0;
  PartyJournal& journal_;
};

// A stage that says the same in each repetition, likewise, and is begun anew.
class HeardStage final : public vertical::Stage {
 public:
  // Both outlive it.
  HeardStage(vertical::Stage& stage, vertical::StageId id, PartyJournal& journal)
      : stage_(stage), id_(id), journal_(journal) {}

  std::optional<vertical::Message> next() override { return stage_.next(); }
  Status receive(const vertical::Message& message) override;
  bool done() const override { return stage_.done(); }

 private:
  vertical::Stage& stage_;
  vertical::StageId id_;
  PartyJournal& journal_;
  uint32_t heard_ = 0;
};

// The same for a stage with several peers. `peer` is the one that is heard: a dealer's words are the same in each
// meeting, too. None: all are.
class HeardOrderedStage final : public vertical::OrderedStage {
 public:
  HeardOrderedStage(vertical::OrderedStage& stage, vertical::StageId id, std::optional<vertical::PartyIndex> peer,
                    PartyJournal& journal)
      : stage_(stage), heard_(stage, id, journal), peer_(peer) {}

  std::optional<vertical::Message> next() override { return stage_.next(); }
  Status receive(const vertical::Message& message) override {
    return message.peer == peer_.value_or(message.peer) ? heard_.receive(message) : stage_.receive(message);
  }
  bool done() const override { return stage_.done(); }
  vertical::PartyIndex awaits() const override { return stage_.awaits(); }

 private:
  vertical::OrderedStage& stage_;
  HeardStage heard_;
  std::optional<vertical::PartyIndex> peer_;
};

// Before the dealer is asked: the peer must agree to the same shape in each meeting, "replay_differs" otherwise. Which
// row a mask hides depends on both widths: another shape under the same masks would say differences of rows.
Status hear_shape(const vertical::RegressionShape& shape, PartyJournal& journal);

// A regression's training. Masks and dealt words of a step are the same in each meeting, so that a peer which repeats a
// step must repeat what it said: "replay_differs" otherwise, before it hears anything.
class JournaledTraining final : public vertical::OrderedStage {
 public:
  // Both outlive it. `own_columns` as in the shape.
  JournaledTraining(vertical::RegressionTraining& training, uint32_t own_columns, PartyJournal& journal)
      : training_(training), own_columns_(own_columns), journal_(journal) {}

  std::optional<vertical::Message> next() override { return training_.next(); }
  Status receive(const vertical::Message& message) override;
  bool done() const override { return training_.done(); }
  vertical::PartyIndex awaits() const override { return training_.awaits(); }

 private:
  Status hear_columns(const vertical::Message& message);

  vertical::RegressionTraining& training_;
  uint32_t own_columns_;
  PartyJournal& journal_;
  Digest columns_;  // over all messages of columns
  bool has_columns_ = false;
};

// A split network's training, likewise: noise of a step is the same in each meeting, so that a peer which could say
// other numbers would take it off by comparing, or ask for the gradients of as many numbers as it likes.
class JournaledSplit final : public vertical::Stage {
 public:
  JournaledSplit(vertical::SplitTraining& training, PartyJournal& journal) : training_(training), journal_(journal) {}

  std::optional<vertical::Message> next() override { return training_.next(); }
  Status receive(const vertical::Message& message) override;
  bool done() const override { return training_.done(); }

 private:
  vertical::SplitTraining& training_;
  PartyJournal& journal_;
};

// A training on exact residuals. Each meeting has a new key and new masks, so that no ciphertext is the same; but a
// feature party that could repeat a step with other margins would have gradients of residuals that it chose.
class JournaledExact final : public vertical::Stage {
 public:
  // Both outlive it.
  JournaledExact(vertical::ExactTraining& training, PartyJournal& journal) : training_(training), journal_(journal) {}

  std::optional<vertical::Message> next() override { return training_.next(); }
  Status receive(const vertical::Message& message) override;
  bool done() const override { return training_.done(); }

 private:
  vertical::ExactTraining& training_;
  PartyJournal& journal_;
};

JournalCheckpoint kept(const vertical::ExactCheckpoint& checkpoint);
JournalCheckpoint kept(const vertical::SplitCheckpoint& checkpoint);
JournalCheckpoint kept(const vertical::RegressionCheckpoint& checkpoint);
JournalCheckpoint kept(const vertical::LabelTreeCheckpoint& checkpoint);
JournalCheckpoint kept(const vertical::FeatureTreeCheckpoint& checkpoint);

// A party's training of trees. Each meeting draws anew, so that nothing has to be the same but the trees.
template <typename Training>
class JournaledTrees final : public vertical::OrderedStage {
 public:
  JournaledTrees(Training& training, PartyJournal& journal) : training_(training), journal_(journal) {}

  std::optional<vertical::Message> next() override { return training_.next(); }
  Status receive(const vertical::Message& message) override {
    COT_TRY(training_.receive(message));
    for (const vertical::GrownTree& tree : training_.take_grown()) {
      COT_TRY(journal_.put_grown(tree.number, vertical::write_grown_tree(tree)));
    }
    if (const auto checkpoint = training_.take_checkpoint()) return journal_.put_checkpoint(kept(*checkpoint));
    return {};
  }
  bool done() const override { return training_.done(); }
  vertical::PartyIndex awaits() const override {
    if constexpr (std::derived_from<Training, vertical::OrderedStage>) {
      return training_.awaits();
    } else {
      return 0;  // a feature party hears the label party alone
    }
  }

 private:
  Training& training_;
  PartyJournal& journal_;
};

}  // namespace coterie
