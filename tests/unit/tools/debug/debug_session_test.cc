#include "tools/cli/debug_session.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "base/os/file.h"
#include "device_sdk/runtime/lora.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/debug/debugged_training.h"
#include "tools/cli/debug_text.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class DebugSessionTest : public ::testing::Test {
 protected:
  void open(const Model& model, const TrainOptions& options) {
    model_.emplace(model);
    source_.emplace(examples_for(*model_));
    steps_ = debugged(*model_, options, *source_);
    session_.emplace(*steps_, [this] { return is_stopped_; });
  }
  void SetUp() override { open(small_cnn(), debugged_options()); }

  // What a command that works says.
  std::string said(std::string_view line) {
    const DebugReply reply = session_->execute(line);
    EXPECT_FALSE(reply.is_error) << line << ": " << reply.text;
    expect_fits(reply.text);
    return reply.text;
  }
  std::string refusal(std::string_view line) {
    const DebugReply reply = session_->execute(line);
    EXPECT_TRUE(reply.is_error) << line << ": " << reply.text;
    EXPECT_THAT(reply.text, StartsWith("error: "));
    expect_fits(reply.text);
    return reply.text;
  }
  static void expect_fits(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }

  std::optional<Model> model_;
  std::optional<Examples> source_;
  std::unique_ptr<TrainingSteps> steps_;
  std::optional<DebugSession> session_;
  bool is_stopped_ = false;
};

TEST_F(DebugSessionTest, MovesForthAndBack) {
  EXPECT_THAT(session_->greeting(), HasSubstr("a training of 100 steps"));
  EXPECT_EQ(session_->prompt(), "(start) ");
  EXPECT_THAT(refusal("stats conv1"), HasSubstr("no step has run yet"));
  EXPECT_THAT(said("step"), StartsWith("step 0  loss "));
  const std::string second = said("step 2");
  EXPECT_THAT(second, StartsWith("step 2  loss "));
  EXPECT_EQ(session_->prompt(), "(step 2) ");
  EXPECT_THAT(said("run to step 9"), StartsWith("step 9 "));
  EXPECT_EQ(said("back 7"), second) << "the same loss";
  EXPECT_THAT(refusal("run to step 1"), HasSubstr("step 1 is in front of this one; `back` goes that way"));
  EXPECT_THAT(refusal("run to step 2"), HasSubstr("this is step 2"));
  EXPECT_THAT(said("continue"), HasSubstr("step 99 "));
  EXPECT_THAT(refusal("step"), HasSubstr("this is the end"));
  EXPECT_THAT(said("back 4294967295"), HasSubstr("in front of the first step"));
  EXPECT_THAT(refusal("back"), HasSubstr("beginning"));
  EXPECT_TRUE(session_->execute("quit").quits);
  EXPECT_EQ(session_->execute("").text, "");
}

TEST_F(DebugSessionTest, ShowsTensors) {
  said("step 2");
  EXPECT_THAT(said("list"), HasSubstr("conv1.weight.grad"));
  EXPECT_THAT(said("list dense2*"), Not(HasSubstr("conv1")));
  EXPECT_THAT(refusal("list nothing*"), HasSubstr("matches `nothing*`"));
  const std::string stats = said("stats conv1.weight");
  EXPECT_THAT(stats, HasSubstr("parameter behind the step of conv1"));
  EXPECT_THAT(stats, HasSubstr("norm "));
  EXPECT_THAT(stats, HasSubstr("###"));
  EXPECT_THAT(said("stats target"), HasSubstr("int32"));
  EXPECT_EQ(std::ranges::count(said("print dense2.bias"), '.'), 10);
  EXPECT_THAT(said("print dense2.bias[0]"), HasSubstr("\n"));
  EXPECT_THAT(said("print relu1[0,0]"), HasSubstr("[0, 0, 0, 0]\n"));
  EXPECT_THAT(said("print dense1.weight"), HasSubstr("more values: a smaller slice shows others"));
  EXPECT_EQ(said("print dense2.bias[4:2]"), "no values: the slice is empty\n");
  EXPECT_THAT(refusal("print dense2.bias[10]"), HasSubstr("out of range for axis 0, which has the size 10"));
  EXPECT_THAT(refusal("print conv1.weigth"), HasSubstr("did you mean `conv1.weight`?"));
}

TEST_F(DebugSessionTest, ComparesWithTheStepBefore) {
  said("step");
  EXPECT_THAT(refusal("compare conv1.weight"), HasSubstr("no step in front"));
  said("step");
  EXPECT_THAT(said("compare conv1.weight"), HasSubstr("step 1 against step 0"));
  EXPECT_THAT(said("compare conv1.weight"), HasSubstr("cosine similarity"));
  EXPECT_THAT(said("where conv1.weight"), HasSubstr("around its update"));
  EXPECT_THAT(said("where dense2"), HasSubstr("dense2 was made by dense2 (dense)"));
  EXPECT_THAT(said("where dense2"), HasSubstr("read  dense2.weight.before"));
  // What the layer in front made is shown behind its ReLU; the convolution reads its own weight as it was arranged.
  for (const char* read : {"read  relu1 ", "read  conv2.weight.before ", "read  conv2.bias.before ", "made  relu2 "})
    EXPECT_THAT(said("where relu2"), HasSubstr(read));
  EXPECT_THAT(said("where target"), HasSubstr("target comes with the examples"));
  EXPECT_THAT(said("where"), HasSubstr("epoch 1; examples "));
}

