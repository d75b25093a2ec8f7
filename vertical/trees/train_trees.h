// Gradient-boosted trees over columns that two or more organisations hold, as stages (vertical/stage/stage.h): the
// entry for whoever runs a job.
//
//   label party:    auto stage = LabelTraining::start(columns, labels, settings, peers, key);
//   feature party:  auto stage = FeatureTraining::start(columns, settings, seed, paillier_cipher);
//   both:           run the stage until done(); then stage->model() is the party's part of the model
//
// Row i is the same person for all parties: whoever calls has matched and ordered the rows. The label party is peer 0
// of each feature party; a feature party hears of no other one. Trees equal those of XGBoost 1.7 with tree_method=hist
// on the same bin codes, bit for bit (tests/unit/vertical_trees/xgboost_oracle_test.cc).
//
// What each learns beyond its part (row L3 of docs/vertical/trees.md): the label party the sums (G, H) left of each of
// a feature party's cuts under numbers that are drawn anew for each tree, and who of the rows went left; a feature
// party which rows share a node, and which of its cuts won.
//
// A training that was cut off goes on from both parties' checkpoints of the same level, and ends with the same bits.
// The parties must say to each other which level that is (levels_done() of tree_checkpoint.h).
//
// Settings with `goss` have each round look at a sample of the rows (gradient_sample.h). A feature party then also
// learns which rows those are (row L13), and nobody has ciphertexts of others.
//
// Not thread-safe: one thread at a time. Stages hold their arguments by value.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "secure/he/additive_cipher.h"
#include "vertical/stage/stage.h"
#include "vertical/trees/binned_columns.h"
#include "vertical/trees/tree_checkpoint.h"
#include "vertical/trees/tree_model.h"
#include "vertical/trees/tree_settings.h"

namespace coterie::vertical {

class LabelTraining : public OrderedStage {
 public:
  // `labels` has one value a row; `peers` are the feature parties: of equal splits the label party's wins, then that of
  // the lowest index. `key` encrypts gradients, and comes from make_paillier_key (secure/he/paillier.h).
  // A key is for one start: what goes on from a checkpoint has another one. `sample_seed` draws the samples of settings
  // with `goss`: secret, and the same in each start of one training. invalid_argument names what does not fit.
  static Result<std::unique_ptr<LabelTraining>> start(BinnedColumns columns, std::vector<float> labels,
                                                      TreeSettings settings, std::vector<PartyIndex> peers,
                                                      std::unique_ptr<AdditiveKey> key, LabelTreeCheckpoint from = {},
                                                      Secret<32> sample_seed = {});

  // Once behind each level but the last of the training: before next() is called again. The one before it may still be
  // needed: a feature party may be one level behind. None behind levels that feature parties have no part in.
  virtual std::optional<LabelTreeCheckpoint> take_checkpoint() = 0;
  // The trees that were finished since the last call: whoever keeps checkpoints keeps these first.
  virtual std::vector<GrownTree> take_grown() = 0;

  // When done().
  virtual const LabelTreeModel& model() const = 0;
  // Trees that are finished, of settings.trees().
  virtual uint32_t trees_done() const = 0;
};

// Makes what sums ciphertexts from the public key that the label party sent.
using CipherMaker = Result<std::unique_ptr<AdditiveCipher>> (*)(ByteView public_key, Secret<32> seed);

class FeatureTraining : public Stage {
 public:
  // `seed` draws the secret order of candidates and what hides sums; it is for one start. `make_cipher` is
  // paillier_cipher but in tests.
  static Result<std::unique_ptr<FeatureTraining>> start(BinnedColumns columns, TreeSettings settings, Secret<32> seed,
                                                        CipherMaker make_cipher, FeatureTreeCheckpoint from = {});

  // Likewise.
  virtual std::optional<FeatureTreeCheckpoint> take_checkpoint() = 0;
  virtual std::vector<GrownTree> take_grown() = 0;

  virtual const FeatureTreeModel& model() const = 0;
  virtual uint32_t trees_done() const = 0;
};

}  // namespace coterie::vertical
