// Two real parties over mutual TLS: the model is the one that one table would have given.
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"
#include "tools/vertical/manifest.h"

namespace coterie::integration {
namespace {

class VerticalDemo : public DemoTest {
 protected:
  nlohmann::json file(const std::string& name) const {
    const Result<Bytes> bytes = os::read_file(directory_ / "run/" + name, 1 << 20);
    EXPECT_TRUE(bytes) << name;
    return bytes ? nlohmann::json::parse(as_text(*bytes)) : nlohmann::json();
  }
};

TEST_F(VerticalDemo, EqualsOneTableAndSaysWhatWasLearned) {
  DemoProcess demo(directory_.path(), {"vertical", "demo", "--trees", "1", "--bins", "8", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  const nlohmann::json metrics = file("metrics.json");
  EXPECT_EQ(metrics["matched"], 534);
  EXPECT_EQ(metrics["trained"].get<int>() + metrics["held_out"].get<int>(), 534);
  EXPECT_EQ(metrics["scores_equal_to_pooled"], metrics["held_out"]);
  EXPECT_EQ(metrics["together"], metrics["pooled"]);
  EXPECT_GT(metrics["together"]["auc"], 0.9);
  EXPECT_EQ(metrics["stages"].size(), 3u);
  // A ciphertext a trained person went to the feature party.
  EXPECT_GT(metrics["stages"][1]["label_party_bytes_sent"], metrics["trained"].get<int>() * 512);
  const nlohmann::json ledger = file("ledger.json");
  ASSERT_EQ(ledger.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ledger[i]["id"], kVerticalLeakage[i]);
  EXPECT_EQ(file("label_party/ledger.json"), ledger);
  EXPECT_EQ(file("feature_party/ledger.json"), ledger);
  for (const char* name : {"label_party/model.part", "feature_party/model.part", "label_party/scores.csv"}) {
    EXPECT_TRUE(os::exists(directory_ / "run/" + name)) << name;
  }
  EXPECT_FALSE(os::exists(directory_ / "run/certificates"));
  EXPECT_FALSE(os::exists(directory_ / "run/feature_party/scores.csv"));
  EXPECT_NE(demo.output().find("bit for bit"), std::string::npos) << demo.output();
  // A party refuses a manifest that is not the one it approved, before it calls anybody.
  nlohmann::json manifest = file("manifest.json");
  manifest["trees"]["rounds"] = 2;
  ASSERT_TRUE(os::write_file_atomically(directory_ / "run/manifest.json", as_bytes(manifest.dump())));
  DemoProcess party(directory_.path(), {"vertical", "party", "--config", run() + "/feature_party/config.json"});
  EXPECT_EQ(party.wait(), 1);
  EXPECT_NE(party.errors().find("manifest_not_approved"), std::string::npos) << party.errors();
}

TEST_F(VerticalDemo, NamesTheLineOfABadTable) {
  ASSERT_TRUE(os::write_file_atomically(directory_ / "l.csv", as_bytes("id,x,label\na,1,1\nb,one,0\n")));
  DemoProcess demo(directory_.path(), {"vertical", "demo", "--label-table", "l.csv", "--feature-table", "l.csv"});
  EXPECT_EQ(demo.wait(), 2);
  EXPECT_NE(demo.errors().find("l.csv: line 3, column x"), std::string::npos) << demo.errors();
  EXPECT_FALSE(os::exists(directory_ / "runs"));
}

}  // namespace
}  // namespace coterie::integration
