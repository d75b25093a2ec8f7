// What a manifest says, and which rows of the ledger it has to name for it.
#include "tools/vertical/manifest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/matchers.h"
#include "tools/vertical/party_report.h"
#include "tools/vertical/party_table.h"

namespace coterie {
namespace {

TEST(VerticalManifest, ReadsWhatItWrites) {
  VerticalManifest manifest;
  manifest.job[3] = 9;
  manifest.matching.salt[5] = 200;
  manifest.trees.rounds = 7;
  manifest.bins = 16;
  const std::string text = write_manifest(manifest);
  const Result<VerticalManifest> read = parse_manifest(text);
  ASSERT_OK(read);
  EXPECT_EQ(read->job, manifest.job);
  EXPECT_EQ(read->matching.salt, manifest.matching.salt);
  EXPECT_EQ(read->trees, manifest.trees);
  EXPECT_EQ(read->bins, 16u);
  EXPECT_EQ(manifest_digest("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(VerticalManifest, MaySampleAndSaysWhatThatTells) {
  VerticalManifest manifest;
  manifest.trees.goss = {.top_rate = 0.25, .other_rate = 0.125};
  const std::string text = write_manifest(manifest);
  const Result<VerticalManifest> read = parse_manifest(text);
  ASSERT_OK(read);
  EXPECT_EQ(read->trees, manifest.trees);
  const auto changed = [&text](const std::string& from, const std::string& to) {
    std::string other = text;
    return parse_manifest(other.replace(other.find(from), from.size(), to));
  };
  EXPECT_ERROR(changed("\"other_rate\": 0.125", "\"other_rate\": 0.9"), ErrorCode::invalid_argument,
               "goss top_rate + ");
  EXPECT_ERROR(changed("\"other_rate\"", "\"rate\""), ErrorCode::invalid_argument, "/trees/goss/rate");
  EXPECT_ERROR(changed("\"L13\"", "\"L12\""), ErrorCode::invalid_argument, "\"L3\", \"L13\", \"L4\"");
  const PartyReport report{.matched = 125, .trained = 100, .held_out = 25};
  const std::vector<LedgerRow> rows = ledger_rows(report, true, manifest);
  ASSERT_EQ(rows.size(), kSampledTreesLeakage.size());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].id, kSampledTreesLeakage[i]);
  EXPECT_EQ(
      rows[2].feature_party,
      "which 37 of 100 people each round looks at: the 25 with the largest gradients are among them, and so mostly "
      "those who have a rare label");
}

TEST(VerticalManifest, NamesItsCipherIfItIsNotPailliers) {
  EXPECT_EQ(write_manifest({}).find("cipher"), std::string::npos) << "parties of earlier versions refuse it";
  VerticalManifest manifest;
  manifest.cipher = VerticalCipher::okamoto_uchiyama;
  const std::string text = write_manifest(manifest);
  const Result<VerticalManifest> read = parse_manifest(text);
  ASSERT_OK(read);
  EXPECT_EQ(read->cipher, VerticalCipher::okamoto_uchiyama);
  std::string other = text;
  other.replace(other.find("okamoto_uchiyama"), 16, "rot13");
  EXPECT_ERROR(parse_manifest(other), ErrorCode::invalid_argument, "/trees/cipher");
}

TEST(VerticalManifest, MayBeARegressionsWithADealer) {
  VerticalManifest manifest{.parties = {"a", "b"}, .model = VerticalModel::logistic};
  manifest.logistic = {.epochs = 3, .batch = 50, .rate = 0.25, .lambda = 0.125 / 2};
  const std::string text = write_manifest(manifest);
  const Result<VerticalManifest> read = parse_manifest(text);
  ASSERT_OK(read);
  EXPECT_EQ(read->model, VerticalModel::logistic);
  EXPECT_EQ(read->logistic, manifest.logistic);
  const auto changed = [&text](const std::string& from, const std::string& to) {
    std::string other = text;
    return parse_manifest(other.replace(other.find(from), from.size(), to));
  };
  EXPECT_ERROR(changed("\"L6\"", "\"L3\""), ErrorCode::invalid_argument, "/leakage_ack: must be [\"L1\", \"L6\"");
  EXPECT_ERROR(changed("\"rate\": 0.25", "\"rate\": 1.5"), ErrorCode::invalid_argument, "rate is 1.5");
  EXPECT_ERROR(changed("\"batch\": 50", "\"batch\": 5"), ErrorCode::invalid_argument, "batch is 5");
  EXPECT_ERROR(changed("\"epochs\"", "\"rounds\""), ErrorCode::invalid_argument, "/logistic/rounds");
  EXPECT_ERROR(changed("vertical_logistic", "vertical_trees"), ErrorCode::invalid_argument, "/logistic");
  manifest.parties = {};
  EXPECT_ERROR(parse_manifest(write_manifest(manifest)), ErrorCode::invalid_argument, "needs a coordinator");
}

TEST(VerticalManifest, MayBeAnExactRegressionsWithoutADealerIfItNamesWhatThatTells) {
  VerticalManifest manifest{.model = VerticalModel::logistic, .mode = RegressionMode::exact};
  const std::string text = write_manifest(manifest);
  const Result<VerticalManifest> read = parse_manifest(text);
  ASSERT_OK(read);
  EXPECT_TRUE(read->is_exact() && !read->has_dealer());
  EXPECT_EQ(leakage_of(*read)[1], "L7");
  const auto changed = [&text](const std::string& from, const std::string& to) {
    std::string other = text;
    return parse_manifest(other.replace(other.find(from), from.size(), to));
  };
  EXPECT_ERROR(changed("\"L7\"", "\"L6\""), ErrorCode::invalid_argument,
               "/leakage_ack: must be [\"L1\", \"L7\", \"L10\"]");
  EXPECT_ERROR(changed("\"L7\",", ""), ErrorCode::invalid_argument, "/leakage_ack: must be [\"L1\", \"L7\"");
  EXPECT_ERROR(changed("\"exact\"", "\"shares\""), ErrorCode::invalid_argument,
               "/leakage_ack: must be [\"L1\", \"L6\"");
  EXPECT_ERROR(changed("\"exact\"", "\"he\""), ErrorCode::invalid_argument, "/logistic/mode");
  // A manifest of before says no mode.
  std::string before = write_manifest({.parties = {"a", "b"}, .model = VerticalModel::logistic});
  const std::string mode = "\"mode\": \"shares\",";
  const Result<VerticalManifest> shares = parse_manifest(before.erase(before.find(mode), mode.size()));
  ASSERT_OK(shares);
  EXPECT_TRUE(shares->has_dealer());
}

TEST(VerticalManifest, MayBeALinearRegressionsWithNumbersAsLabels) {
  VerticalManifest manifest{.parties = {"a", "b"}, .model = VerticalModel::linear};
  manifest.linear.lambda = 0.25;
  const std::string text = write_manifest(manifest);
  const Result<VerticalManifest> read = parse_manifest(text);
  ASSERT_OK(read);
  EXPECT_TRUE(read->is_linear() && read->is_regression());
  EXPECT_EQ(read->linear, manifest.linear);
  std::string other = text;
  EXPECT_ERROR(parse_manifest(other.replace(other.find("0.25"), 4, "-1.0")), ErrorCode::invalid_argument, "lambda");
  other = text;
  EXPECT_ERROR(parse_manifest(other.replace(other.find("\"L11\""), 5, "\"L6\"")), ErrorCode::invalid_argument,
               "/leakage_ack: must be [\"L1\", \"L11\"");
  const auto table = parse_party_table("id,label\na,2.5\n", "t.csv", "id", "label", LabelValues::numbers);
  ASSERT_OK(table);
  EXPECT_EQ(table->labels, std::vector<float>{2.5f});
  EXPECT_ERROR(parse_party_table("id,label\na,nan\n", "t.csv", "id", "label", LabelValues::numbers),
               ErrorCode::malformed, "finite");
}

TEST(VerticalManifest, MayBeASplitNetworksWithWhatItsProtectionSays) {
  VerticalManifest manifest{.model = VerticalModel::split};
  manifest.split = {.network = vertical::SplitNetwork::deepfm,
                    .epochs = 3,
                    .batch = 50,
                    .shuffle = false,
                    .is_adam = false,
                    .rate = 0.25,
                    .in_flight = 4,
                    .activations = vertical::CutEncoding::bit1,
                    .gradients = vertical::CutEncoding::int8,
                    .protection = vertical::GradientProtection::marvell};
  const std::string text = write_manifest(manifest);
  const Result<VerticalManifest> read = parse_manifest(text);
  ASSERT_OK(read);
  EXPECT_TRUE(read->is_split() && !read->is_regression());
  EXPECT_EQ(read->split, manifest.split);
  const auto changed = [&text](const std::string& from, const std::string& to) {
    std::string other = text;
    return parse_manifest(other.replace(other.find(from), from.size(), to));
  };
  // Who hides something acknowledges another row.
  EXPECT_ERROR(changed("\"marvell\"", "\"none\""), ErrorCode::invalid_argument, "must be [\"L1\", \"L8\", \"L12\"]");
  EXPECT_ERROR(changed("\"label_epsilon\": 0.0", "\"label_epsilon\": 2.0"), ErrorCode::invalid_argument,
               "exclude each other");
  EXPECT_ERROR(changed("\"deepfm\"", "\"deep\""), ErrorCode::invalid_argument, "/split/network");
  EXPECT_ERROR(changed("\"cut\"", "\"width\""), ErrorCode::invalid_argument, "/split/width");
}

TEST(VerticalManifest, MayBeAPredictionsWithAModelOfBefore) {
  VerticalManifest manifest{.predicts = manifest_digest("abc")};
  for (const VerticalModel model :
       {VerticalModel::trees, VerticalModel::logistic, VerticalModel::linear, VerticalModel::split}) {
    manifest.model = model;
    const std::string text = write_manifest(manifest);
    const Result<VerticalManifest> read = parse_manifest(text);
    ASSERT_OK(read);
    EXPECT_EQ(read->model, model);
    EXPECT_EQ(read->predicts, manifest.predicts);
    EXPECT_EQ(leakage_of(*read).size(), 2u);
    std::string other = text;
    other.replace(other.find("\"L1\""), 4, "\"L3\"");
    EXPECT_ERROR(parse_manifest(other), ErrorCode::invalid_argument, "/leakage_ack: must be [\"L1\", \"L");
    other = text;
    other.replace(other.find("_prediction"), 11, "");
    EXPECT_ERROR(parse_manifest(other), ErrorCode::invalid_argument, "/model");
    other = text;
    other.replace(other.find("\"model\""), 7, "\"trees\"");
    EXPECT_ERROR(parse_manifest(other), ErrorCode::invalid_argument, "/model");
  }
}

TEST(VerticalManifest, RefusesWhatItDoesNotKnowAndWhatItDoesNotAcknowledge) {
  const std::string text = write_manifest({});
  const auto changed = [&text](const std::string& from, const std::string& to) {
    std::string other = text;
    const size_t at = other.find(from);
    EXPECT_NE(at, other.npos);
    return parse_manifest(other.replace(at, from.size(), to));
  };
  EXPECT_ERROR(changed("\"L4\"", "\"L5\""), ErrorCode::invalid_argument, "/leakage_ack");
  EXPECT_ERROR(changed("\"bins\": 32", "\"bins\": 1"), ErrorCode::invalid_argument, "/trees/bins");
  EXPECT_ERROR(changed("\"bins\"", "\"bin\""), ErrorCode::invalid_argument, "/trees/bin");
  EXPECT_ERROR(changed("\"depth\": 3", "\"depth\": 99"), ErrorCode::invalid_argument, "depth");
  EXPECT_ERROR(changed("\"job\": \"00", "\"job\": \"0"), ErrorCode::invalid_argument, "/job");
  EXPECT_ERROR(parse_manifest("{"), ErrorCode::malformed, "");
}

TEST(VerticalManifest, NamesItsParties) {
  VerticalManifest manifest;
  EXPECT_EQ(write_manifest(manifest).find("parties"), std::string::npos);
  manifest.parties = {"a.example", "b.example"};
  const Result<VerticalManifest> read = parse_manifest(write_manifest(manifest));
  ASSERT_OK(read);
  EXPECT_EQ(read->parties, manifest.parties);
  manifest.parties[1] = "a.example";
  EXPECT_ERROR(parse_manifest(write_manifest(manifest)), ErrorCode::invalid_argument, "/parties");
}

TEST(VerticalManifest, MayHaveMoreThanOneFeaturePartyOfTrees) {
  VerticalManifest manifest;
  manifest.parties = {"a", "b", "c"};
  const std::string text = write_manifest(manifest);
  const Result<VerticalManifest> read = parse_manifest(text);
  ASSERT_OK(read);
  EXPECT_EQ(read->parties, manifest.parties);
  EXPECT_EQ(leakage_of(*read)[0], "L2") << "matched by the coordinator";
  const auto refuses = [&text](const std::string& from, const std::string& to, const char* what) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    EXPECT_ERROR(parse_manifest(other), ErrorCode::invalid_argument, what);
  };
  refuses("\"c\"", "\"b\"", "/parties");
  refuses("\"L2\"", "\"L1\"", "/leakage_ack");
  refuses("\"b\",\n", "", "/parties/features");
  for (size_t party = 3; party < 9; ++party) manifest.parties.push_back(std::to_string(party));
  EXPECT_ERROR(parse_manifest(write_manifest(manifest)), ErrorCode::invalid_argument, "2 to 8 parties, not 9");
  manifest.parties.resize(3);
  for (const VerticalModel model : {VerticalModel::logistic, VerticalModel::linear, VerticalModel::split}) {
    manifest.model = model;
    EXPECT_ERROR(parse_manifest(write_manifest(manifest)), ErrorCode::invalid_argument, "one feature party alone");
  }
  manifest.model = VerticalModel::trees;
  manifest.predicts.emplace();
  ASSERT_OK(parse_manifest(write_manifest(manifest)));
}

}  // namespace
}  // namespace coterie
