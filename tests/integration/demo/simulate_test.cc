// A simulated job has the model of real processes, bit for bit, with any number of threads. By day not each pair of
// what a job may have and its level of security is run; at night (COT_NIGHTLY) all are.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

using Words = std::vector<std::string>;

#ifdef COT_NIGHTLY
const Words kLevels = {"none", "masked", "active"}, kLevelsOfFirst = kLevels, kLevelsOfMasked = kLevels;
#else
const Words kLevels = {"none", "active"}, kLevelsOfFirst = {"none"};  // of all kinds of a test but its last
const Words kLevelsOfMasked = {"none", "masked"};                     // of the last kind of one test
#endif

class Simulate : public DemoTest {
 protected:
  std::string rounds_ = "2";  // of a demo
  // Runs a demo, and keeps its job. What the demo says of itself.
  nlohmann::json demo(const std::vector<std::string>& more = {}, const std::string& out = "run") {
    std::vector<std::string> words = {"demo",     "--json",  "--quiet",    "--devices", "4",
                                      "--rounds", rounds_,   "--fraction", "1",         "--seed",
                                      "5",        "--model", "mlp",        "--out",     directory_ / out};
    words.insert(words.end(), more.begin(), more.end());
    DemoProcess process(directory_.path(), words);
    EXPECT_EQ(process.wait(), 0) << process.errors();
    const Result<Bytes> own = os::read_file(directory_ / out + "/job.json", 1 << 20);
    EXPECT_OK(own);
    if (!own) return {};
    EXPECT_OK(os::write_file_atomically(job(), *own));
    return nlohmann::json::parse(process.output());
  }
  nlohmann::json simulate(const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"simulate", job(),     "--json", "--quiet", "--seed",
                                      "5",        "--model", "mlp",    "--out",   directory_ / out};
    words.insert(words.end(), more.begin(), more.end());
    DemoProcess process(directory_.path(), words);
    EXPECT_EQ(process.wait(), 0) << process.errors();
    return nlohmann::json::parse(process.output());
  }
  std::string job() const { return directory_ / "job.json"; }

  // The models of a demo with these options at these levels, and of simulations of their jobs, both with these options
  // of the data; what an update has without secure aggregation.
  std::set<std::string> models_at(const Words& levels, const std::string& kind, const Words& words,
                                  double& update_bytes, const Words& data = {}) {
    std::set<std::string> models;
    Words simulated = {"--devices", "4"};
    simulated.insert(simulated.end(), data.begin(), data.end());
    for (const std::string& level : levels) {
      Words all = words;
      all.insert(all.end(), data.begin(), data.end());
      all.insert(all.end(), {"--security", level});
      const std::string name = kind + "-" + level;
      const nlohmann::json real = demo(all, "run-" + name);
      EXPECT_TRUE(real.contains("model_digest")) << name;
      models.insert(real.value("model_digest", name));
      models.insert(simulate("as-" + name, simulated)["model_digest"]);
      if (level == "none") update_bytes = real.value("update_bytes", 0.0);
    }
    return models;
  }
};

TEST_F(Simulate, HasTheModelOfRealProcessesWithAnyThreads) {
  const nlohmann::json real = demo();
  ASSERT_TRUE(real.contains("model_digest"));
  const nlohmann::json one = simulate("one", {"--devices", "4", "--threads", "1"});
  const nlohmann::json two = simulate("two", {"--devices", "4", "--threads", "2"});
  EXPECT_EQ(one["model_digest"], real["model_digest"]);
  EXPECT_EQ(two["model_digest"], real["model_digest"]);
  EXPECT_EQ(one["counted"], 8);
  EXPECT_EQ(one["accuracy"], real["accuracy"]);
  EXPECT_TRUE(os::exists(directory_ / "one/chart.svg"));
  EXPECT_TRUE(os::exists(directory_ / "one/metrics.csv"));
}

