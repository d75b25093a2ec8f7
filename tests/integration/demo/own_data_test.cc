// A stranger's own table and own model in a federation, by one command.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "base/random.h"
#include "device_sdk/runtime/model_builder.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

using ::testing::HasSubstr;

class DemoOwnData : public DemoTest {
 protected:
  // 300 people: whether one is at risk follows from age, weight and whether one smokes. Scales are unlike, a number is
  // missing here and there, and 30 % are at risk or so.
  DemoOwnData() {
    Prng prng(7);
    std::string text = "hospital,age,weight,smokes,risk\n";
    for (int i = 0; i < 300; ++i) {
      const double age = 20 + 60 * prng.uniform(), grams = 50'000 + 60'000 * prng.uniform();
      const bool smokes = prng.chance(0.3);
      const double score = (age - 50) / 15 + (grams - 80'000) / 20'000 + (smokes ? 1.5 : -0.8) - 0.6;
      text += "h" + std::to_string(i % 5) + "," + std::to_string(age) + "," +
              (i % 40 == 3 ? "NA" : std::to_string(grams)) + "," + (smokes ? "\"yes, daily\"" : "no") + "," +
              (score > 0 ? "high" : "low") + "\n";
    }
    EXPECT_TRUE(test::is_ok(os::write_file_atomically(directory_ / "people.csv", as_bytes(text))));
  }
  std::string people() const { return "csv:" + directory_ / "people.csv?target=risk&drop=hospital"; }
  std::vector<std::string> demo_on(const std::string& data, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"demo", "--json", "--quiet", "--data", data, "--out", run()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  nlohmann::json summary_of(const std::vector<std::string>& words) const {
    DemoProcess demo(directory_.path(), words);
    EXPECT_EQ(demo.wait(), 0) << demo.errors();
    return nlohmann::json::parse(demo.output(), nullptr, false);
  }
  void expect_refused(const std::vector<std::string>& words, const std::string& why) const {
    DemoProcess demo(directory_.path(), words);
    EXPECT_EQ(demo.wait(), 2);
    EXPECT_THAT(demo.errors(), HasSubstr(why));
    EXPECT_EQ(std::count(demo.errors().begin(), demo.errors().end(), '\n'), 1) << demo.errors();
    EXPECT_FALSE(os::exists(run()));
  }
};

// Real devices count what the data say; the demo itself goes through all examples one by one and compares.
TEST_F(DemoOwnData, CountsAColumnInOneCommand) {
  DemoProcess demo(directory_.path(), demo_on(people(), {"--devices", "4", "--analytics", "histogram:weight,bins=5"}));
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  EXPECT_THAT(demo.errors(), HasSubstr("every count is that of all examples together"));
  const nlohmann::json result = nlohmann::json::parse(demo.output(), nullptr, false);
  ASSERT_EQ(result["bins"].size(), 8u) << "five, below, above, missing";
  double counted = 0;
  for (const auto& bin : result["bins"]) counted += bin["count"].get<double>();
  EXPECT_EQ(counted, 240) << "what is not held out";
  EXPECT_GE(result["bins"][7]["count"], 1) << "missing ones are no mean";
  EXPECT_EQ(result["updates"], 4);
  for (const char* name : {"/chart.svg", "/result.json", "/job.json"}) EXPECT_TRUE(os::exists(run() + name)) << name;
}

TEST_F(DemoOwnData, CountsNoColumnThatIsNotThere) {
  expect_refused(demo_on(people(), {"--analytics", "histogram:size"}), "has no column size; it has target, age");
  expect_refused(demo_on(people(), {"--analytics", "histogram:age", "--attack", "sign_flip:0.2"}),
                 "--analytics does not go with --attack");
}

TEST_F(DemoOwnData, TrainsOnATableInOneCommand) {
  DemoProcess demo(directory_.path(), demo_on(people(), {"--devices", "5", "--rounds", "12", "--fraction", "1"}));
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  const Bytes told = *os::read_file(run() + "/job.json", 1 << 20);
  const nlohmann::json job = nlohmann::json::parse(told.begin(), told.end(), nullptr, false);
  EXPECT_EQ(job.value("/rounds/count"_json_pointer, 0), 12) << job;
  const nlohmann::json summary = nlohmann::json::parse(demo.output(), nullptr, false);
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(summary["model"], "mlp");
  EXPECT_EQ(summary["devices"], 5);
  EXPECT_EQ(summary["training_examples"], 240);
  const double majority = summary["accuracy_majority"], accuracy = summary["accuracy"];
  EXPECT_GT(majority, 0.5);
  EXPECT_LT(majority, 0.75);
  EXPECT_GT(accuracy, majority + 0.12) << summary;
}

TEST_F(DemoOwnData, TrainsOnShardsThatWereMadeOfIt) {
  DemoProcess make(directory_.path(), {"data", "make", "csv:" + directory_ / "people.csv?target=risk", "--split",
                                       "group:hospital", "-o", directory_ / "shards", "--quiet"});
  ASSERT_EQ(make.wait(), 0) << make.errors();
  const std::string shards = directory_ / "shards";
  expect_refused(demo_on(shards, {"--split", "iid"}), "is shared out already (group:hospital)");
  expect_refused(demo_on(shards, {"--devices", "4"}), "has shards of 5 devices, not of 4");
  expect_refused(demo_on(shards, {"--model", "cnn"}),
                 "cnn takes images, height x width x channels, and an example is 5");
  const nlohmann::json summary =
      summary_of(demo_on(shards, {"--model", "logistic", "--rounds", "12", "--fraction", "1"}));
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(summary["devices"], 5);
  EXPECT_EQ(summary["split"], "group:hospital");
  EXPECT_GT(summary["accuracy"].get<double>(), summary["accuracy_majority"].get<double>() + 0.12) << summary;
  // A shard that is another's is found before a process starts.
  ASSERT_TRUE(test::is_ok(os::rename_file(shards + "/device-02.cotf", shards + "/device-01.cotf")));
  DemoProcess broken(directory_.path(), {"demo", "--data", shards, "--out", directory_ / "second", "--quiet"});
  EXPECT_NE(broken.wait(), 0);
  EXPECT_THAT(broken.errors(), HasSubstr("device-0"));
}

TEST_F(DemoOwnData, TrainsAModelOfTheUsersOwn) {
  ModelBuilder build("mine", {5}, 3);  // age, weight, whether weight is missing, smokes: no or yes
  const Result<Bytes> model = build.finish(build.dense(build.relu(build.dense(build.input(), 9)), 2));
  ASSERT_TRUE(test::is_ok(model));
  const std::string file = directory_ / "mine.cotf";
  ASSERT_TRUE(test::is_ok(os::write_file_atomically(file, *model)));
  const nlohmann::json summary =
      summary_of(demo_on(people(), {"--model", file, "--devices", "4", "--rounds", "2", "--fraction", "1"}));
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(summary["model"], file);
  std::filesystem::remove_all(run());
  ModelBuilder other("other", {7}, 3);
  const Result<Bytes> wrong = other.finish(other.dense(other.input(), 2));
  ASSERT_TRUE(test::is_ok(os::write_file_atomically(file, *wrong)));
  expect_refused(demo_on(people(), {"--model", file}), "takes 1 input of 7, and an example of people is 5");
  ModelBuilder third("third", {5}, 3);
  const Result<Bytes> wide = third.finish(third.dense(third.input(), 3));
  ASSERT_TRUE(test::is_ok(os::write_file_atomically(file, *wide)));
  expect_refused(demo_on(people(), {"--model", file}), "gives 3 numbers, and people has 2 classes");
}

// A price of hundreds of thousands, as it stands in the file, would make sgd diverge at once.
TEST_F(DemoOwnData, LearnsATargetThatIsANumber) {
  Prng prng(3);
  std::string text = "rooms,area,new,price\n";
  for (int i = 0; i < 400; ++i) {
    const double rooms = 1 + 6 * prng.uniform(), area = 30 + 120 * prng.uniform();
    const bool is_new = prng.chance(0.4);
    const double price = 50'000 + 20'000 * rooms + 2'500 * area + (is_new ? 60'000 : 0) + 8'000 * prng.normal();
    text += std::to_string(rooms) + "," + std::to_string(area) + "," + (is_new ? "yes" : "no") + "," +
            std::to_string(price) + "\n";
  }
  ASSERT_TRUE(test::is_ok(os::write_file_atomically(directory_ / "houses.csv", as_bytes(text))));
  const std::string houses = "csv:" + directory_ / "houses.csv?target=price";
  for (const char* security : {"none", "active"}) {
    SCOPED_TRACE(security);
    const nlohmann::json summary =
        summary_of(demo_on(houses, {"--devices", "4", "--rounds", "9", "--fraction", "1", "--security", security}));
    ASSERT_TRUE(summary.is_object());
    EXPECT_GT(summary["r2"], 0.9);
    EXPECT_LT(summary["r2_before"], 0.5);
    EXPECT_GT(summary["mae"], 1'000) << "in the price's unit: the noise alone is more";
    EXPECT_LT(summary["mae"], summary["mae_mean"].get<double>() / 3);
    EXPECT_EQ(summary["objective"], "mean_squared_error");
    EXPECT_EQ(summary["split"], "iid") << "there are no classes to share out by";
    EXPECT_FALSE(summary.contains("accuracy"));
    const Bytes csv = *os::read_file(run() + "/metrics.csv", 1 << 20);
    EXPECT_TRUE(
        as_text(csv).starts_with("round,attempts,selected,accepted,examples,train_loss,evaluation_loss,"
                                 "evaluation_mae,evaluation_r2,seconds,train_seconds\n"));
    const Bytes chart = *os::read_file(run() + "/chart.svg", 1 << 20);
    EXPECT_THAT(std::string(as_text(chart)), HasSubstr("R2 on held-out examples"));
    EXPECT_THAT(std::string(as_text(chart)), HasSubstr("Loss (mean squared error)"));
    std::filesystem::remove_all(run());
  }
}

// R2 is what says how good such models are, wherever they are compared.
TEST_F(DemoOwnData, SweepsAndComparesTargetsThatAreNumbersByR2) {
  const std::string ages = "csv:" + directory_ / "people.csv?target=age&drop=hospital";
  const std::string job = directory_ / "job.json", sweep = directory_ / "sweep";
  DemoProcess demo(directory_.path(), demo_on(ages, {"--devices", "3", "--rounds", "2", "--fraction", "1", "--security",
                                                     "none", "--print-job"}));
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  ASSERT_TRUE(test::is_ok(os::write_file_atomically(job, as_bytes(demo.output()))));
  DemoProcess simulated(directory_.path(),
                        {"simulate", job, "--devices", "3", "--data", ages, "--out", directory_ / "one"});
  ASSERT_EQ(simulated.wait(), 0) << simulated.errors();
  EXPECT_THAT(simulated.output(), HasSubstr("Held-out R2 "));
  const Bytes file = *os::read_file(directory_ / "one/summary.json", 1 << 20);
  const auto summary = nlohmann::json::parse(file.begin(), file.end());
  EXPECT_TRUE(summary["r2"].is_number()) << summary;
  EXPECT_FALSE(summary.contains("accuracy"));
  DemoProcess swept(directory_.path(), {"sweep", job, "--devices", "3", "--data", ages, "--out", sweep, "--set",
                                        "training.local_epochs=1,3"});
  ASSERT_EQ(swept.wait(), 0) << swept.errors();
  EXPECT_THAT(swept.output(), HasSubstr("R2"));
  EXPECT_THAT(swept.output(), ::testing::Not(HasSubstr("accuracy")));
  DemoProcess compared(directory_.path(), {"compare", sweep, "--json"});
  ASSERT_EQ(compared.wait(), 0) << compared.errors();
  const auto variants = nlohmann::json::parse(compared.output())["variants"];
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[0]["r2"]["runs"], 5) << "a sweep has five seeds unless said";
}

TEST_F(DemoOwnData, SaysThatALossDoesNotGoWithItsTargets) {
  expect_refused(demo_on("csv:" + directory_ / "people.csv?target=age&drop=hospital", {"--loss", "cosine_embedding"}),
                 "the training's target must be labels with cosine_embedding");
}

TEST_F(DemoOwnData, SaysThatTrainingIsWorseThanAGuess) {
  DemoProcess demo(directory_.path(),
                   {"demo", "--data", "csv:" + directory_ / "people.csv?target=age&drop=hospital", "--devices", "3",
                    "--rounds", "3", "--fraction", "1", "--server-lr", "30", "--loss", "huber", "--out", run()});
  EXPECT_EQ(demo.wait(), 0) << demo.errors();
  EXPECT_THAT(demo.output(), HasSubstr("worse than a guess after round"));
}

}  // namespace
}  // namespace coterie::integration
