// `coterie model train` as a process: what it prints, what it leaves behind, and that no end of it costs a bit.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

// While one lives the kernel ends each child that writes beyond so many bytes of a file: in the middle of its writing,
// as surely as a kill at the right moment.
class LargestFile {
 public:
  explicit LargestFile(uint64_t bytes) {
    COT_ASSERT(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit less{bytes, before_.rlim_max};
    COT_ASSERT(::setrlimit(RLIMIT_FSIZE, &less) == 0);
  }
  ~LargestFile() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  LargestFile(const LargestFile&) = delete;
  LargestFile& operator=(const LargestFile&) = delete;

 private:
  rlimit before_{};
};

class TrainingProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    DemoProcess make(directory_.path(), {"model", "new", "cnn", "--input", "8x8x1", "-o", "net.cotf"});
    ASSERT_EQ(make.wait(), 0) << make.errors();
  }

  // Trains into `to`, with `more` behind it.
  Words train(const std::string& to, const Words& more = {}) const {
    Words words = {"model", "train",       "net.cotf", "--data",        "digits",           "--batch", "32", "--epochs",
                   "8",     "--optimizer", "adam",     "--lr-schedule", "cosine:warmup=20", "--seed",  "3",  "-o",
                   to};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  void run(const Words& words) {
    DemoProcess process(directory_.path(), words);
    ASSERT_EQ(process.wait(), 0) << process.errors();
  }

  std::vector<std::string> names() const { return *os::list_directory(directory_.path()); }

  Bytes bytes_of(const std::string& name) const {
    const Result<Bytes> bytes = os::read_file(directory_ / name, 1 << 26);
    EXPECT_OK(bytes);
    return bytes ? *bytes : Bytes();
  }

  nlohmann::json json_of(const Words& words) {
    DemoProcess process(directory_.path(), words);
    EXPECT_EQ(process.wait(), 0) << process.errors();
    return nlohmann::json::parse(process.output(), nullptr, false);
  }

  test::TemporaryDirectory directory_{test::memory_disk()};
};

TEST_F(TrainingProcess, LearnsAndSaysSo) {
  DemoProcess process(directory_.path(), train("trained.cotf", {"--json"}));
  ASSERT_EQ(process.wait(), 0) << process.errors();
  EXPECT_THAT(process.errors(),
              AllOf(HasSubstr("epoch 1/8  step  57  loss"), HasSubstr("epoch 8/8  step 456"), HasSubstr("samples/s")));
  const nlohmann::json answer = nlohmann::json::parse(process.output());
  EXPECT_EQ(answer["steps"], 456);
  EXPECT_GT(answer["accuracy"], 0.9);
  const nlohmann::json judged =
      json_of({"model", "evaluate", "trained.cotf", "--data", "digits", "--metrics", "all", "-o", "json"});
  EXPECT_GT(judged["accuracy"], 0.9);
  EXPECT_EQ(judged, json_of({"model", "evaluate", "trained.cotf", "--data", "digits", "--metrics", "all", "--threads",
                             "2", "-o", "json"}));
  EXPECT_GT(judged["f1"], 0.9);
  EXPECT_GT(judged["top-5"], judged["accuracy"]);
  EXPECT_NEAR(judged["perplexity"], std::exp(judged["loss"].get<double>()), 1e-9);
  const nlohmann::json told =
      json_of({"model", "predict", "trained.cotf", "--data", "digits", "--limit", "100", "--top", "2", "--json"});
  EXPECT_EQ(told, json_of({"model", "predict", "trained.cotf", "--data", "digits", "--limit", "100", "--top", "2",
                           "--threads", "2", "--json"}));
  size_t correct = 0;
  for (const nlohmann::json& one : told["predictions"]) correct += one["predicted"][0]["class"] == one["expected"][0];
  EXPECT_EQ(told["predictions"].size(), 100u);
  EXPECT_GT(correct, 85u);
}