TEST_F(Simulate, TellsProgramsOfEachRoundAndTensorBoardToo) {
  demo();
  Result<Bytes> text = os::read_file(job(), 1 << 20);
  ASSERT_OK(text);
  nlohmann::json open = nlohmann::json::parse(text->begin(), text->end());
  const nlohmann::json named = simulate("named", {"--devices", "4"});
  open.erase("model");
  open.erase("evaluation");
  ASSERT_OK(os::write_file_atomically(job(), as_bytes(open.dump())));
  DemoProcess process(directory_.path(),
                      {"simulate", job(), "--json", "--events", "--quiet", "--seed", "5", "--model", "mlp", "--devices",
                       "4", "--log-dir", directory_ / "logs", "--out", directory_ / "open"});
  ASSERT_EQ(process.wait(), 0) << process.errors();
  std::vector<nlohmann::json> lines;
  const std::string said = process.output();
  for (size_t begin = 0; begin < said.size(); begin = said.find('\n', begin) + 1) {
    lines.push_back(nlohmann::json::parse(said.substr(begin, said.find('\n', begin) - begin)));
  }
  ASSERT_EQ(lines.size(), 3u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(lines[i]["event"], "round_done");
    EXPECT_EQ(lines[i]["round"], i + 1);
    EXPECT_EQ(lines[i]["accepted"], 4);
  }
  EXPECT_EQ(lines[1]["evaluation_accuracy"], lines[2]["accuracy"]);
  EXPECT_EQ(lines[2]["model_digest"], named["model_digest"]) << "what the job leaves open is what its digests name";
  const std::vector<std::string> logs = names_in(directory_ / "logs");
  ASSERT_EQ(logs.size(), 1u);
  const Result<Bytes> events = os::read_file(directory_ / "logs/" + logs[0], 1 << 20);
  ASSERT_OK(events);
  EXPECT_THAT(std::string(as_text(*events)), ::testing::HasSubstr("evaluation/accuracy"));
}

TEST_F(Simulate, HasTheModelOfRealProcessesWithSchedulesOfTheRates) {
  const nlohmann::json constant = demo();
  const nlohmann::json real =
      demo({"--lr-schedule", "exponential:gamma=0.5", "--server-lr-schedule", "step:period=1,gamma=0.25"}, "real");
  EXPECT_NE(real["model_digest"], constant["model_digest"]);
  EXPECT_EQ(simulate("scheduled", {"--devices", "4"})["model_digest"], real["model_digest"]);
}

// All devices are drawn, by whatever rule; the rule is in the job, the board and the desk.
TEST_F(Simulate, HasTheModelOfRealProcessesThatWereDrawnByARule) {
  const nlohmann::json real = demo({"--security", "none", "--selection", "utility:exploration=0.5"}, "utility");
  ASSERT_TRUE(real.contains("model_digest"));
  const nlohmann::json simulated = simulate("as-utility", {"--devices", "4"});
  EXPECT_EQ(simulated["model_digest"], real["model_digest"]);
  EXPECT_EQ(simulated["selection"], "utility");
  const nlohmann::json few = simulate("few", {"--devices", "40", "--shards", "4", "--speed-spread", "1"});
  EXPECT_EQ(few["counted"], 8);
  EXPECT_EQ(simulate("again", {"--devices", "40", "--shards", "4", "--speed-spread", "1"})["model_digest"],
            few["model_digest"])
      << "it follows from the seed";
}

// Devices round at random, each by its own seed: the same at each level, and in one process.
TEST_F(Simulate, HasTheModelOfUpdatesOfFewBitsAtItsLevels) {
  std::vector<nlohmann::json> real;
  for (const std::string& level : kLevels) {
    real.push_back(demo({"--update-bits", "6", "--security", level}, level));
    ASSERT_TRUE(real.back().contains("model_digest"));
    EXPECT_EQ(real.back()["model_digest"], real[0]["model_digest"]) << level;
  }
  EXPECT_EQ(simulate("few", {"--devices", "4"})["model_digest"], real[0]["model_digest"]);
  const nlohmann::json as_they_are = demo({"--security", "none"});
  EXPECT_NE(as_they_are["model_digest"], real[0]["model_digest"]);
  EXPECT_NEAR(as_they_are["update_bytes"].get<double>() / real[0]["update_bytes"].get<double>(), 32.0 / 6, 0.01);
  EXPECT_NEAR(as_they_are["update_bytes"].get<double>() / real.back()["update_bytes"].get<double>(), 32.0 / 8, 0.1)
      << "a sum of four levels of 6 bits has 8";
}

