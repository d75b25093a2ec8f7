// Trees of two and three parties equal those of XGBoost 1.7.4 bit for bit, on the breast-cancer table of UCI. The trees
// are in shared/vectors/vertical/breast_xgb.json, the table in shared/data/uci.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "secure/he/okamoto_uchiyama.h"
#include "secure/he/paillier.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/unit/vertical_trees/plain_cipher.h"
#include "tests/unit/vertical_trees/run_trees.h"

namespace coterie::vertical {
namespace {

using test::Said;

struct Oracle {
  nlohmann::json variants;
  std::vector<std::vector<double>> columns;  // [column][row], of the rows that train
  std::vector<size_t> numbers;               // of these rows, in the table
  std::vector<float> labels;
};

// Null where shared/ is not there.
const Oracle* oracle() {
  static const std::unique_ptr<Oracle> made = [] {
    const std::string shared = coterie::test::source_dir() + "/../shared";
    std::ifstream trees(shared + "/vectors/vertical/breast_xgb.json");
    std::ifstream table(shared + "/data/uci/breast_cancer.csv");
    if (!trees || !table) return std::unique_ptr<Oracle>();
    auto read = std::make_unique<Oracle>();
    read->variants = nlohmann::json::parse(trees)["variants"];
    read->columns.resize(30);
    std::string line;
    std::getline(table, line);
    for (size_t row = 0; std::getline(table, line); ++row) {
      if (row % 5 == 0) continue;
      std::stringstream cells(line);
      std::string cell;
      for (size_t column = 0; std::getline(cells, cell, ','); ++column) {
        if (column < 30) {
          read->columns[column].push_back(std::stod(cell));
        } else {
          read->labels.push_back(std::stof(cell));
        }
      }
      read->numbers.push_back(row);
    }
    return read;
  }();
  return made.get();
}

// The table as one of the oracle's variants has it, and the cuts that give each of its candidates.
struct Variant {
  std::vector<std::vector<float>> columns;
  std::vector<Cuts> cuts;
  const nlohmann::json* trees = nullptr;
  bool codes = false;  // its thresholds are numbers of bins
};

Variant prebinned() {
  Variant variant;
  const nlohmann::json& oracle_variant = oracle()->variants["prebinned32"];
  variant.trees = &oracle_variant["trees"];
  variant.codes = true;
  for (const std::vector<double>& column : oracle()->columns) {
    variant.columns.emplace_back(column.begin(), column.end());
    variant.cuts.push_back(quantile_cuts(variant.columns.back(), 32));
    // Our quantiles are the oracle's.
    const std::vector<double> expected = oracle_variant["cuts"][variant.cuts.size() - 1];
    EXPECT_EQ(variant.cuts.back(), Cuts(expected.begin(), expected.end())) << variant.cuts.size() - 1;
  }
  return variant;
}

Variant all_values(bool missing) {
  Variant variant;
  variant.trees = &oracle()->variants[missing ? "missing_10pct_max_bin512" : "max_bin512_all_values"]["trees"];
  for (size_t j = 0; j < oracle()->columns.size(); ++j) {
    std::vector<float> column(oracle()->columns[j].begin(), oracle()->columns[j].end());
    for (size_t i = 0; missing && i < column.size(); ++i) {
      if ((oracle()->numbers[i] * 31 + j * 17) % 10 == 0) column[i] = std::numeric_limits<float>::quiet_NaN();
    }
    std::set<float> values;
    for (const float value : column) {
      if (!std::isnan(value)) values.insert(value);
    }
    variant.cuts.emplace_back(std::next(values.begin()), values.end());
    variant.columns.push_back(std::move(column));
  }
  return variant;
}

BinnedColumns part(const Variant& variant, size_t first, size_t end) {
  const auto at = [](auto& all, size_t i) { return all.begin() + static_cast<ptrdiff_t>(i); };
  auto binned = bin_columns({at(variant.columns, first), at(variant.columns, end)},
                            std::vector<Cuts>(at(variant.cuts, first), at(variant.cuts, end)));
  EXPECT_OK(binned);
  return std::move(*binned);
}

enum class Encryption : uint8_t { none, paillier, okamoto_uchiyama };

struct Trained {
  LabelTreeModel label;
  std::vector<FeatureTreeModel> feature;
  std::vector<size_t> first_columns;  // of each party
  std::vector<Said> transcript;
};

// `borders`: where each feature party's columns begin; the label party's are before.
Trained train(const Variant& variant, std::vector<size_t> borders, TreeSettings settings, Encryption encryption,
              uint8_t seed_byte = 1) {
  Secret<32> seed;
  seed.mutable_bytes()[0] = seed_byte;
  std::unique_ptr<AdditiveKey> key;
  CipherMaker cipher = test::plain_cipher;
  switch (encryption) {
    case Encryption::none: key = std::make_unique<test::PlainKey>(); break;
    case Encryption::paillier:
      key = make_paillier_key(PaillierBits::k2048, seed);
      cipher = paillier_cipher;
      break;
    case Encryption::okamoto_uchiyama:
      key = make_okamoto_uchiyama_key(OkamotoUchiyamaBits::k2048, seed);
      cipher = okamoto_uchiyama_cipher;
      break;
  }
  std::vector<PartyIndex> peers;
  for (PartyIndex i = 1; i <= borders.size(); ++i) peers.push_back(i);
  auto label = LabelTraining::start(part(variant, 0, borders[0]), oracle()->labels, settings, peers, std::move(key));
  EXPECT_OK(label);
  std::vector<std::unique_ptr<FeatureTraining>> features;
  std::vector<Stage*> stages = {label->get()};
  Trained trained;
  trained.first_columns = {0};
  for (size_t i = 0; i < borders.size(); ++i) {
    const size_t end = i + 1 < borders.size() ? borders[i + 1] : variant.columns.size();
    auto feature = FeatureTraining::start(part(variant, borders[i], end), settings, Secret<32>(seed.reveal()), cipher);
    EXPECT_OK(feature);
    features.push_back(std::move(*feature));
    stages.push_back(features.back().get());
    trained.first_columns.push_back(borders[i]);
  }
  EXPECT_OK(test::run_stages(stages, &trained.transcript));
  trained.label = (*label)->model();
  for (const auto& feature : features) {
    trained.feature.push_back(feature->model());
    EXPECT_EQ(trained.feature.back().shape, trained.label.shape);
  }
  return trained;
}

// Each node of the first `rounds` trees is the oracle's: column, threshold, direction where values are missing, weight.
void expect_trees(const Trained& trained, const Variant& variant) {
  for (size_t t = 0; t < trained.label.trees.size(); ++t) {
    const Tree& tree = trained.label.trees[t];
    const nlohmann::json& expected = (*variant.trees)[t];
    ASSERT_EQ(tree.size(), expected.size()) << "tree " << t;
    for (const nlohmann::json& node : expected) {
      const size_t id = node["id"];
      SCOPED_TRACE("tree " + std::to_string(t) + ", node " + std::to_string(id));
      if (node.contains("leaf")) {
        ASSERT_EQ(tree[id].kind, TreeNode::Kind::leaf);
        EXPECT_EQ(tree[id].weight, static_cast<float>(node["leaf"].get<double>()));
        continue;
      }
      ASSERT_NE(tree[id].kind, TreeNode::Kind::leaf);
      EXPECT_EQ(tree[id].left, node["yes"].get<uint32_t>());
      // The owner alone knows what it split by.
      const TreeNode* split = &tree[id];
      size_t first_column = 0;
      size_t owners = split->kind == TreeNode::Kind::own_split ? 1 : 0;
      for (size_t p = 0; p < trained.feature.size(); ++p) {
        const TreeNode& theirs = trained.feature[p].trees[t][id];
        if (theirs.kind != TreeNode::Kind::own_split) continue;
        split = &theirs;
        first_column = trained.first_columns[p + 1];
        ++owners;
      }
      EXPECT_EQ(owners, 1u);
      const size_t column = first_column + split->column;
      EXPECT_EQ(column, node["f"].get<size_t>());
      float threshold = split->threshold;
      if (variant.codes) {
        const Cuts& cuts = variant.cuts[column];
        threshold = static_cast<float>(std::ranges::find(cuts, threshold) - cuts.begin() + 1);
      }
      EXPECT_EQ(threshold, static_cast<float>(node["thr"].get<double>()));
    }
  }
}

#define NEEDS_ORACLE() \
  if (oracle() == nullptr) GTEST_SKIP() << "SKIPPED: shared/vectors/vertical or shared/data/uci is not there"

TEST(XgboostOracle, PrebinnedOneFeatureParty) {
  NEEDS_ORACLE();
  const Variant variant = prebinned();
  expect_trees(train(variant, {10}, {}, Encryption::none), variant);
}

TEST(XgboostOracle, PrebinnedTwoFeatureParties) {
  NEEDS_ORACLE();
  const Variant variant = prebinned();
  expect_trees(train(variant, {10, 23}, {}, Encryption::none), variant);
}

TEST(XgboostOracle, EveryValueABin) {
  NEEDS_ORACLE();
  const Variant variant = all_values(false);
  expect_trees(train(variant, {10}, {}, Encryption::none), variant);
}

TEST(XgboostOracle, MissingValues) {
  NEEDS_ORACLE();
  const Variant variant = all_values(true);
  expect_trees(train(variant, {10, 20}, {}, Encryption::none), variant);
}

class EncryptedTrees : public ::testing::TestWithParam<std::pair<Encryption, size_t>> {};

TEST_P(EncryptedTrees, AreXgboostsAndNoCiphertextComesTwice) {
  NEEDS_ORACLE();
  const auto [encryption, bytes] = GetParam();
  const Variant variant = prebinned();
  TreeSettings settings;
  settings.rounds = 2;
  const Trained trained = train(variant, {10}, settings, encryption);
  expect_trees(trained, variant);
  std::set<Bytes> seen;
  for (const Said& said : trained.transcript) {
    if (said.kind != 102) continue;
    for (size_t at = 8; at < said.payload.size(); at += bytes) {
      const auto begin = said.payload.begin() + static_cast<ptrdiff_t>(at);
      EXPECT_TRUE(seen.insert(Bytes(begin, begin + static_cast<ptrdiff_t>(bytes))).second);
    }
  }
  EXPECT_EQ(seen.size(), 2 * oracle()->labels.size());
}

INSTANTIATE_TEST_SUITE_P(Ciphers, EncryptedTrees,
                         ::testing::Values(std::pair(Encryption::paillier, size_t{512}),
                                           std::pair(Encryption::okamoto_uchiyama, size_t{256})),
                         [](const auto& one) {
                           return one.param.first == Encryption::paillier ? "Paillier" : "OkamotoUchiyama";
                         });

}  // namespace
}  // namespace coterie::vertical