TEST_F(TrainingProcess, InterruptedAndResumedEndsWithTheSameBytes) {
  const std::string epochs = "20";  // long enough that the signal comes before the end
  run(train("undisturbed.cotf", {"--epochs", epochs}));
  DemoProcess process(directory_.path(), train("resumed.cotf", {"--epochs", epochs, "--checkpoint", "ck"}));
  ASSERT_TRUE(process.wait_for("epoch  2/20")) << process.errors();
  process.signal(SIGINT);
  ASSERT_EQ(process.wait(), 130) << process.errors();
  EXPECT_THAT(process.errors(), EndsWith("; the same command with --resume goes on from ck\n"));
  EXPECT_FALSE(os::exists(directory_ / "resumed.cotf"));
  run(train("resumed.cotf", {"--epochs", epochs, "--checkpoint", "ck", "--resume"}));
  EXPECT_EQ(bytes_of("resumed.cotf"), bytes_of("undisturbed.cotf"));
}

TEST_F(TrainingProcess, KilledAndResumedEndsWithTheSameBytes) {
  run(train("undisturbed.cotf", {"--micro-batch", "8", "--clip-norm", "1"}));
  const Words resumed = train("resumed.cotf", {"--micro-batch", "8", "--clip-norm", "1", "--checkpoint", "ck",
                                               "--checkpoint-every", "5", "--resume"});
  DemoProcess process(directory_.path(), resumed);
  ASSERT_TRUE(process.wait_for("epoch 1/8")) << process.errors();
  process.signal(SIGKILL);
  ASSERT_EQ(process.wait(), 128 + SIGKILL);
  run(resumed);
  EXPECT_EQ(bytes_of("resumed.cotf"), bytes_of("undisturbed.cotf"));
  EXPECT_THAT(names(), ElementsAre("ck", "net.cotf", "resumed.cotf", "undisturbed.cotf"));
}