// What each device makes of its own update, and keeps of it for the next, by its own seed.
TEST_F(Simulate, HasTheModelOfUpdatesThatDevicesMakeSmallThemselves) {
  const nlohmann::json whole = demo({"--security", "none"}, "whole");
  const std::vector<std::pair<std::string, double>> kinds = {
      // and how many times smaller updates are
      {"eden:bits=1", 32}, {"top_k:share=0.1", 8.6},
#ifdef COT_NIGHTLY
      {"eden:bits=4", 8},  {"top_k:share=0.01,bits=4", 254}, {"top_k:share=0.1,error_feedback=false", 8.6},
#endif
  };
  std::set<std::string> models = {whole["model_digest"]};
  for (const auto& [kind, times] : kinds) {
    const nlohmann::json real = demo({"--security", "none", "--compression", kind}, "real-" + kind);
    ASSERT_TRUE(real.contains("model_digest"));
    const nlohmann::json simulated = simulate("as-" + kind, {"--devices", "4"});
    EXPECT_EQ(simulated["model_digest"], real["model_digest"]) << kind;
    EXPECT_EQ(simulated["update_bytes"], real["update_bytes"]) << kind;
    EXPECT_NEAR(whole["update_bytes"].get<double>() / real["update_bytes"].get<double>(), times, 0.02 * times) << kind;
    EXPECT_TRUE(models.insert(real["model_digest"]).second) << kind << " changes what is learnt";
  }
}

// Real devices make each version of the one before: they train only on what has the digest that was signed, so that a
// job that ends has had all of them bit-equal to the server's.
TEST_F(Simulate, HasTheModelOfDevicesThatFetchDeltas) {
  const std::vector<std::string> rounds = {"--rounds", "4", "--security", "none"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), rounds.begin(), rounds.end());
    return more;
  };
  const nlohmann::json whole = demo(with({}), "whole");
  for (const std::string bits : {"8", "4"}) {
    const nlohmann::json real = demo(with({"--download-bits", bits}), "real-" + bits);
    ASSERT_TRUE(real.contains("model_digest"));
    EXPECT_NE(real["model_digest"], whole["model_digest"]) << "rounding changes what is trained";
    EXPECT_NEAR(real["accuracy"].get<double>(), whole["accuracy"].get<double>(), bits == "8" ? 0.02 : 0.05);
    EXPECT_EQ(simulate("as-" + bits, {"--devices", "4"})["model_digest"], real["model_digest"]);
  }
}

// What devices keep is in the second round's updates, and no level changes a bit of it.
TEST_F(Simulate, HasTheModelOfDevicesThatKeepStateAtItsLevels) {
  const nlohmann::json plain = demo({"--security", "none"}, "plain");
  for (const std::string strategy : {"feddyn", "scaffold"}) {
    std::set<std::string> models;
    for (const std::string& level : strategy == "scaffold" ? kLevels : kLevelsOfFirst) {
      const std::string name = strategy + "-" + level;
      const nlohmann::json real = demo({"--strategy", strategy, "--security", level}, "run-" + name);
      ASSERT_TRUE(real.contains("model_digest"));
      models.insert(real["model_digest"]);
      models.insert(simulate("as-" + name, {"--devices", "4"})["model_digest"]);
      if (strategy == "scaffold" && level == "none") {
        EXPECT_EQ(real["update_bytes"], 2 * plain["update_bytes"].get<uint64_t>()) << "it has two parts";
      }
    }
    EXPECT_EQ(models.size(), 1u) << strategy;
    EXPECT_NE(plain["model_digest"], *models.begin()) << strategy;
  }
}

