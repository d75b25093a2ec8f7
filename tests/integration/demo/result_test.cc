// A demo that goes well: what it says, what it writes, and that both agree.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/os/file.h"
#include "secure/crypto/digest.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/unit/tools/idx_files.h"
#include "tools/model/evaluate.h"

namespace coterie::integration {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DemoResults : public DemoTest {
 protected:
  Bytes file(const std::string& name) const {
    const auto bytes = os::read_file(name, 1 << 24);
    EXPECT_TRUE(test::is_ok(bytes));
    return bytes ? *bytes : Bytes();
  }
  // metrics.csv without its first line.
  std::vector<std::vector<std::string>> metrics(const std::string& path) const {
    std::istringstream lines{std::string(as_text(file(path)))};
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      rows.emplace_back();
      for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
    }
    rows.erase(rows.begin());
    return rows;
  }
};

json last_line(const std::string& output) {
  EXPECT_TRUE(output.ends_with("}\n")) << output;
  const size_t begin = output.rfind('\n', output.size() - 2);
  return json::parse(output.substr(begin == std::string::npos ? 0 : begin + 1), nullptr, false);
}

std::string text_of(const json& object, const char* key) { return object.at(key).get<std::string>(); }

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(DemoResults, AgreeInJsonCsvAndModel) {
  DemoProcess demo(directory_.path(), small());
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  const json summary = last_line(demo.output());
  for (const char* key : {"rounds", "devices", "updates_accepted", "updates_selected", "accuracy", "loss", "seconds",
                          "model_path", "run_dir"}) {
    ASSERT_TRUE(summary.contains(key)) << key;
  }
  EXPECT_EQ(summary["rounds"], 3);
  EXPECT_EQ(summary["devices"], 3);
  EXPECT_EQ(text_of(summary, "run_dir"), run());
  EXPECT_EQ(json::parse(as_text(file(run() + "/summary.json"))), summary);

  const auto rows = metrics(text_of(summary, "metrics_path"));
  ASSERT_EQ(rows.size(), 3u);
  uint64_t accepted = 0, selected = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][0], std::to_string(i + 1));
    selected += std::stoull(rows[i][2]);
    accepted += std::stoull(rows[i][3]);
  }
  EXPECT_EQ(summary["updates_accepted"].get<uint64_t>(), accepted);
  EXPECT_EQ(summary["updates_selected"].get<uint64_t>(), selected);
  EXPECT_NEAR(std::stod(rows[2][7]), summary["loss"].get<double>(), 1e-6);
  EXPECT_NEAR(std::stod(rows[2][8]), summary["accuracy"].get<double>(), 1e-6);

  const Bytes model = file(text_of(summary, "model_path"));
  EXPECT_EQ(content_digest(model).hex(), text_of(summary, "model_digest"));
  const auto judged = evaluate(model, file(text_of(summary, "held_out_path")));
  ASSERT_TRUE(test::is_ok(judged));
  EXPECT_EQ(judged->accuracy, summary["accuracy"].get<double>());
  EXPECT_GT(judged->accuracy, summary["accuracy_before"].get<double>());
}

TEST_F(DemoResults, AreSevenFilesAndNoProcess) {
  DemoProcess demo(directory_.path(), small());
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  EXPECT_THAT(names_in(run()), ElementsAre("chart.html", "chart.svg", "held-out.cotf", "job.json", "metrics.csv",
                                           "model.cotf", "summary.json"));
  EXPECT_THAT(processes_with(directory_.path()), IsEmpty());
}

TEST_F(DemoResults, AreToldOneLineARound) {
  DemoProcess demo(directory_.path(), small());
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  EXPECT_EQ(count_of(demo.output(), "\n"), 1u);
  EXPECT_EQ(count_of(demo.errors(), "\nround "), 3u);
  EXPECT_THAT(demo.errors(), HasSubstr("\nround 2/3  2/2 devices  loss "));
  EXPECT_THAT(demo.errors(), Not(HasSubstr("\x1b")));  // no terminal, no colours
  EXPECT_THAT(demo.errors(), HasSubstr("Held-out accuracy "));
}

TEST_F(DemoResults, AreOnStandardOutputForAPersonWithACommandThatWorks) {
  auto words = small();
  std::erase(words, "--json");
  DemoProcess demo(directory_.path(), words);
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  EXPECT_EQ(demo.errors(), "");
  const std::string output = demo.output(), program = test::bin_dir() + "/coterie ";
  const size_t begin = output.find("  " + program + "model evaluate ");
  ASSERT_NE(begin, output.npos) << output;
  const std::string command =
      output.substr(begin + 2 + program.size(), output.find('\n', begin) - begin - 2 - program.size());
  std::istringstream parts(command);
  std::vector<std::string> arguments;
  for (std::string part; parts >> part;) arguments.push_back(part);
  DemoProcess next(directory_.path(), arguments);
  EXPECT_EQ(next.wait(), 0) << next.errors();
  const std::string told = output.substr(output.find("Held-out accuracy ") + 18);
  EXPECT_THAT(next.output(), HasSubstr("accuracy " + told.substr(0, told.find('%')) + "%"));
}

