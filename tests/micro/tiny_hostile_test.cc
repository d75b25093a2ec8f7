// The client for microcontrollers against a server that sends it anything: answers that break off at each byte, changes
// by chance, and plans that it must not take. Its bounds are watched by the sanitizers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <sstream>

#include "base/os/file.h"
#include "proto/codec/codec.h"
#include "tests/micro/tiny_rig.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kOk = 0, kRefused = 5;

class TinyDevice : public testing::Test {
 protected:
  void SetUp() override {
    const MicroProgram program = write_tiny_program(folder_.path(), round_.model, round_.facts);
    // The plan and the assignment fill the client's buffer, which is its last: what is read behind it is seen.
    const size_t longest = std::max(round_.assignment_bytes(), encode(round_.plan).size());
    const std::string size = "-DCOTERIE_TINY_MESSAGE_BYTES=" + std::to_string(longest);
    compile_tiny_program(folder_.path(), program, "hostile",
                         {.sources = {"tests/micro/target/hostile.c"},
                          .options = size,
                          .own_options = "-I" + source_dir() + " -include examples.h"});
    write_scripted_answers(folder_.path(), round_);
    compile_tiny_program(folder_.path(), program, "round",
                         {.sources = {"tests/micro/target/tiny_driver.c", "tests/micro/target/host.c"},
                          .options = size,
                          .own_options = "-I" + source_dir() + " -include answers.h"});
    ASSERT_FALSE(HasFailure());
    write_answers();
  }

  void write_answers() const {
    const std::vector<Bytes> answers = round_.answers();
    for (size_t i = 0; i < answers.size(); ++i) {
      EXPECT_OK(os::write_file_atomically(folder_.path() + "/answer" + std::to_string(i), answers[i]));
    }
  }

  std::string run(const std::string& mode) const {
    const ShellOutcome outcome = shell(folder_.path() + "/hostile " + folder_.path() + " " + mode);
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    return outcome.out;
  }

  TemporaryDirectory folder_;
  ScriptedRound round_ = ScriptedRound::small();
};

// One test, as the program is compiled for each.
TEST_F(TinyDevice, SurvivesWhateverAServerSendsAndTakesNoPlanThatItCannotCarryOut) {
  EXPECT_EQ(shell(folder_.path() + "/round").out, kSmallRoundPrints) << "as on a board (target_test.cc)";
  std::istringstream words(run("search 2000"));
  std::string word;
  size_t cut = 0, cut_ok = 0, counts[8] = {};
  words >> word >> cut >> word >> cut_ok;
  EXPECT_GT(cut, round_.model.size()) << "each byte of each answer";
  EXPECT_EQ(cut_ok, 0u) << "an answer that broke off was taken for a whole one";
  for (size_t i = 0, code = 0; i < 8; ++i) words >> word >> code >> counts[i];
  for (const size_t code : {0, 2, 3, 4, 5}) EXPECT_GT(counts[code], 0u) << code << ": the changes reach too little";

  EXPECT_THAT(run("doubt"), StartsWith("4 the assignment is not signed"));
  EXPECT_EQ(run("once"), std::to_string(kOk) + " \n");
  const std::pair<std::function<void(Plan&)>, std::string> plans[] = {
      {[](Plan& p) { p.privacy.level = SecurityLevel::masked; }, "masks need keys"},
      {[](Plan& p) { p.training.freeze = {"*"}; }, "more than SGD"},
      {[](Plan& p) { p.training.label_smoothing = 0.1f; }, "more than SGD"},
      {[](Plan& p) { p.update.whole_value_count = 18; }, "another number of values"},
      {[](Plan& p) { p.training.optimizer.momentum = 0.5f; }, "momentum"},
      {[](Plan& p) { p.training.optimizer.kind = OptimizerKind::adam; }, "the optimizer is not SGD"},
      {[](Plan& p) { p.training.loss = Loss::mean_squared_error; }, "the loss is not softmax cross-entropy"},
      {[](Plan& p) { p.training.optimizer.learning_rate = 1.5f; }, "learning_rate_max"},
      {[](Plan& p) { p.training.optimizer.learning_rate = std::numeric_limits<float>::infinity(); }, "learning rate"},
      {[](Plan& p) { p.training.local_epochs = 33; }, "steps_max"},
      {[](Plan& p) { p.training.local_epochs = UINT32_MAX; }, "steps_max"},
      {[](Plan& p) { p.update.value_count += 16; }, "number of values"},
      {[](Plan& p) { p.update.encoding = UpdateEncoding::top_k; }, "encoded"},
      {[](Plan& p) { p.update.fixed_point.value_abs_max = 0; }, "value_abs_max"},
  };
  for (const auto& [change, why] : plans) {
    const Plan before = round_.plan;
    change(round_.plan);
    write_answers();
    round_.plan = before;
    EXPECT_THAT(run("once"), testing::AllOf(StartsWith(std::to_string(kRefused)), HasSubstr(why)));
  }
}

}  // namespace
}  // namespace coterie::test