// What devices tell beside, and what they ask of the given model, is the same bits at every level.
TEST_F(Simulate, HasTheModelOfDevicesThatTellMoreAtItsLevels) {
  const Words data = {"--split", "dirichlet:0.1"};  // else FedExP finds nobody at odds, and is FedAvg
  const nlohmann::json plain = demo({"--security", "none", data[0], data[1]}, "plain");
  const std::vector<std::pair<std::string, Words>> kinds = {
      {"fedexp", {"--strategy", "fedexp"}},
      {"option1", {"--strategy", "scaffold", "--strategy-setting", "option=1", "--momentum", "0.5"}},
      {"mime", {"--strategy", "mime_lite"}},
      {"qffl", {"--strategy", "qffl", "--strategy-setting", "q=2", "--strategy-setting", "loss_max=4"}}};
  for (const auto& [kind, words] : kinds) {
    double update_bytes = 0;
    const bool has_scalars = kind == "fedexp" || kind == "qffl";
    const std::set<std::string> models =
        models_at(kind == kinds.back().first ? kLevels : kLevelsOfFirst, kind, words, update_bytes, data);
    EXPECT_EQ(models.size(), 1u) << kind;
    EXPECT_NE(plain["model_digest"], *models.begin()) << kind;
    const double whole = plain["update_bytes"].get<double>();
    EXPECT_EQ(update_bytes, has_scalars ? whole + 4 : 2 * whole) << kind;
  }
}

// What is left out of an update is left out at every level, and what stays is the same bits.
TEST_F(Simulate, HasTheModelOfWhatTrainsAloneAtItsLevels) {
  const nlohmann::json whole = demo({"--security", "none"}, "whole");
  const std::vector<std::pair<std::string, Words>> kinds = {
      {"last", {"--train-last", "1"}},
      {"scaffold", {"--freeze", "dense1.*", "--strategy", "scaffold"}},
      {"few", {"--train-only", "dense2.*", "--update-bits", "6"}}};
  for (const auto& [kind, words] : kinds) {
    double update_bytes = 0;
    const std::set<std::string> models =
        models_at(kind == kinds.back().first ? kLevels : kLevelsOfFirst, kind, words, update_bytes);
    EXPECT_EQ(models.size(), 1u) << kind;
    EXPECT_NE(whole["model_digest"], *models.begin()) << kind;
    EXPECT_LT(update_bytes, whole["update_bytes"].get<double>() / 2) << kind;
  }
}

// A device that stops by its own examples, and one that rounds what it holds or computes, do so alike at every level.
// bf16 saves nothing in this network: what it rounds is multiplied, on CPUs that do so, or nothing.
TEST_F(Simulate, HasTheModelOfDevicesThatStopEarlyAtItsLevels) {
  const nlohmann::json plain = demo({"--security", "none", "--local-epochs", "12", "--lr", "0.5"}, "plain");
  const std::vector<std::pair<std::string, Words>> kinds = {
      {"stopping", {"--validation-share", "0.3", "--patience", "1"}},
      {"rounding", {"--qat", "full", "--ignore-label", "3"}},
      {"all", {"--patience", "2", "--storage", "bf16", "--qat", "full:4", "--strategy", "scaffold"}}};
  for (const auto& [kind, words] : kinds) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--local-epochs", "12", "--lr", "0.5"});
    double update_bytes = 0;
    const std::set<std::string> models =
        models_at(kind == kinds.back().first ? kLevelsOfMasked : kLevelsOfFirst, kind, all, update_bytes);
    EXPECT_EQ(models.size(), 1u) << kind;
    EXPECT_NE(plain["model_digest"], *models.begin()) << kind;
  }
}

// Companions with what else lies in an update, is kept by devices, or moves B.
TEST_F(Simulate, HasTheModelOfCompanionsWithOtherStrategiesAtItsLevels) {
  double plain = 0, with_control = 0, few_bits = 0;
  const std::set<std::string> fedavg = models_at(kLevelsOfFirst, "fedavg", {"--lora", "rank=2:*.weight"}, plain);
  const std::set<std::string> scaffold =
      models_at(kLevelsOfFirst, "scaffold", {"--lora", "rank=2:*.weight", "--strategy", "scaffold"}, with_control);
  const std::set<std::string> fedadam = models_at(
      kLevels, "fedadam", {"--lora", "rank=2:*.weight", "--strategy", "fedadam", "--update-bits", "6"}, few_bits);
  for (const std::set<std::string>* models : {&fedavg, &scaffold, &fedadam}) EXPECT_EQ(models->size(), 1u);
  EXPECT_NE(*fedavg.begin(), *scaffold.begin());
  EXPECT_NE(*fedavg.begin(), *fedadam.begin());
  EXPECT_EQ(with_control, 2 * plain);
  EXPECT_LT(few_bits, plain / 4);
}