TEST_F(DebugSessionTest, StopsWhereAWatchpointHits) {
  EXPECT_THAT(said("watch weight_change_too_large on conv1.weight 0 from_step 5"), StartsWith("1  weight_change"));
  EXPECT_THAT(said("continue"), HasSubstr("step 5 "));
  EXPECT_THAT(said("where"), HasSubstr("weight_change_too_large hit here: conv1.weight"));
  EXPECT_THAT(said("continue"), StartsWith("step 6 "));
  EXPECT_THAT(said("unwatch 1"), HasSubstr("nothing is watched"));
  EXPECT_THAT(refusal("unwatch 1"), HasSubstr("0 watchpoints"));
  EXPECT_THAT(said("step 3"), StartsWith("step 9 "));
  EXPECT_THAT(refusal("recheck"), HasSubstr("nothing is watched"));
}

TEST_F(DebugSessionTest, RechecksWhatIsRecordedWithoutRunning) {
  said("step 3");
  said("watch tensor_too_large on dense2 max_above -1000");
  const std::string found = said("recheck");
  EXPECT_THAT(found, HasSubstr("watch: 1 hit in 2 looks"));
  EXPECT_THAT(found, HasSubstr("1-2"));
  EXPECT_EQ(session_->prompt(), "(step 2) ");
  said("unwatch 1");
  said("watch tensor_too_large on dense2 max_above 1e30");
  EXPECT_THAT(said("recheck"), HasSubstr("nothing found in 2 looks"));
}

TEST_F(DebugSessionTest, RefusesAWatchOfNothing) {
  EXPECT_THAT(refusal("watch dead_relu on nosuch*"), HasSubstr("matches nothing of this model"));
  EXPECT_THAT(said("watch"), HasSubstr("nothing is watched"));
  said("watch recommended");
  EXPECT_THAT(said("watch"), HasSubstr("operator_overflow"));
  EXPECT_THAT(said("watch dead_relu 0.9"), HasSubstr("dead_share_above 0.9")) << "what is idle is tanh's, before it";
  for (int i = 0; i < 10; ++i) session_->execute("watch recommended");
  EXPECT_THAT(refusal("watch recommended"), HasSubstr("at most 64 watchpoints"));
}

TEST_F(DebugSessionTest, FactorsOfLoraThatAreZeroByDesignAreNoHit) {
  const Result<LoraSettings> lora = parse_lora("rank=2:*");
  ASSERT_OK(lora);
  open(load_or_die(add_lora(small_cnn(), *lora, 1)), debugged_options());
  said("watch weight_initial");
  EXPECT_THAT(said("step"), Not(HasSubstr("lora_b")));
}

TEST_F(DebugSessionTest, FindsThePlantedOverflow) {
  open(small_cnn(), debugged_options(1e9f));
  said("watch operator_overflow");
  const std::string hit = said("continue");
  EXPECT_THAT(hit, HasSubstr("operator_overflow"));
  const std::string where = said("where");
  EXPECT_THAT(where, HasSubstr("operator_overflow hit here: "));
  EXPECT_THAT(where, HasSubstr("made  "));
}

TEST_F(DebugSessionTest, AStepThatFailsStopsAndIsLookedAt) {
  open(small_cnn(), debugged_options(1e9f));
  EXPECT_THAT(said("continue"), HasSubstr("failed: training: the loss of step "));
  EXPECT_THAT(said("list"), HasSubstr("conv1"));
  EXPECT_THAT(said("where"), HasSubstr("failed"));
}

TEST_F(DebugSessionTest, AnInterruptStopsWhatRunsAndNothingElse) {
  said("step 6");
  is_stopped_ = true;
  EXPECT_THAT(said("continue"), StartsWith("stopped\nstep 5 "));
  EXPECT_THAT(refusal("back"), HasSubstr("interrupted"));
  is_stopped_ = false;
  EXPECT_THAT(said("step"), StartsWith("step 0 "));
}

TEST_F(DebugSessionTest, SavesForNumPyAndReplacesNothing) {
  const TemporaryDirectory folder;
  said("step");
  const std::string file = folder / "w.npy";
  EXPECT_THAT(said("save dense2.bias[:3] " + file), HasSubstr("written to "));
  const Result<Bytes> bytes = os::read_file(file, 1000);
  ASSERT_OK(bytes);
  EXPECT_THAT(std::string(as_text(*bytes)), HasSubstr("'shape': (3,)"));
  EXPECT_THAT(refusal("save dense2.bias " + file), HasSubstr("is there already"));
  EXPECT_THAT(refusal("save dense2.bias /nowhere/w.npy"), HasSubstr("/nowhere"));
}

TEST_F(DebugSessionTest, WhatIsTypedMovesNoCursor) {
  said("step");
  for (const char* line : {"\x1b[31m", "stats \x1b[31m", "watch \x1b]0;x\x07", "print conv1[\x1b]", "list \x1b"}) {
    EXPECT_EQ(refusal(line).find_first_of("\x1b\x07"), std::string::npos) << line;
  }
}

TEST(DebugText, ARangeWiderThanADoubleSaysIsOneBin) {
  const double values[] = {-1.7e308, 0, 1.7e308};
  const NamedTensor tensor{.name = "x", .op = {}, .shape = {3}, .values = {ElementType::float64, values, 3}};
  EXPECT_THAT(stats_text(tensor), HasSubstr("-1.7e+308 ..   1.7e+308  ####"));
}

}  // namespace
}  // namespace coterie::test
