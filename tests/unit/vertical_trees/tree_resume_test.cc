// A training of trees that is cut off anywhere goes on from both parties' checkpoints, and ends with the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "tests/support/matchers.h"
#include "tests/unit/vertical_trees/plain_cipher.h"
#include "tests/unit/vertical_trees/run_trees.h"

namespace coterie::vertical {
namespace {

struct ResumedJob {
  TreeSettings settings;
  std::vector<std::vector<float>> label_columns, feature_columns;
  std::vector<float> labels;
};

ResumedJob resumed_job(TreeObjective objective) {
  Prng random(3);
  ResumedJob job;
  job.settings.objective = objective;
  job.settings.classes = objective == TreeObjective::multi_softprob ? 3 : 1;
  job.settings.rounds = 3;
  job.settings.depth = 3;
  job.label_columns.assign(1, std::vector<float>(60));
  job.feature_columns.assign(2, std::vector<float>(60));
  for (uint32_t row = 0; row < 60; ++row) {
    for (auto* columns : {&job.label_columns, &job.feature_columns}) {
      for (auto& column : *columns) column[row] = static_cast<float>(random.normal());
    }
    const float score = job.feature_columns[0][row] + job.label_columns[0][row];
    job.labels.push_back(score < 0 ? 0.0f : score < 1 || job.settings.classes == 1 ? 1.0f : 2.0f);
  }
  return job;
}

// Both parties with what they kept, by the number of levels.
class ResumableTrees {
 public:
  explicit ResumableTrees(const ResumedJob& job, LabelTreeCheckpoint label = {}, FeatureTreeCheckpoint feature = {},
                          uint8_t seed = 1) {
    Secret<32> secret;
    secret.mutable_bytes()[0] = seed;
    label_ = *LabelTraining::start(*bin_columns(job.label_columns, 8), job.labels, job.settings, {1},
                                   std::make_unique<test::PlainKey>(), std::move(label));
    feature_ = *FeatureTraining::start(*bin_columns(job.feature_columns, 8), job.settings, std::move(secret),
                                       test::plain_cipher, std::move(feature));
  }

  // Until both are done, or so many messages have come.
  Status run(size_t messages_max = SIZE_MAX) {
    const std::array<Stage*, 2> stages = {label_.get(), feature_.get()};
    for (bool moved = true; moved;) {
      moved = false;
      for (PartyIndex from = 0; from < 2; ++from) {
        while (std::optional<Message> message = stages[from]->next()) {
          if (messages_ == messages_max) return {};
          ++messages_;
          moved = true;
          message->peer = from;
          COT_TRY(stages[1 - from]->receive(*message));
          if (auto kept = label_->take_checkpoint()) {
            label_kept_[levels_done(*kept)] = std::move(*kept);
          }
          if (auto kept = feature_->take_checkpoint()) {
            feature_kept_[levels_done(*kept)] = std::move(*kept);
          }
        }
      }
    }
    return {};
  }

  size_t messages() const { return messages_; }
  const LabelTraining& label() const { return *label_; }
  const FeatureTraining& feature() const { return *feature_; }
  const std::map<uint32_t, LabelTreeCheckpoint>& label_kept() const { return label_kept_; }
  const std::map<uint32_t, FeatureTreeCheckpoint>& feature_kept() const { return feature_kept_; }