// What devices keep to themselves is in no update, at no level, and in the second round's training.
TEST_F(Simulate, HasTheModelOfDevicesThatKeepAPartToThemselvesAtItsLevels) {
  const nlohmann::json whole = demo({"--security", "none"}, "whole");
  const std::vector<std::pair<std::string, Words>> kinds = {
      {"head", {"--personal", "part:dense2.*"}},
      {"model", {"--personal", "model,lambda=0.5"}},
      {"first", {"--personal", "part,first_epochs=1:dense2.*", "--update-bits", "6"}}};
  for (const auto& [kind, words] : kinds) {
    double update_bytes = 0;
    const std::set<std::string> models =
        models_at(kind == kinds.back().first ? kLevels : kLevelsOfFirst, kind, words, update_bytes);
    EXPECT_EQ(models.size(), 1u) << kind;
    if (kind == "model") {
      EXPECT_EQ(whole["model_digest"], *models.begin()) << "the model that is shared knows nothing of the others";
      EXPECT_EQ(update_bytes, whole["update_bytes"].get<double>());
    } else {
      EXPECT_NE(whole["model_digest"], *models.begin()) << kind;
      EXPECT_LT(update_bytes, whole["update_bytes"].get<double>()) << kind;
    }
  }
}

// Which model a device has chosen is in no update's header, and the sums of masked slots are those of slots in the
// clear.
TEST_F(Simulate, HasTheModelOfDevicesThatChooseAClusterAtItsLevels) {
  const Words data = {"--split", "labels:turned"};
  const nlohmann::json one = demo({"--security", "none", data[0], data[1]}, "one");
  double update_bytes = 0, with_momentum = 0;
  const std::set<std::string> plain =
      models_at(kLevels, "clusters", {"--personal", "clusters,count=2"}, update_bytes, data);
  EXPECT_EQ(plain.size(), 1u);
  // A slot is filled up to a whole number of 64 bytes.
  const double slot = std::ceil(one["update_bytes"].get<double>() / 64) * 64;
  EXPECT_EQ(update_bytes, 2 * slot + 2 * sizeof(float));
  const std::set<std::string> moved = models_at(
      kLevelsOfFirst, "momentum", {"--personal", "clusters,count=3", "--strategy", "fedavgm"}, with_momentum, data);
  EXPECT_EQ(moved.size(), 1u);
  EXPECT_EQ(with_momentum, 3 * slot + 3 * sizeof(float));
}

// A group's weight lies in no update's header, and what a device tells of its group is in the sum. The weights of the
// second round are those that the first one made, also of a simulation that goes on.
TEST_F(Simulate, HasTheModelOfGroupsThatAreServedAlikeAtItsLevels) {
  rounds_ = "3";
  const Words data = {"--split", "labels:turned"};
  double update_bytes = 0;
  const nlohmann::json plain = demo({"--security", "none", data[0], data[1]}, "plain");
  const std::set<std::string> models = models_at(
      kLevels, "afl", {"--strategy", "afl", "--strategy-setting", "group_learning_rate=0.5"}, update_bytes, data);
  EXPECT_EQ(models.size(), 1u);
  EXPECT_NE(plain["model_digest"], *models.begin());
  EXPECT_EQ(update_bytes, plain["update_bytes"].get<double>() + 4 * sizeof(float));
  const Words whole = {"--devices", "4", data[0], data[1], "--checkpoint", directory_ / "kept"};
  Words rest = whole;
  rest.push_back("--resume");
  EXPECT_EQ(simulate("whole", whole)["model_digest"], *models.begin());
  EXPECT_EQ(simulate("resumed", rest)["model_digest"], *models.begin());
}

