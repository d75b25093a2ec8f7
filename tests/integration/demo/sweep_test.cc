// `coterie sweep` and `coterie compare` as a user runs them.
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

class Sweep : public DemoTest {
 protected:
  void SetUp() override {
    DemoTest::SetUp();
    DemoProcess demo(directory_.path(), {"demo", "--devices", "4", "--rounds", "1", "--fraction", "1", "--security",
                                         "none", "--model", "logistic", "--print-job"});
    ASSERT_EQ(demo.wait(), 0) << demo.errors();
    ASSERT_OK(os::write_file_atomically(job(), as_bytes(demo.output())));
  }
  std::string job() const { return directory_ / "job.json"; }
  std::string folder() const { return directory_ / "sweep"; }

  int run_words(const std::vector<std::string>& more, std::vector<std::string> words) {
    words.insert(words.end(), more.begin(), more.end());
    DemoProcess process(directory_.path(), words);
    const int code = process.wait();
    output_ = process.output();
    errors_ = process.errors();
    return code;
  }
  int sweep(const std::vector<std::string>& more) {
    return run_words(more, {"sweep", job(), "--devices", "4", "--model", "logistic", "--out", folder(), "--json",
                            "--quiet", "--set", "training.local_epochs=1,3"});
  }
  std::string output_, errors_;
};

TEST_F(Sweep, ComparesVariantsOverSeedsAndGoesOn) {
  ASSERT_EQ(sweep({"--seeds", "2"}), 0) << errors_;
  const auto first = nlohmann::json::parse(output_);
  EXPECT_EQ(first["trained"], 4);
  ASSERT_EQ(first["variants"].size(), 2u);
  EXPECT_EQ(first["variants"][0]["name"], "local_epochs=1");
  EXPECT_EQ(first["variants"][1]["to_first"]["runs"], 2);
  for (const char* name :
       {"comparison.svg", "comparison.csv", "comparison.json", "01/seed-1/model.cotf", "02/seed-2/metrics.csv"}) {
    EXPECT_TRUE(os::exists(folder() + "/" + name)) << name;
  }

  // One more seed is two more runs; what was done stays.
  ASSERT_EQ(sweep({"--seeds", "3"}), 0) << errors_;
  const auto second = nlohmann::json::parse(output_);
  EXPECT_EQ(second["trained"], 2);
  EXPECT_EQ(second["variants"][1]["accuracy"]["runs"], 3);

  // The runs of one seed begin alike, so a seed's run is what `coterie simulate` comes to; `compare` has the same.
  ASSERT_EQ(run_words({}, {"compare", folder(), "--json"}), 0) << errors_;
  EXPECT_EQ(nlohmann::json::parse(output_)["variants"], second["variants"]);

  // Another request does not go on with these.
  EXPECT_EQ(sweep({"--seeds", "3", "--dropout", "0.1"}), 2);
  EXPECT_NE(errors_.find("another request"), std::string::npos) << errors_;
}

TEST_F(Sweep, IsCheckedBeforeItBegins) {
  EXPECT_EQ(sweep({"--set", "training.batch_sise=8"}), 2);
  EXPECT_NE(errors_.find("batch_sise"), std::string::npos) << errors_;
  EXPECT_NE(errors_.find("local_epochs=1"), std::string::npos) << "says which variant: " << errors_;
  EXPECT_FALSE(os::exists(folder()));
}

}  // namespace
}  // namespace coterie::integration
