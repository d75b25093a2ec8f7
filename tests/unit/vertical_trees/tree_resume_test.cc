// A training of trees that is cut off anywhere goes on from both parties' checkpoints, and ends with the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "tests/support/matchers.h"
#include "tests/unit/vertical_trees/plain_cipher.h"
#include "tests/unit/vertical_trees/run_trees.h"
#include "vertical/trees/grown_margins.h"

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
          for (const GrownTree& tree : label_->take_grown()) label_grown_.push_back(write_grown_tree(tree));
          for (const GrownTree& tree : feature_->take_grown()) feature_grown_.push_back(write_grown_tree(tree));
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
  // As a journal has them.
  const std::vector<Bytes>& label_grown() const { return label_grown_; }
  const std::vector<Bytes>& feature_grown() const { return feature_grown_; }

 private:
  std::unique_ptr<LabelTraining> label_;
  std::unique_ptr<FeatureTraining> feature_;
  size_t messages_ = 0;
  std::map<uint32_t, LabelTreeCheckpoint> label_kept_;
  std::map<uint32_t, FeatureTreeCheckpoint> feature_kept_;
  std::vector<Bytes> label_grown_, feature_grown_;
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
        const auto label_read =
            read_label_tree_checkpoint(write_tree_checkpoint(labels->second), first.label_grown(), job.labels.size());
        const auto feature_read = read_feature_tree_checkpoint(write_tree_checkpoint(kept), first.feature_grown());
        ASSERT_OK(label_read);
        ASSERT_OK(feature_read);
        // With the margins, to the bit, which no file has.
        EXPECT_EQ(*label_read, labels->second);
        EXPECT_EQ(*feature_read, kept);
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
  EXPECT_ERROR(read_label_tree_model(write_tree_model(good.model)), ErrorCode::malformed, "3 trees");
}

TEST(TreeResumeChecks, RefuseBytesThatAreNoCheckpoint) {
  const ResumedJob job = resumed_job(TreeObjective::multi_softprob);
  const size_t rows = job.labels.size();
  ResumableTrees whole(job);
  ASSERT_OK(whole.run());
  const Bytes label = write_tree_checkpoint(whole.label_kept().at(10));
  const Bytes feature = write_tree_checkpoint(whole.feature_kept().at(10));
  const std::vector<Bytes>& grown = whole.label_grown();
  ASSERT_OK(read_label_tree_checkpoint(label, grown, rows));
  ASSERT_OK(read_feature_tree_checkpoint(feature, whole.feature_grown()));
  Bytes bytes = label;
  bytes.pop_back();
  EXPECT_ERROR(read_label_tree_checkpoint(bytes, grown, rows), ErrorCode::data_loss, "");
  bytes.resize(3);
  EXPECT_ERROR(read_label_tree_checkpoint(bytes, grown, rows), ErrorCode::malformed, "no checkpoint");
  // The number of levels, and how long the first one is.
  for (const auto& [at, value] : {std::pair(8, 9), {15, 255}}) {
    Bytes changed = feature;
    changed[static_cast<size_t>(at)] = static_cast<uint8_t>(value);
    EXPECT_ERROR(read_feature_tree_checkpoint(changed, whole.feature_grown()), ErrorCode::malformed, "no checkpoint");
  }
  // One of the version that began with a number.
  Bytes before = feature;
  before[0] = 1;
  EXPECT_ERROR(read_feature_tree_checkpoint(before, whole.feature_grown()), ErrorCode::unsupported_version,
               "another version of this program");
  // Trees that are not there, in another order, with other levels, of other rows.
  std::vector<Bytes> few(grown.begin(), grown.begin() + 2), swapped = grown, levels = grown;
  std::swap(swapped[0], swapped[1]);
  levels[1] = grown[2];
  levels[1][0] = 1;
  EXPECT_ERROR(read_label_tree_checkpoint(label, few, rows), ErrorCode::data_loss, "behind 3 trees, and 2 are kept");
  EXPECT_ERROR(read_label_tree_checkpoint(label, swapped, rows), ErrorCode::malformed, "no checkpoint");
  EXPECT_ERROR(read_label_tree_checkpoint(label, grown, rows - 8), ErrorCode::malformed, "level");
  EXPECT_NE(read_label_tree_checkpoint(label, levels, rows)->margins, whole.label_kept().at(10).margins);
  // Leaves of three rounds' first trees that are finite, and their sum is not.
  GrownMargins margins(job.settings, rows);
  const Tree large = {TreeNode{.weight = 3e38f}};
  for (int tree = 0; tree < 3; ++tree) ASSERT_OK(margins.add_finished(large, {}));
  EXPECT_ERROR(margins.add_finished(large, {}), ErrorCode::malformed, "add up to no number");
}

// Whole models and margins in each level would be as many bytes as trees times trees.
TEST(TreeResumeChecks, ALevelWritesNoMoreBehindManyTreesThanBehindFew) {
  ResumedJob job = resumed_job(TreeObjective::binary_logistic);
  job.settings.rounds = 50;
  ResumableTrees whole(job);
  ASSERT_OK(whole.run());
  size_t largest = 0, all = 0, of_whole_states = 0;
  for (const auto& [level, kept] : whole.label_kept()) {
    const size_t bytes = write_tree_checkpoint(kept).size();
    largest = std::max(largest, bytes);
    all += bytes;
    of_whole_states += write_tree_model(kept.model).size() + 2 * sizeof(float) * kept.margins.size();
  }
  for (const Bytes& tree : whole.label_grown()) all += tree.size();
  EXPECT_EQ(whole.label_grown().size(), 50u);
  // Settings and two digests, three levels of 60 rows, 15 nodes.
  EXPECT_LT(largest, 600u);
  EXPECT_LT(all, of_whole_states / 10);
  RecordProperty("bytes", static_cast<int>(all));
  RecordProperty("bytes_of_whole_states", static_cast<int>(of_whole_states));
}

}  // namespace
}  // namespace coterie::vertical