 private:
  std::unique_ptr<LabelTraining> label_;
  std::unique_ptr<FeatureTraining> feature_;
  size_t messages_ = 0;
  std::map<uint32_t, LabelTreeCheckpoint> label_kept_;
  std::map<uint32_t, FeatureTreeCheckpoint> feature_kept_;
};

class TreeResume : public ::testing::TestWithParam<TreeObjective> {};

TEST_P(TreeResume, EndsWithTheSameBitsWhereverItWasCutOff) {
  for (const auto& [label_party_first, is_sampled] : {std::pair(false, false), {true, false}, {true, true}}) {
    ResumedJob job = resumed_job(GetParam());
    job.settings.label_party_first = label_party_first;
    if (is_sampled) job.settings.goss = Goss{};
    ResumableTrees whole(job);
    ASSERT_OK(whole.run());
    ASSERT_TRUE(whole.label().done() && whole.feature().done());
    size_t resumed_in_tree = 0;
    for (size_t cut = 1; cut < whole.messages(); ++cut) {
      ResumableTrees first(job);
      ASSERT_OK(first.run(cut));
      LabelTreeCheckpoint label;
      FeatureTreeCheckpoint feature;
      if (!first.feature_kept().empty()) {
        // Both know it, and the label party is at most one level ahead. As they come back from a disk.
        const auto& [levels, kept] = *first.feature_kept().rbegin();
        const auto labels = first.label_kept().find(levels);
        ASSERT_NE(labels, first.label_kept().end()) << cut;
        EXPECT_LE(std::distance(labels, first.label_kept().end()), 2);
        EXPECT_EQ(state_of(labels->second), state_of(kept));
        const auto label_read = read_label_tree_checkpoint(write_tree_checkpoint(labels->second));
        const auto feature_read = read_feature_tree_checkpoint(write_tree_checkpoint(kept));
        ASSERT_OK(label_read);
        ASSERT_OK(feature_read);
        label = *label_read;
        feature = *feature_read;
        resumed_in_tree += kept.levels.empty() ? 0 : 1;
      }
      // With another secret order: it changes no tree.
      ResumableTrees second(job, label, feature, 2);
      ASSERT_OK(second.run());
      ASSERT_TRUE(second.label().done() && second.feature().done());
      EXPECT_EQ(write_tree_model(second.label().model()), write_tree_model(whole.label().model())) << cut;
      EXPECT_EQ(write_tree_model(second.feature().model()), write_tree_model(whole.feature().model())) << cut;
      EXPECT_TRUE(label.model.trees.empty() || second.messages() < whole.messages()) << "a level is not done again";
    }
    EXPECT_GT(resumed_in_tree, 5u);
  }
}

INSTANTIATE_TEST_SUITE_P(Objectives, TreeResume,
                         ::testing::Values(TreeObjective::binary_logistic, TreeObjective::multi_softprob));

TEST(TreeResumeChecks, RefuseACheckpointThatDoesNotFit) {
  const ResumedJob job = resumed_job(TreeObjective::multi_softprob);
  ResumableTrees whole(job);
  ASSERT_OK(whole.run());
  // Behind the first round, and behind a tree's first level.
  const LabelTreeCheckpoint good = whole.label_kept().at(9), in_tree = whole.label_kept().at(10);
  ASSERT_EQ(in_tree.levels.size(), 1u);
  const auto start = [&job](const LabelTreeCheckpoint& from) {
    return LabelTraining::start(*bin_columns(job.label_columns, 8), job.labels, job.settings, {1},
                                std::make_unique<test::PlainKey>(), from);
  };
  ASSERT_OK(start(good));
  ASSERT_OK(start(in_tree));
  LabelTreeCheckpoint deep = in_tree, other_tree = in_tree, whole_model = good, narrow = good, unlike = good,
                      wide = good;
  deep.levels.resize(3);
  other_tree.model.trees.back() = Tree(1);
  unlike.round_margins.pop_back();
  whole_model.model = whole.label().model();
  narrow.margins.pop_back();
  wide.model.columns = 7;
  EXPECT_ERROR(start(deep), ErrorCode::invalid_argument, "3 levels of the last one");
  EXPECT_ERROR(start(other_tree), ErrorCode::malformed, "not those of its 1 nodes");
  EXPECT_ERROR(start(whole_model), ErrorCode::invalid_argument, "checkpoint of 9 trees");
  EXPECT_ERROR(start(narrow), ErrorCode::invalid_argument, "179 margins");
  EXPECT_ERROR(start(unlike), ErrorCode::invalid_argument, "180 margins");
  EXPECT_ERROR(start(wide), ErrorCode::invalid_argument, "7 columns");
  Bytes bytes = write_tree_checkpoint(good);
  EXPECT_ERROR(read_label_tree_model(write_tree_model(good.model)), ErrorCode::malformed, "3 trees");
  bytes.pop_back();
  EXPECT_ERROR(read_label_tree_checkpoint(bytes), ErrorCode::data_loss, "");
  bytes.resize(20);
  EXPECT_ERROR(read_label_tree_checkpoint(bytes), ErrorCode::malformed, "no checkpoint");
  // A feature party's has no margins in front: here the number of levels, and how long the first one is.
  Bytes feature = write_tree_checkpoint(whole.feature_kept().at(10));
  for (const auto& [at, value] : {std::pair(0, 9), {7, 255}}) {
    Bytes changed = feature;
    changed[static_cast<size_t>(at)] = static_cast<uint8_t>(value);
    EXPECT_ERROR(read_feature_tree_checkpoint(changed), ErrorCode::malformed, "no checkpoint");
  }
}

}  // namespace
}  // namespace coterie::vertical