TEST_F(TrainingProcess, KilledWhileItWritesACheckpointLeavesNoStrayFileOnceItIsResumed) {
  run(train("undisturbed.cotf", {"--epochs", "1", "--lr-schedule", "constant"}));
  const auto one_epoch = [&](const Words& more) {
    Words words =
        train("resumed.cotf", {"--epochs", "1", "--lr-schedule", "constant", "--checkpoint", "ck", "--resume"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const uint64_t half_a_checkpoint =
      bytes_of("net.cotf").size();  // parameters alone, without the optimizer's two slots
  const auto kill_while_writing = [&] {
    const LargestFile less(half_a_checkpoint);
    DemoProcess process(directory_.path(), one_epoch({"--checkpoint-every", "10"}));
    ASSERT_EQ(process.wait(), 128 + SIGXFSZ) << process.errors();
  };
  kill_while_writing();
  ASSERT_THAT(names(), ElementsAre("ck.unfinished.0", "net.cotf", "undisturbed.cotf"));
  run(one_epoch({"--steps", "3"}));  // nothing to go on from, and no checkpoint written
  EXPECT_THAT(names(), ElementsAre("net.cotf", "resumed.cotf", "undisturbed.cotf"));

  run(one_epoch({"--steps", "20", "--checkpoint-every", "10"}));
  kill_while_writing();  // in step 30's
  EXPECT_THAT(names(), ElementsAre("ck", "ck.unfinished.0", "net.cotf", "resumed.cotf", "undisturbed.cotf"));
  run(one_epoch({"--steps", "1"}));  // over already: restored, and no checkpoint written
  EXPECT_THAT(names(), ElementsAre("ck", "net.cotf", "resumed.cotf", "undisturbed.cotf"));

  kill_while_writing();
  run(one_epoch({}));
  EXPECT_EQ(bytes_of("resumed.cotf"), bytes_of("undisturbed.cotf"));
  EXPECT_THAT(names(), ElementsAre("ck", "net.cotf", "resumed.cotf", "undisturbed.cotf"));
}

TEST_F(TrainingProcess, TellsTheLossOfAWholeEpochThoughItWasResumedInTheMiddle) {
  const Words epoch = {"--epochs", "1", "--lr-schedule", "constant", "--json"};
  const auto with = [&](const Words& more) {
    Words words = epoch;
    words.insert(words.end(), more.begin(), more.end());
    return train("a.cotf", words);
  };
  const nlohmann::json undisturbed = json_of(with({}));
  const nlohmann::json half = json_of(with({"--steps", "30", "--checkpoint", "ck", "--checkpoint-every", "30"}));
  const nlohmann::json resumed = json_of(with({"--checkpoint", "ck", "--resume"}));
  EXPECT_EQ(half["steps"], 30);
  EXPECT_EQ(resumed["steps"], 57);
  EXPECT_EQ(resumed["loss"], undisturbed["loss"]);
  EXPECT_EQ(resumed["accuracy"], undisturbed["accuracy"]);
  EXPECT_LT(resumed["loss"], half["loss"]) << "of the whole epoch, not of its first half";
}

TEST_F(TrainingProcess, WritesBesideTheModelUnlessTold) {
  const Bytes before = bytes_of("net.cotf");
  Words words = train("a.cotf", {"--epochs", "1"});
  run(words);
  const auto to = std::find(words.begin(), words.end(), "-o");
  words.erase(to, to + 2);
  DemoProcess process(directory_.path(), words);
  ASSERT_EQ(process.wait(), 0) << process.errors();
  EXPECT_THAT(process.output(), HasSubstr("; written to net.trained.cotf\n"));
  EXPECT_EQ(bytes_of("net.trained.cotf"), bytes_of("a.cotf"));
  EXPECT_EQ(bytes_of("net.cotf"), before);
  run(words);  // as with -o, over what was there
  EXPECT_THAT(names(), ElementsAre("a.cotf", "net.cotf", "net.trained.cotf"));
}

TEST_F(TrainingProcess, SaysBeforeItTrainsThatItCannotWrite) {
  DemoProcess process(directory_.path(), train("absent/a.cotf"));
  EXPECT_EQ(process.wait(), 1);
  EXPECT_THAT(process.errors(), AllOf(HasSubstr("cannot be written to absent/a.cotf (-o FILE names another place)"),
                                      Not(HasSubstr("epoch"))));
}

TEST_F(TrainingProcess, KilledAndResumedFromAnEncryptedCheckpointEndsWithTheSameBytes) {
  const auto write_key = [this](const std::string& name, uint8_t byte) {
    ASSERT_OK(os::write_file_atomically(directory_ / name, Bytes(32, byte)));
  };
  write_key("key", 7);
  write_key("other", 8);
  run(train("undisturbed.cotf"));
  const Words resumed = train("resumed.cotf", {"--checkpoint", "ck", "--checkpoint-every", "5", "--resume"});
  const auto with_key = [&](const std::string& key) {
    Words words = resumed;
    words.insert(words.end(), {"--checkpoint-key", key});
    return words;
  };
  DemoProcess process(directory_.path(), with_key("key"));
  ASSERT_TRUE(process.wait_for("epoch 1/8")) << process.errors();
  process.signal(SIGKILL);
  ASSERT_EQ(process.wait(), 128 + SIGKILL);
  DemoProcess plain(directory_.path(), resumed), wrong(directory_.path(), with_key("other"));
  EXPECT_EQ(plain.wait(), 2);
  EXPECT_THAT(plain.errors(), HasSubstr("ck: checkpoint: is encrypted, and no key is given"));
  EXPECT_EQ(wrong.wait(), 2);
  EXPECT_THAT(wrong.errors(), HasSubstr("encrypted with another key, or forged"));
  run(with_key("key"));
  EXPECT_EQ(bytes_of("resumed.cotf"), bytes_of("undisturbed.cotf"));
  ASSERT_OK(os::write_file_atomically(directory_ / "key", Bytes(31, 7)));
  DemoProcess short_key(directory_.path(), with_key("key"));
  EXPECT_EQ(short_key.wait(), 2);
  EXPECT_THAT(short_key.errors(), HasSubstr("key: a key is a file of 32 bytes, this one has 31"));
}

TEST_F(TrainingProcess, DoesNotTrainOverACheckpointOrWithOtherOptions) {
  run(train("a.cotf", {"--checkpoint", "ck", "--steps", "3"}));
  ASSERT_FALSE(os::exists(directory_ / "ck"));  // no epoch has ended
  run(train("a.cotf", {"--checkpoint", "ck", "--steps", "60"}));
  DemoProcess over(directory_.path(), train("b.cotf", {"--checkpoint", "ck"}));
  EXPECT_EQ(over.wait(), 2);
  EXPECT_THAT(over.errors(), HasSubstr("ck is there already: --resume goes on from it"));
  DemoProcess other(directory_.path(), train("b.cotf", {"--checkpoint", "ck", "--resume", "--batch", "16"}));
  EXPECT_EQ(other.wait(), 2);
  EXPECT_THAT(other.errors(), HasSubstr("ck: checkpoint: "));
}

TEST_F(TrainingProcess, KeepsToItsBudgetOrSaysTheLeast) {
  DemoProcess poor(directory_.path(), train("a.cotf", {"--memory-budget", "10K"}));
  EXPECT_EQ(poor.wait(), 2);
  EXPECT_THAT(poor.errors(), HasSubstr("10240 bytes are too few; with these options it needs at least "));
  const std::string least = poor.errors().substr(poor.errors().rfind(' ') + 1);
  const nlohmann::json answer =
      json_of(train("a.cotf", {"--memory-budget", least.substr(0, least.size() - 1), "--steps", "2", "--json"}));
  EXPECT_LE(answer["memory_bytes"], std::stoull(least));
  EXPECT_LT(answer["micro_batch"], 32);
}

TEST_F(TrainingProcess, MergesItsLowRankCompanionsIntoAModelOfTheSameSize) {
  const Words words = train("a.cotf", {"--lora", "rank=4:*.weight", "--lr", "0.01", "--checkpoint", "ck", "--resume"});
  const nlohmann::json answer = [&] {
    Words with_json = words;
    with_json.push_back("--json");
    return json_of(with_json);
  }();
  EXPECT_EQ(bytes_of("a.cotf").size(), bytes_of("net.cotf").size());
  const nlohmann::json judged = json_of({"model", "evaluate", "a.cotf", "--data", "digits", "-o", "json"});
  EXPECT_GT(judged["accuracy"], 0.8);
  EXPECT_GT(judged["accuracy"].get<double>(), answer["accuracy"].get<double>() - 0.05);
}

TEST_F(TrainingProcess, TrainsANewHeadOnABodyThatStays) {
  DemoProcess make(directory_.path(),
                   {"model", "new-head", "net.cotf", "--replace-head", "dense2:10:7", "-o", "headed.cotf"});
  ASSERT_EQ(make.wait(), 0) << make.errors();
  EXPECT_THAT(make.output(), HasSubstr("dense2: 10 outputs; "));
  EXPECT_NE(bytes_of("headed.cotf"), bytes_of("net.cotf"));
  run(train("a.cotf", {"--replace-head", "dense2:10:7", "--train-last", "1", "--epochs", "2"}));
  Words headed = train("b.cotf", {"--train-last", "1", "--epochs", "2"});
  *std::find(headed.begin(), headed.end(), "net.cotf") = "headed.cotf";
  run(headed);
  EXPECT_EQ(bytes_of("a.cotf"), bytes_of("b.cotf"));
  DemoProcess wrong(directory_.path(), train("a.cotf", {"--replace-head", "fc:10"}));
  EXPECT_EQ(wrong.wait(), 2);
  EXPECT_THAT(wrong.errors(), HasSubstr("head: the model has no layer fc"));
  DemoProcess few(directory_.path(), train("a.cotf", {"--channels", "conv1.*:90-99"}));
  EXPECT_EQ(few.wait(), 2);
  EXPECT_THAT(few.errors(), HasSubstr("channels: conv1."));
}

TEST_F(TrainingProcess, ProfilesEachOp) {
  const nlohmann::json profile = json_of({"model", "profile", "net.cotf", "--batch", "8", "--steps", "3", "--json"});
  EXPECT_GT(profile["step_seconds"], 0);
  EXPECT_GE(profile["memory"]["planned"], profile["memory"]["planned_lower_bound"]);
  EXPECT_THAT(profile["ops"].dump(), AllOf(HasSubstr("conv2d"), HasSubstr("dense"), HasSubstr("update")));
}

}  // namespace
}  // namespace coterie::integration