// The cohort, too: each round draws two of five devices.
TEST_F(DemoResults, AreTheSameForTheSameSeed) {
  std::vector<json> summaries;
  for (const char* name : {"one", "two", "three", "none", "other"}) {
    const std::string which = name;
    DemoProcess demo(directory_.path(),
                     small({"--devices", "5", "--fraction", "0.4", "--security", which == "none" ? "none" : "active",
                            "--seed", which == "other" ? "6" : "5", "--out", directory_ / name}));
    ASSERT_EQ(demo.wait(), 0) << demo.errors();
    summaries.push_back(last_line(demo.output()));
  }
  for (const char* key : {"rounds", "updates_accepted", "updates_selected", "accuracy_before", "training_examples"}) {
    EXPECT_EQ(summaries[0][key], summaries[1][key]) << key;
  }
  EXPECT_EQ(file(directory_ / "one/held-out.cotf"), file(directory_ / "two/held-out.cotf"));
  for (const size_t run : {1u, 2u, 3u}) {
    EXPECT_EQ(summaries[run]["model_digest"], summaries[0]["model_digest"]) << "run " << run;
  }
  EXPECT_NE(summaries[4]["model_digest"], summaries[0]["model_digest"]) << "another seed";
}

TEST_F(DemoResults, SayTheLevelAloudAndWhatItNeeds) {
  DemoProcess demo(directory_.path(),
                   {"demo", "--devices", "2", "--fraction", "1", "--rounds", "1", "--model", "mlp", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  EXPECT_THAT(demo.output(), HasSubstr("Security active: "));
  DemoProcess alone(directory_.path(), {"demo", "--devices", "2", "--model", "mlp", "--out", directory_ / "alone"});
  EXPECT_EQ(alone.wait(), 2);
  EXPECT_THAT(alone.errors(), HasSubstr("or say --security none"));
  DemoProcess noisy(directory_.path(), {"demo", "--clip", "1", "--target-epsilon", "8", "--out", directory_ / "noisy"});
  EXPECT_EQ(noisy.wait(), 2);
  EXPECT_THAT(noisy.errors(), HasSubstr("Say --security active_dp"));
}

TEST_F(DemoResults, DoNotCollideWhenTwoRunAtOnce) {
  auto words = small();
  words.erase(words.end() - 2, words.end());  // no --out: both choose
  DemoProcess one(directory_.path(), words), two(directory_.path(), words);
  ASSERT_EQ(one.wait(), 0) << one.errors();
  ASSERT_EQ(two.wait(), 0) << two.errors();
  const json first = last_line(one.output()), second = last_line(two.output());
  EXPECT_NE(text_of(first, "run_dir"), text_of(second, "run_dir"));
  for (const json& summary : {first, second}) {
    EXPECT_EQ(content_digest(file(directory_ / text_of(summary, "model_path"))).hex(),
              text_of(summary, "model_digest"));
  }
}

TEST_F(DemoResults, ComeFromMnistAndCifar10FilesToo) {
  Bytes labels, cifar10;
  for (uint8_t i = 0; i < 60; ++i) {
    labels.push_back(i % 10);
    cifar10.push_back(i % 10);
    cifar10.insert(cifar10.end(), 3072, static_cast<uint8_t>(i * 4));
  }
  ASSERT_TRUE(test::is_ok(os::write_file_atomically(directory_ / "t10k-images-idx3-ubyte", test::idx_images(60))));
  ASSERT_TRUE(test::is_ok(os::write_file_atomically(directory_ / "t10k-labels-idx1-ubyte", test::idx_labels(labels))));
  ASSERT_TRUE(test::is_ok(os::write_file_atomically(directory_ / "data_batch_1.bin", cifar10)));
  for (const char* name : {"mnist", "cifar10"}) {
    DemoProcess demo(directory_.path(),
                     small({"--data", name + (":" + directory_.path()), "--out", directory_ / name}));
    ASSERT_EQ(demo.wait(), 0) << demo.errors();
    const json summary = last_line(demo.output());
    EXPECT_EQ(summary["held_out_examples"], 10);  // a fifth of six of each class
    EXPECT_EQ(summary["training_examples"], 50);
  }
}

}  // namespace
}  // namespace coterie::integration
