// Parties on made columns: what one party alone would get, prediction, the parts as files, and parties that lie.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include "base/random.h"
#include "tests/support/matchers.h"
#include "tests/unit/vertical_trees/plain_cipher.h"
#include "tests/unit/vertical_trees/run_trees.h"
#include "vertical/trees/predict_trees.h"

namespace coterie::vertical {
namespace {

using test::Said;

constexpr uint32_t kRows = 200;
constexpr uint32_t kColumns = 6;
constexpr uint32_t kBins = 16;

struct Table {
  RawColumns columns;
  std::vector<float> labels;
};

Table made_table(TreeObjective objective) {
  Prng random(11);
  Table table;
  table.columns.assign(kColumns, std::vector<float>(kRows));
  for (uint32_t row = 0; row < kRows; ++row) {
    for (auto& column : table.columns) {
      column[row] = static_cast<float>(random.normal());
    }
    const float score = table.columns[0][row] + 2 * table.columns[3][row] * table.columns[4][row];
    switch (objective) {
      case TreeObjective::binary_logistic: table.labels.push_back(score > 0 ? 1.0f : 0.0f); break;
      case TreeObjective::multi_softprob: table.labels.push_back(score < -1 ? 0.0f : score < 1 ? 1.0f : 2.0f); break;
      case TreeObjective::squared_error: table.labels.push_back(score * 100); break;
    }
    if (row % 7 == 0) table.columns[3][row] = std::numeric_limits<float>::quiet_NaN();
  }
  return table;
}

RawColumns some(const RawColumns& columns, size_t first, size_t end) {
  return {columns.begin() + static_cast<ptrdiff_t>(first), columns.begin() + static_cast<ptrdiff_t>(end)};
}

TreeSettings settings_of(TreeObjective objective) {
  TreeSettings settings;
  settings.objective = objective;
  settings.classes = objective == TreeObjective::multi_softprob ? 3 : 1;
  settings.rounds = 4;
  return settings;
}

struct Parties {
  std::unique_ptr<LabelTraining> label;
  std::vector<std::unique_ptr<FeatureTraining>> features;