// What devices find is a part of the same exact sum at every level, and moves no model.
TEST_F(Simulate, HasTheHitsOfWatchedDevicesAtItsLevels) {
  const nlohmann::json plain = demo({"--security", "none", "--lr", "0.000001"}, "plain");
  std::set<std::string> models, found;
  for (const std::string& level : kLevels) {
    const nlohmann::json real =
        demo({"--lr", "0.000001", "--watch", "weight_change_too_small,dead_relu,every=2", "--security", level},
             "run-" + level);
    const nlohmann::json simulated = simulate("as-" + level, {"--devices", "4"});
    for (const nlohmann::json& run : {real, simulated}) {
      models.insert(run["model_digest"]);
      found.insert(run["watch"].dump());
    }
    if (level == "none") EXPECT_EQ(real["update_bytes"], plain["update_bytes"].get<double>() + 17 * sizeof(float));
  }
  EXPECT_EQ(models, std::set<std::string>{plain["model_digest"]});
  ASSERT_EQ(found.size(), 1u);
  const nlohmann::json watch = nlohmann::json::parse(*found.begin());
  EXPECT_GT(watch["looked"], 0);
  EXPECT_FALSE(watch["hits"].empty()) << "such a rate moves weights by less than 1e-4 of themselves";
}

// mu follows the loss on the held-out data, which is the same at every level, and in a simulation that goes on.
TEST_F(Simulate, HasTheModelOfAMuThatFollowsTheLossAtItsLevels) {
  rounds_ = "4";
  const Words prox = {"--proximal-mu", "0.5", "--lr", "0.3"};
  Words adaptive = prox;
  adaptive.insert(adaptive.end(), {"--adaptive-mu", "max=2,step=0.25,falls=1"});
  const nlohmann::json fixed = demo({"--security", "none", prox[0], prox[1], prox[2], prox[3]}, "fixed");
  double update_bytes = 0;
  const std::set<std::string> models = models_at(kLevelsOfMasked, "mu", adaptive, update_bytes);
  EXPECT_EQ(models.size(), 1u);
  EXPECT_NE(fixed["model_digest"], *models.begin()) << "it has moved";
  const Words whole = {"--devices", "4", "--checkpoint", directory_ / "kept"};
  Words rest = whole;
  rest.push_back("--resume");
  EXPECT_EQ(simulate("whole", whole)["model_digest"], *models.begin());
  EXPECT_EQ(simulate("resumed", rest)["model_digest"], *models.begin()) << "mu and the loss are in the checkpoint";
  const Result<Bytes> csv = os::read_file(directory_ / "whole/metrics.csv", 1 << 20);
  ASSERT_OK(csv);
  EXPECT_NE(as_text(*csv).find(",proximal_mu\n"), std::string_view::npos);
}

// A device is judged by what it has not trained on, and goes on where a checkpoint had it.
TEST_F(Simulate, JudgesDevicesByTheirOwnExamples) {
  demo({"--security", "none", "--personal", "part:dense2.*", "--split", "dirichlet:0.1"});
  const Words judged = {"--devices", "4", "--split", "dirichlet:0.1", "--held-out-share", "0.25"};
  const nlohmann::json all = simulate("all", judged);
  EXPECT_EQ(all["own"]["devices"], 4);
  EXPECT_GT(all["own"]["examples"].get<int>(), 100);
  EXPECT_GT(all["own"]["personal"]["accuracy"].get<double>(), all["own"]["published"]["accuracy"].get<double>());
  Words kept = judged;
  kept.insert(kept.end(), {"--checkpoint", directory_ / "kept"});
  Words rest = kept;
  rest.push_back("--resume");
  EXPECT_EQ(simulate("kept", kept)["own"], all["own"]);
  EXPECT_EQ(simulate("resumed", rest)["own"], all["own"]) << "what devices keep is in the checkpoint";
}

