// A job that counts, simulated: the table of real processes, and frequent strings of a text column without a server.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "base/random.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

class SimulatedCounts : public DemoTest {
 protected:
  // 1,000 rows: a number, a word, one of five in nine rows of ten, and a class. A fifth of them is held out.
  SimulatedCounts() {
    const Words frequent = {"ant", "an", "bee", "h\xc3\xb6ne", "antelope"};
    Prng prng(3);
    std::string text = "age,word,kind\n";
    for (int i = 0; i < 1'000; ++i) {
      const std::string word = i % 10 == 9 ? "r" + std::to_string(i) : frequent[prng.below(frequent.size())];
      text += std::to_string(20 + prng.below(60)) + "," + word + "," + (prng.chance(0.5) ? "u" : "v") + "\n";
    }
    write("words.csv", text);
  }
  void write(const std::string& name, const std::string& text) const {
    EXPECT_OK(os::write_file_atomically(directory_ / name, as_bytes(text)));
  }
  std::string data() const { return "csv:" + directory_ / "words.csv?target=kind&text=word&length=6"; }
  // The first input is the age, and the word begins behind it.
  nlohmann::json words_job() const {
    return {{"name", "words"},
            {"analytics",
             {{"kind", "heavy_hitters"},
              {"column", "word"},
              {"source", "feature"},
              {"input_values", 7},
              {"feature", 1},
              {"length_max", 6},
              {"values_max", 20},
              {"threshold", 25}}},
            {"rounds", {{"goal_count", 40}, {"goal_count_min", 40}, {"separation_min", 1}}},
            {"privacy", {{"level", "none"}}}};
  }
  Words simulate(const std::string& job, const std::string& devices = "40", const Words& more = {}) const {
    Words words = {"simulate", directory_ / job, "--data", data(),   "--devices", devices, "--split",
                   "iid",      "--seed",         "5",      "--json", "--quiet",   "--out", directory_ / "simulated"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void expect_refused(const nlohmann::json& job, const std::string& why, const Words& more = {}) const {
    write("job.json", job.dump());
    DemoProcess process(directory_.path(), simulate("job.json", "40", more));
    EXPECT_EQ(process.wait(), 2) << process.errors();
    EXPECT_THAT(process.errors(), HasSubstr(why));
    EXPECT_FALSE(os::exists(directory_ / "simulated"));
  }
};

TEST_F(SimulatedCounts, FindFrequentStringsWithoutAServer) {
  write("job.json", words_job().dump());
  DemoProcess process(directory_.path(), simulate("job.json"));
  ASSERT_EQ(process.wait(), 0) << process.errors();
  const nlohmann::json answer = nlohmann::json::parse(process.output());
  std::map<std::string, double> found;
  for (const auto& one : answer["strings"]) found[one["text"]] = one["count"];
  // "antelope" has room for six bytes; words of a device or two are not told.
  ASSERT_EQ(found.size(), 5u) << answer;
  for (const char* word : {"ant", "an", "bee", "h\xc3\xb6ne", "antelo"}) EXPECT_NEAR(found[word], 144, 44) << word;
  EXPECT_EQ(answer["left_out"], 0);
  EXPECT_EQ(answer["state"], "completed");
  EXPECT_EQ(answer["updates"], 40 * answer["rounds"].get<int>());
  for (const char* name : {"/result.json", "/chart.svg"}) EXPECT_TRUE(os::exists(directory_ / "simulated" + name));
}

TEST_F(SimulatedCounts, AreTheTableOfRealProcesses) {
  DemoProcess real(directory_.path(), {"demo", "--json", "--quiet", "--data", data(), "--devices", "4", "--seed", "5",
                                       "--split", "iid", "--out", directory_ / "real", "--security", "none",
                                       "--analytics", "histogram:age,bins=6,values=20"});
  ASSERT_EQ(real.wait(), 0) << real.errors();
  DemoProcess process(directory_.path(), simulate("real/job.json", "4"));
  ASSERT_EQ(process.wait(), 0) << process.errors();
  const nlohmann::json one = nlohmann::json::parse(real.output()), other = nlohmann::json::parse(process.output());
  EXPECT_EQ(other["bins"], one["bins"]) << "also where a device draws 20 of its examples";
  EXPECT_EQ(other["quantiles"], one["quantiles"]);
}

// Rounds that ask what those before leave open, by a real server and in a simulation of the demo's own job.
TEST_F(SimulatedCounts, OfSeveralRoundsAreThoseOfRealProcesses) {
  const std::pair<const char*, const char*> demos[] = {
      {"heavy_hitters:word,threshold=3", "every string that 3 devices or more have is told, with its count"},
      {"histogram:age,refine=3,bins=15", "every count is that of all examples together"}};
  for (const auto& [counted, verdict] : demos) {
    const std::string folder = directory_ / counted;
    DemoProcess real(directory_.path(), {"demo", "--json", "--quiet", "--data", data(), "--devices", "4", "--seed", "5",
                                         "--split", "iid", "--out", folder, "--analytics", counted});
    ASSERT_EQ(real.wait(), 0) << real.errors();
    EXPECT_THAT(real.errors(), HasSubstr(verdict));
    DemoProcess process(directory_.path(),
                        {"simulate", folder + "/job.json", "--data", data(), "--devices", "4", "--split", "iid",
                         "--seed", "5", "--json", "--quiet", "--out", folder + "-simulated"});
    ASSERT_EQ(process.wait(), 0) << process.errors();
    const nlohmann::json one = nlohmann::json::parse(real.output()), other = nlohmann::json::parse(process.output());
    for (const char* key : {"rounds", "updates", "bins", "quantiles", "strings", "prefixes", "threshold", "left_out"}) {
      EXPECT_EQ(other.value(key, nlohmann::json()), one.value(key, nlohmann::json())) << counted << " " << key;
    }
    EXPECT_GE(one["rounds"], 3) << counted;
  }
}

// A model that was not trained reads every column: each permutation shows in the numbers.
TEST_F(SimulatedCounts, OfColumnsThatArePermutedAreThoseOfRealProcesses) {
  const std::string model = directory_ / "net.cotf", folder = directory_ / "real";
  DemoProcess made(directory_.path(),
                   {"model", "new", "mlp", "--input", "7", "--classes", "2", "--seed", "3", "-o", model});
  ASSERT_EQ(made.wait(), 0) << made.errors();
  const Words on = {"--data", data(), "--devices", "4",   "--split", "iid",
                    "--seed", "5",    "--model",   model, "--json",  "--quiet"};
  const auto with = [&](Words words, const Words& more) {
    words.insert(words.end(), on.begin(), on.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Words asked = {"--analytics", "importance,repeats=2,values=60"};
  DemoProcess real(directory_.path(), with({"demo", "--out", folder}, asked));
  ASSERT_EQ(real.wait(), 0) << real.errors();
  EXPECT_THAT(real.errors(), HasSubstr("PERMUTED  LOSS RISES BY"));
  DemoProcess printed(directory_.path(), with({"demo", "--print-job"}, asked));
  ASSERT_EQ(printed.wait(), 0) << printed.errors();
  DemoProcess process(directory_.path(), with({"simulate", "-", "--out", directory_ / "virtual"}, {}),
                      {.input = printed.output_path()});
  ASSERT_EQ(process.wait(), 0) << process.errors();
  const nlohmann::json one = nlohmann::json::parse(real.output()), other = nlohmann::json::parse(process.output());
  EXPECT_EQ(other["models"], one["models"]);
  const nlohmann::json& columns = one["models"][0]["importance"]["columns"];
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[1]["name"], "word");
  EXPECT_EQ(columns[1]["width"], 6);
  EXPECT_NE(columns[0]["loss_rise"]["value"], 0);
  for (const char* name : {"/result.json", "/chart.svg", "/importance.csv"}) {
    EXPECT_TRUE(os::exists(folder + name)) << name;
    EXPECT_TRUE(os::exists(directory_ / "virtual" + name)) << name;
  }
  // Another model than the job's, and columns that are none of the data's.
  nlohmann::json job = nlohmann::json::parse(printed.output());
  job["analytics"]["model"] = std::string(64, 'a');
  expect_refused(job, "/analytics/model is aaaa", {"--model", model});
  expect_refused(job, "give the file of the model that devices run, --model FILE");
  job["analytics"].erase("model");
  job["analytics"]["importance"]["columns"][1]["width"] = 5;
  expect_refused(job, "column word of words has 6 numbers from 1 on; /analytics/importance/columns/1 says 5 from 1 on",
                 {"--model", model});
}

// Masked by real processes, and quantised by, without any example.
TEST_F(SimulatedCounts, OfActivationsAreThoseOfRealProcessesAndLayGrids) {
  const std::string model = directory_ / "net.cotf", folder = directory_ / "real";
  DemoProcess made(directory_.path(),
                   {"model", "new", "mlp", "--input", "7", "--classes", "2", "--seed", "3", "-o", model});
  ASSERT_EQ(made.wait(), 0) << made.errors();
  DemoProcess real(directory_.path(),
                   {"demo", "--json", "--quiet", "--data", data(), "--devices", "4", "--seed", "5", "--split", "iid",
                    "--model", model, "--out", folder, "--analytics", "activation_ranges,values=30"});
  ASSERT_EQ(real.wait(), 0) << real.errors();
  EXPECT_THAT(real.errors(), HasSubstr("ranges of the activations of model"));
  DemoProcess process(directory_.path(), simulate("real/job.json", "4", {"--model", model}));
  ASSERT_EQ(process.wait(), 0) << process.errors();
  const nlohmann::json one = nlohmann::json::parse(real.output()), other = nlohmann::json::parse(process.output());
  ASSERT_GE(one["tensors"].size(), 3u);
  for (const char* key : {"schema", "model", "tensors", "updates", "steps", "noise_deviation"}) {
    EXPECT_EQ(other[key], one[key]) << key;
  }
  const auto quantise = [&](const std::string& from) {
    return Words{
        "model", "quantise", from, "-o", directory_ / "int8.cotf", "--full", "--ranges", folder + "/result.json"};
  };
  DemoProcess quantised(directory_.path(), quantise(model));
  ASSERT_EQ(quantised.wait(), 0) << quantised.errors();
  EXPECT_THAT(quantised.output(), HasSubstr("nothing was measured"));
  EXPECT_TRUE(os::exists(directory_ / "int8.cotf"));
  DemoProcess remade(directory_.path(),
                     {"model", "new", "mlp", "--input", "7", "--classes", "2", "--seed", "4", "-o", model});
  ASSERT_EQ(remade.wait(), 0) << remade.errors();
  DemoProcess refused(directory_.path(), quantise(model));
  EXPECT_EQ(refused.wait(), 2);
  EXPECT_THAT(refused.errors(), HasSubstr("its ranges are of model"));
}

TEST_F(SimulatedCounts, RefuseWhatTheyCannotCount) {
  nlohmann::json job = words_job();
  job["analytics"]["feature"] = 0;
  expect_refused(job, "column word of words has 6 numbers from 1 on; /analytics/feature is 0, of 6 numbers");
  job = words_job();
  job["analytics"]["input_values"] = 9;
  expect_refused(job, "/analytics/input_values is 9, an example of words has 7 numbers");
  expect_refused(words_job(), "--attack does not go with /analytics", {"--attack", "sign_flip:0.2"});
}

TEST_F(SimulatedCounts, SayWhenTooFewDevicesMayBeAsked) {
  nlohmann::json job = words_job();
  job["rounds"]["separation_min"] = 2;
  write("job.json", job.dump());
  DemoProcess process(directory_.path(), simulate("job.json"));
  EXPECT_NE(process.wait(), 0);
  EXPECT_THAT(process.errors(), HasSubstr("of 40 devices 0 may be asked, as /rounds/separation_min is 2"));
}

}  // namespace
}  // namespace coterie::integration