  std::vector<Stage*> stages() const {
    std::vector<Stage*> all = {label.get()};
    for (const auto& feature : features) all.push_back(feature.get());
    return all;
  }
};

// `borders`: where each feature party's columns begin.
Parties start(const Table& table, const TreeSettings& settings, const std::vector<size_t>& borders) {
  Parties parties;
  std::vector<PartyIndex> peers;
  for (size_t i = 0; i < borders.size(); ++i) {
    const size_t end = i + 1 < borders.size() ? borders[i + 1] : kColumns;
    parties.features.push_back(*FeatureTraining::start(*bin_columns(some(table.columns, borders[i], end), kBins),
                                                       settings, Secret<32>(), test::plain_cipher));
    peers.push_back(static_cast<PartyIndex>(i + 1));
  }
  const size_t own = borders.empty() ? kColumns : borders[0];
  parties.label = *LabelTraining::start(*bin_columns(some(table.columns, 0, own), kBins), table.labels, settings, peers,
                                        std::make_unique<test::PlainKey>());
  return parties;
}

std::vector<float> predicted(const Table& table, const Parties& parties, const std::vector<size_t>& borders) {
  std::vector<std::unique_ptr<FeaturePrediction>> features;
  std::vector<PartyIndex> peers;
  for (size_t i = 0; i < borders.size(); ++i) {
    const size_t end = i + 1 < borders.size() ? borders[i + 1] : kColumns;
    features.push_back(
        *FeaturePrediction::start(some(table.columns, borders[i], end), parties.features[i]->model(), kRows));
    peers.push_back(static_cast<PartyIndex>(i + 1));
  }
  const size_t own = borders.empty() ? kColumns : borders[0];
  auto label = LabelPrediction::start(some(table.columns, 0, own), parties.label->model(), kRows, peers);
  EXPECT_OK(label);
  std::vector<Stage*> stages = {label->get()};
  for (const auto& feature : features) stages.push_back(feature.get());
  EXPECT_OK(test::run_stages(stages));
  return (*label)->scores();
}

class TreeParties : public ::testing::TestWithParam<TreeObjective> {};

// The model of several parties scores as that of one party with all columns, bit for bit.
TEST_P(TreeParties, PredictAsOnePartyWithAllColumns) {
  const Table table = made_table(GetParam());
  const Parties pooled = start(table, settings_of(GetParam()), {});
  EXPECT_OK(test::run_stages(pooled.stages()));
  const std::vector<float> expected = predicted(table, pooled, {});
  for (const std::vector<size_t>& borders : {std::vector<size_t>{2}, {2, 4}}) {
    const Parties parties = start(table, settings_of(GetParam()), borders);
    EXPECT_OK(test::run_stages(parties.stages()));
    EXPECT_EQ(predicted(table, parties, borders), expected);
  }
}

// The same of a sample of the rows, which is the label party's alone to draw.
TEST_P(TreeParties, PredictAsOnePartyThatSamplesAlike) {
  const Table table = made_table(GetParam());
  TreeSettings settings = settings_of(GetParam());
  settings.goss = Goss{.top_rate = 0.2, .other_rate = 0.2};
  const std::vector<size_t> borders = {2, 4};
  const Parties parties = start(table, settings, borders);
  EXPECT_OK(test::run_stages(parties.stages()));
  const Parties pooled = start(table, settings, {});
  EXPECT_OK(test::run_stages(pooled.stages()));
  EXPECT_EQ(predicted(table, parties, borders), predicted(table, pooled, {}));
  const Parties whole = start(table, settings_of(GetParam()), {});
  EXPECT_OK(test::run_stages(whole.stages()));
  EXPECT_NE(predicted(table, pooled, {}), predicted(table, whole, {}));
}

INSTANTIATE_TEST_SUITE_P(Objectives, TreeParties,
                         ::testing::Values(TreeObjective::binary_logistic, TreeObjective::multi_softprob,
                                           TreeObjective::squared_error));

TEST(TreeParty, FirstRoundOfTheLabelPartyAlone) {
  const Table table = made_table(TreeObjective::binary_logistic);
  TreeSettings settings = settings_of(TreeObjective::binary_logistic);
  settings.label_party_first = true;
  const Parties parties = start(table, settings, {2});
  std::vector<Said> transcript;
  EXPECT_OK(test::run_stages(parties.stages(), &transcript));
  for (const TreeNode& node : parties.label->model().trees[0]) EXPECT_NE(node.kind, TreeNode::Kind::peer_split);
  for (const Said& said : transcript) {
    if (said.kind == 102) {
      EXPECT_NE(said.payload[0], 0);  // no gradients of tree 0
    }
  }
  EXPECT_EQ(predicted(table, parties, {2}).size(), kRows);
}

// As a blocking link runs it: whoever is waited for has something to say.
TEST(TreeParty, WaitsForThePartyWhoseAnswerIsToCome) {
  const Table table = made_table(TreeObjective::binary_logistic);
  const Parties parties = start(table, settings_of(TreeObjective::binary_logistic), {2, 4});
  std::array<std::deque<Message>, 3> answers;  // by party
  for (;;) {
    while (std::optional<Message> message = parties.label->next()) {
      const PartyIndex to = std::exchange(message->peer, 0);
      FeatureTraining& feature = *parties.features[to - 1];
      ASSERT_OK(feature.receive(*message));
      while (std::optional<Message> answer = feature.next()) answers[to].push_back(std::move(*answer));
    }
    if (parties.label->done()) break;
    const PartyIndex from = parties.label->awaits();
    ASSERT_FALSE(answers[from].empty()) << "party " << from << " has nothing to say";
    answers[from].front().peer = from;
    ASSERT_OK(parties.label->receive(answers[from].front()));
    answers[from].pop_front();
  }
}

// What goes over the wire has these kinds, and sizes that follow from public numbers.
TEST(TreeParty, SaysNothingElse) {
  const Table table = made_table(TreeObjective::binary_logistic);
  const Parties parties = start(table, settings_of(TreeObjective::binary_logistic), {2});
  std::vector<Said> transcript;
  EXPECT_OK(test::run_stages(parties.stages(), &transcript));
  const size_t candidates = 3 * (kBins - 1) + 2 * kBins;  // one of four columns misses values
  const size_t pairs = 2046 / (2 * (40 + 8 + 2));
  for (const Said& said : transcript) {
    SCOPED_TRACE(said.kind);
    switch (said.kind) {
      case 100: EXPECT_EQ(said.from, 0u); break;
      case 101: EXPECT_EQ(said.payload.size(), 4u); break;
      case 102: EXPECT_EQ(said.payload.size(), 8 + kRows * 256); break;
      case 103: EXPECT_EQ(said.payload.size(), 12 + (candidates + pairs - 1) / pairs * 256); break;
      case 104: EXPECT_EQ(said.from, 0u); break;
      case 105: EXPECT_LE(said.payload.size(), 8 + (kRows + 7) / 8); break;
      case 106: EXPECT_EQ(said.from, 0u); break;
      default: ADD_FAILURE() << "a kind that no party may send";
    }
  }
}

TEST(TreeParty, PartsComeBackFromFilesAndDamageIsRefused) {
  const Table table = made_table(TreeObjective::binary_logistic);
  const Parties parties = start(table, settings_of(TreeObjective::binary_logistic), {2});
  EXPECT_OK(test::run_stages(parties.stages()));
  Bytes bytes = write_tree_model(parties.label->model());
  EXPECT_EQ(*read_label_tree_model(bytes), parties.label->model());
  const Bytes theirs = write_tree_model(parties.features[0]->model());
  EXPECT_EQ(*read_feature_tree_model(theirs), parties.features[0]->model());
  EXPECT_ERROR(read_label_tree_model(theirs), ErrorCode::malformed, "begins with CTL1");
  for (size_t i = 4; i < bytes.size(); i += 97) {
    bytes[i] ^= 1;
    EXPECT_ERROR(read_label_tree_model(bytes), ErrorCode::data_loss, "another copy");
    bytes[i] ^= 1;
  }
  bytes.pop_back();
  EXPECT_ERROR(read_label_tree_model(bytes), ErrorCode::data_loss, "another copy");
  EXPECT_ERROR(read_label_tree_model({}), ErrorCode::malformed, "begins with CTL1");
}

TEST(TreeParty, PartsOfTwoModelsDoNotPredict) {
  const Table table = made_table(TreeObjective::binary_logistic);
  TreeSettings other = settings_of(TreeObjective::binary_logistic);
  other.depth = 2;
  const Parties a = start(table, settings_of(TreeObjective::binary_logistic), {2});
  const Parties b = start(table, other, {2});
  EXPECT_OK(test::run_stages(a.stages()));
  EXPECT_OK(test::run_stages(b.stages()));
  auto label = *LabelPrediction::start(some(table.columns, 0, 2), a.label->model(), kRows, {1});
  auto feature = *FeaturePrediction::start(some(table.columns, 2, 6), b.features[0]->model(), kRows);
  EXPECT_ERROR(test::run_stages({label.get(), feature.get()}), ErrorCode::conflict, "another model");
}

TEST(TreeParty, OtherSettingsAreRefusedAtHello) {
  const Table table = made_table(TreeObjective::binary_logistic);
  TreeSettings other = settings_of(TreeObjective::binary_logistic);
  other.depth = 5;
  const Parties a = start(table, settings_of(TreeObjective::binary_logistic), {2});
  const Parties b = start(table, other, {2});
  EXPECT_ERROR(test::run_stages({a.label.get(), b.features[0].get()}), ErrorCode::conflict, "other settings");
}

// Each message, cut, too long or of another kind, is a typed error of whoever gets it, and no crash.
TEST(TreeParty, DamagedMessagesAreErrors) {
  const Table table = made_table(TreeObjective::binary_logistic);
  TreeSettings settings = settings_of(TreeObjective::binary_logistic);
  settings.rounds = 1;
  std::vector<Said> transcript;
  EXPECT_OK(test::run_stages(start(table, settings, {2}).stages(), &transcript));
  for (size_t damaged = 0; damaged < transcript.size(); ++damaged) {
    for (int how = 0; how < 4; ++how) {
      SCOPED_TRACE("message " + std::to_string(damaged) + ", damage " + std::to_string(how));
      const Parties parties = start(table, settings, {2});
      const std::vector<Stage*> stages = parties.stages();
      Status last;
      for (size_t i = 0; i <= damaged; ++i) {
        auto message = stages[transcript[i].from]->next();
        ASSERT_TRUE(message.has_value());
        const PartyIndex to = message->peer;
        message->peer = transcript[i].from;
        if (i == damaged) {
          if (how == 0) message->payload.pop_back();
          if (how == 1) message->payload.insert(message->payload.end(), 3, 0xff);
          if (how == 2) message->kind ^= 1;
          if (how == 3) message->peer = 7;
        }
        last = stages[to]->receive(*message);
      }
      EXPECT_FALSE(last.has_value());
    }
  }
}

TEST(TreeParty, ALyingPartitionIsFound) {
  const Table table = made_table(TreeObjective::binary_logistic);
  const Parties parties = start(table, settings_of(TreeObjective::binary_logistic), {2});
  Stage& label = *parties.label;
  Stage& feature = *parties.features[0];
  for (bool lied = false; !lied;) {
    while (auto message = label.next()) {
      message->peer = 0;
      ASSERT_OK(feature.receive(*message));
    }
    while (auto message = feature.next()) {
      message->peer = 1;
      if (message->kind == 105) {
        message->payload[8] ^= 1;
        EXPECT_ERROR(label.receive(*message), ErrorCode::malformed, "otherwise than its candidate's sum says");
        lied = true;
        break;
      }
      ASSERT_OK(label.receive(*message));
    }
  }
}

TEST(TreeColumns, QuantilesAreOfWhatIsThere) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(quantile_cuts(std::vector<float>{4, nan, 1, 3, 2}, 4), (Cuts{2, 3}));
  EXPECT_EQ(quantile_cuts(std::vector<float>{5, 5, 5}, 4), Cuts{});
  EXPECT_EQ(quantile_cuts(std::vector<float>{nan}, 4), Cuts{});
}

TEST(TreeColumns, WhatDoesNotFitIsNamed) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_ERROR(bin_columns({{1, 2}, {1, infinity}}, 4), ErrorCode::invalid_argument, "column 1, row 1 is infinite");
  EXPECT_ERROR(bin_columns({{1, 2}, {1}}, 4), ErrorCode::invalid_argument, "column 1 has 1 rows");
  EXPECT_ERROR(bin_columns({{1, 2}}, 1), ErrorCode::invalid_argument, "1 bins");
}

}  // namespace
}  // namespace coterie::vertical
