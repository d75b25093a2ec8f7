#include <gmock/gmock.h>

#include "tests/support/matchers.h"
#include "tools/cli/command_line.h"
#include "tools/model/default_learning_rate.h"
#include "tools/model/measure.h"

namespace coterie::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Words = std::vector<std::string>;

Words train_with(const Words& more) {
  Words words = {"model", "train", "net.cotf", "--data", "digits", "-o", "trained.cotf"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string error_of(const Words& words) {
  Invocation invocation;
  const Parsed parsed = parse_command_line(words, invocation);
  EXPECT_TRUE(parsed.is_error);
  return parsed.text;
}

TEST(TrainCommandLine, FillsTheOptions) {
  Invocation invocation;
  const Parsed parsed = parse_command_line(train_with({"--freeze",
                                                       "features.*",
                                                       "--freeze",
                                                       "*.bias",
                                                       "--optimizer",
                                                       "adamw",
                                                       "--lr",
                                                       "0.01",
                                                       "--lr-schedule",
                                                       "cosine:warmup=100",
                                                       "--weight-decay",
                                                       "0.05",
                                                       "--batch",
                                                       "16",
                                                       "--micro-batch",
                                                       "4",
                                                       "--epochs",
                                                       "3",
                                                       "--steps",
                                                       "77",
                                                       "--loss",
                                                       "negative_log_likelihood",
                                                       "--checkpoint",
                                                       "ck",
                                                       "--checkpoint-key",
                                                       "secret",
                                                       "--checkpoint-every",
                                                       "9",
                                                       "--resume",
                                                       "--lora",
                                                       "rank=4,alpha=8:*.weight",
                                                       "--clip-norm",
                                                       "1",
                                                       "--seed",
                                                       "6",
                                                       "--replace-head",
                                                       "dense2:5:9",
                                                       "--train-last",
                                                       "2",
                                                       "--channels",
                                                       "conv*:0-15",
                                                       "--channels",
                                                       "*:50%",
                                                       "--group",
                                                       "*.bias:lr=2,decay=0.5",
                                                       "--memory-budget",
                                                       "64M",
                                                       "--storage",
                                                       "bf16",
                                                       "--loss-scale",
                                                       "dynamic",
                                                       "--augment",
                                                       "crop=4,flip",
                                                       "--json"}),
                                           invocation);
  ASSERT_TRUE(parsed.runs) << parsed.text;
  const TrainCommand& command = invocation.train;
  EXPECT_EQ(command.model, "net.cotf");
  EXPECT_EQ(command.data, "digits");
  EXPECT_EQ(command.to, "trained.cotf");
  EXPECT_EQ(command.loss, Loss::negative_log_likelihood);
  EXPECT_EQ(command.learning_rate, 0.01f);
  EXPECT_EQ(command.checkpoint, "ck");
  EXPECT_EQ(command.checkpoint_key, "secret");
  EXPECT_EQ(command.checkpoint_steps, 9u);
  EXPECT_EQ(command.lora, (LoraSettings{.rank = 4, .alpha = 8, .pattern = "*.weight"}));
  EXPECT_TRUE(command.resumes);
  EXPECT_EQ(command.memory_budget, 64u << 20);
  EXPECT_TRUE(command.as_json);
  const TrainOptions& training = command.training;
  EXPECT_THAT(training.freeze, ElementsAre("features.*", "*.bias"));
  EXPECT_EQ(command.head, (HeadSettings{"dense2", 5, 9}));
  EXPECT_EQ(training.train_last, 2u);
  EXPECT_THAT(training.channels, ElementsAre(ChannelUpdate{"conv*", 0, 15, 0}, ChannelUpdate{"*", 0, 0, 0.5}));
  EXPECT_THAT(training.groups, ElementsAre(ParameterGroup{"*.bias", 2, 0.5f}));
  EXPECT_EQ(training.optimizer.kind, OptimizerKind::adamw);
  EXPECT_EQ(training.optimizer.weight_decay, 0.05f);
  EXPECT_EQ(training.schedule.kind, ScheduleKind::cosine);
  EXPECT_EQ(training.schedule.warmup_steps, 100u);
  EXPECT_EQ(training.batch_size, 16u);
  EXPECT_EQ(training.micro_batch_size, 4u);
  EXPECT_EQ(training.augment, "crop=4,flip");
  EXPECT_EQ(training.storage, Storage::bfloat16);
  EXPECT_EQ(training.loss_scaling, (LossScaling{65536, 2000}));
  EXPECT_EQ(training.epochs, 3u);
  EXPECT_EQ(training.steps_max, 77u);
  EXPECT_EQ(training.clip_norm, 1);
  EXPECT_EQ(training.seed, 6u);
}

TEST(TrainCommandLine, TakesOneValueAnOption) {
  Invocation invocation;
  ASSERT_TRUE(
      parse_command_line({"model", "train", "--freeze", "a.*", "net.cotf", "--data", "digits", "-o", "x"}, invocation)
          .runs);
  EXPECT_THAT(invocation.train.training.freeze, ElementsAre("a.*"));
  EXPECT_EQ(invocation.train.model, "net.cotf");
}

TEST(TrainCommandLine, PutsTheTrainedModelBesideTheModel) {
  Invocation invocation;
  ASSERT_TRUE(parse_command_line({"model", "train", "a/net.cot", "--data", "digits"}, invocation).runs);
  EXPECT_EQ(invocation.train.to, "a/net.trained.cot");
}

TEST(TrainedName, IsAnotherNameInTheSameFolder) {
  EXPECT_EQ(trained_name("net.cotf"), "net.trained.cotf");
  EXPECT_EQ(trained_name("/models/v1.2/net.cot"), "/models/v1.2/net.trained.cot");
  EXPECT_EQ(trained_name("v1.2/net"), "v1.2/net.trained");
  EXPECT_EQ(trained_name("net"), "net.trained");
  EXPECT_EQ(trained_name("a.b.cot"), "a.b.trained.cot");
  EXPECT_EQ(trained_name("a/.net"), "a/.net.trained");
  EXPECT_EQ(trained_name("../net"), "../net.trained");
  EXPECT_EQ(trained_name("net."), "net.trained.");
}

TEST(TrainCommandLine, SaysWhatItExpectedAndWhatItSaw) {
  EXPECT_THAT(error_of(train_with({"--optimizer", "adem"})), HasSubstr("Did you mean `adam`?"));
  EXPECT_THAT(error_of(train_with({"--loss", "mse"})), HasSubstr("mean_squared_error"));
  EXPECT_THAT(error_of(train_with({"--lr-schedule", "cosin"})), HasSubstr("cosine"));
  EXPECT_THAT(error_of(train_with({"--memory-budget", "64T"})), HasSubstr("such as 64M, 512K or 1.5G, is 64T"));
  EXPECT_THAT(error_of(train_with({"--lora", "8:*"})), HasSubstr("must be rank=N:PATTERN"));
  EXPECT_THAT(error_of(train_with({"--resume"})), HasSubstr("--checkpoint"));
  EXPECT_THAT(error_of(train_with({"--checkpoint-key", "k"})), HasSubstr("--checkpoint"));
  EXPECT_THAT(error_of(train_with({"--channels", "conv*"})),
              HasSubstr("must be PATTERN:FIRST-LAST or PATTERN:PERCENT%"));
  EXPECT_THAT(error_of(train_with({"--group", "conv*:0.1"})), HasSubstr("must be PATTERN:lr=X,decay=Y"));
  EXPECT_THAT(error_of(train_with({"--replace-head", "dense2"})), HasSubstr("must be LAYER:CLASSES"));
  EXPECT_THAT(error_of(train_with({"--batch", "0"})), HasSubstr("--batch: must be a whole number from 1"));
  EXPECT_THAT(error_of({"model", "train", "net.cotf"}), HasSubstr("--data is required"));
  EXPECT_THAT(error_of({"model", "evaluate", "net.cotf", "--data", "digits", "--metrics", "f1,f2"}),
              HasSubstr("there is no f2"));
}

TEST(DefaultLearningRate, DependsOnTheOptimizer) {
  EXPECT_EQ(default_learning_rate(OptimizerKind::sgd), 0.1f);
  EXPECT_EQ(default_learning_rate(OptimizerKind::adamw), 1e-3f);
  EXPECT_EQ(default_learning_rate(OptimizerKind::lion), 1e-4f);
  EXPECT_EQ(default_learning_rate(OptimizerKind::shampoo), 0.05f);
}

TEST(Measures, HaveNames) {
  EXPECT_THAT(*parse_measures("top-5,f1"), ElementsAre("top-5", "f1"));
  EXPECT_THAT(*parse_measures(""), ElementsAre());
  for (const char* text : {"top-0", "top-", "top-1x", "F1", "f1,,auc", "top-1,top-5"})
    EXPECT_FALSE(parse_measures(text)) << text;
}

}  // namespace
}  // namespace coterie::test