// Rounds are those of a run without it: what devices make of them is the same, and what is judged is another model.
TEST_F(Simulate, JudgesTheMeanOfTheLastModels) {
  demo();
  const auto rows_of = [this](const std::string& out) {
    const Result<Bytes> csv = os::read_file(directory_ / (out + "/metrics.csv"), 1 << 20);
    EXPECT_OK(csv);
    std::vector<Words> rows;
    std::istringstream lines{std::string(as_text(*csv))};
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      rows.emplace_back();
      for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
    }
    return rows;
  };
  const nlohmann::json newest = simulate("newest", {"--devices", "4"});
  const nlohmann::json mean = simulate("mean", {"--devices", "4", "--mean-of-last", "2"});
  EXPECT_EQ(mean["mean_of_last"], 2);
  EXPECT_NE(mean["model_digest"], newest["model_digest"]);
  const std::vector<Words> of_newest = rows_of("newest"), of_mean = rows_of("mean");
  ASSERT_EQ(of_newest.size(), 3u);
  ASSERT_EQ(of_mean.size(), 3u);
  ASSERT_EQ(of_mean[0][5], "train_loss");
  ASSERT_EQ(of_mean[0][7], "evaluation_loss");
  EXPECT_EQ(of_mean[1][7], of_newest[1][7]) << "the mean of one";
  EXPECT_EQ(of_mean[2][5], of_newest[2][5]) << "devices trained from the newest";
  EXPECT_NE(of_mean[2][7], of_newest[2][7]);
  EXPECT_EQ(std::stod(of_mean[2][7]), mean["loss"].get<double>()) << "model.cotf is what was judged";
  DemoProcess process(directory_.path(), {"simulate", job(), "--seed", "5", "--model", "mlp", "--devices", "4",
                                          "--mean-of-last", "2", "--checkpoint", directory_ / "kept"});
  EXPECT_EQ(process.wait(), 2);
  EXPECT_THAT(process.errors(), ::testing::HasSubstr("--mean-of-last 2 does not go with --checkpoint"));
}

// Devices of three kinds, each with the slice that its width has: the same bits at each level, and in one process. Two
// scalars more are sent.
TEST_F(Simulate, HasTheModelOfDevicesOfThreeWidthsAtItsLevels) {
  const nlohmann::json whole = demo({"--security", "none"}, "whole");
  double update_bytes = 0;
  const std::set<std::string> models = models_at(kLevels, "widths", {"--widths", "1,0.5,0.25"}, update_bytes);
  EXPECT_EQ(models.size(), 1u);
  EXPECT_NE(whole["model_digest"], *models.begin());
  EXPECT_EQ(update_bytes, whole["update_bytes"].get<double>() + 8);
}

// All devices close each round, so that it is determined who is in which, and from which model.
TEST_F(Simulate, HasTheModelOfRealProcessesWithBufferedRounds) {
  double update_bytes = 0;
  const std::set<std::string> models =
      models_at(kLevelsOfMasked, "buffered", {"--round-policy", "buffered"}, update_bytes);
  EXPECT_EQ(models.size(), 1u);
  Words half = {"--devices", "40", "--shards", "4", "--speed-spread", "1", "--dropout", "0.05", "--rounds", "8"};
  const nlohmann::json late = simulate("late", half);
  EXPECT_EQ(late["wasted_updates"], 0);
  EXPECT_EQ(late["drawn"].get<int>(),
            late["counted"].get<int>() + late["lost"].get<int>() + late["at_work"].get<int>());
  half.insert(half.end(), {"--attack", "sign_flip:0.2"});
  Words refused = {"simulate", job(), "--seed", "5", "--model", "mlp", "--out", directory_ / "lies"};
  refused.insert(refused.end(), half.begin(), half.end());
  DemoProcess process(directory_.path(), refused);
  EXPECT_EQ(process.wait(), 2);
  EXPECT_THAT(process.errors(), ::testing::HasSubstr("/rounds/policy buffered"));
}

TEST_F(Simulate, LosesWhomTheTraceNamesAndHasAnotherModel) {
  const nlohmann::json real = demo();
  ASSERT_TRUE(os::write_file_atomically(directory_ / "trace.csv", as_bytes("device,round\n2,1\n")));
  const nlohmann::json thin = simulate("thin", {"--devices", "4", "--trace", directory_ / "trace.csv"});
  EXPECT_EQ(thin["lost"], 1);
  EXPECT_EQ(thin["counted"], 7);
  EXPECT_NE(thin["model_digest"], real["model_digest"]);
}

TEST_F(Simulate, RefusesAJobOfAnotherModel) {
  demo();
  DemoProcess process(directory_.path(), {"simulate", job(), "--devices", "4", "--seed", "6", "--model", "mlp", "--out",
                                          directory_ / "other"});
  EXPECT_EQ(process.wait(), 2);
  EXPECT_NE(process.errors().find("/model is"), std::string::npos) << process.errors();
  EXPECT_FALSE(os::exists(directory_ / "other"));
}

}  // namespace
}  // namespace coterie::integration
