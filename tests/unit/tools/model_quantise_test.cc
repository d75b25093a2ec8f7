// coterie model quantise and dequantise as commands.
#include "tools/cli/model_quantise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/model.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie {
namespace {

using namespace test;

TEST(ModelQuantise, Drops) {
  EXPECT_EQ(*parse_drop("0.5%"), .005);
  EXPECT_EQ(*parse_drop("0.02"), .02);
  EXPECT_EQ(*parse_drop("0"), 0);
  for (const char* const text : {"", "%", "-1%", "2", "101%", "nan", "0.5 %", "x"}) {
    EXPECT_ERROR(parse_drop(text), ErrorCode::invalid_argument, "0.005 or 0.5%");
  }
}

TEST(ModelQuantise, GoesThereAndBack) {
  const TemporaryDirectory folder;
  const auto path = [&](const std::string& name) { return folder / name; };
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "-o", path("net.cotf")}).code,
            ExitCode::ok);
  const CommandOutcome done = run_command({"model", "quantise", path("net.cotf"), "--data", "digits", "-o",
                                           path("small.cotf"), "--max-drop", "5%", "--calibration", "100", "--json"});
  ASSERT_EQ(done.code, ExitCode::ok) << done.err;
  const nlohmann::json report = nlohmann::json::parse(done.out);
  EXPECT_EQ(report.at("layers").size(), 2u);
  EXPECT_LT(report.at("after").at("bytes").get<double>(), .45 * report.at("before").at("bytes").get<double>());
  const Result<Bytes> small = os::read_file(path("small.cotf"), 1 << 24);
  ASSERT_OK(small);
  EXPECT_EQ(small->size(), report.at("after").at("bytes").get<size_t>());
  EXPECT_ERROR(Model::load(*small), ErrorCode::malformed, "is stored as int8");
  // Other commands open it as they open any model.
  EXPECT_EQ(run_command({"model", "evaluate", path("small.cotf"), "--data", "digits"}).code, ExitCode::ok);
  ASSERT_EQ(run_command({"model", "dequantise", path("small.cotf"), "-o", path("back.cotf")}).code, ExitCode::ok);
  EXPECT_OK(Model::load(*os::read_file(path("back.cotf"), 1 << 24)));
}

// Ranges that devices have counted: tests/unit/tools/activation_ranges_test.cc, simulated_counts_test.cc.
TEST(ModelQuantise, WantsExamplesOrRanges) {
  const auto refused = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"model", "quantise", "net.cotf", "-o", "int8.cotf"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandOutcome done = run_command(words);
    EXPECT_EQ(done.code, ExitCode::usage);
    return done.err;
  };
  EXPECT_THAT(refused({}), testing::HasSubstr("--full --ranges FILE"));
  EXPECT_THAT(refused({"--ranges", "r.json"}), testing::HasSubstr("give it, too"));
  EXPECT_THAT(refused({"--full", "--ranges", "r.json", "--bits", "auto"}), testing::HasSubstr("give --data, too"));
}

// The command's own part; tools/optimise has the proofs of its passes.
TEST(ModelOptimise, WritesAModelThatAnswersTheSame) {
  const TemporaryDirectory folder;
  const std::string from = folder / "net.cotf", to = folder / "fast.cotf";
  ASSERT_EQ(run_command({"model", "new", "cnn", "--input", "8x8x1", "--classes", "10", "-o", from}).code, ExitCode::ok);
  const Bytes before = *os::read_file(from, 1 << 24);
  const CommandOutcome none = run_command({"model", "optimise", from, "-o", to, "--optimise", "O0"});
  ASSERT_EQ(none.code, ExitCode::ok) << none.err;
  EXPECT_EQ(*os::read_file(to, 1 << 24), before) << "level 0 leaves a file as it is";
  const CommandOutcome done = run_command({"model", "optimise", from, "-o", to, "--optimise", "3", "--json"});
  ASSERT_EQ(done.code, ExitCode::ok) << done.err;
  const nlohmann::json report = nlohmann::json::parse(done.out);
  EXPECT_LE(report.at("after").at("ops").get<size_t>(), report.at("before").at("ops").get<size_t>());
  EXPECT_LT(report.at("difference").get<double>(), 1e-4);
  EXPECT_OK(Model::load(*os::read_file(to, 1 << 24)));
  EXPECT_EQ(run_command({"model", "optimise", from, "-o", from}).code, ExitCode::usage);
  EXPECT_EQ(run_command({"model", "optimise", from, "-o", to, "--optimise", "4"}).code, ExitCode::usage);
  EXPECT_EQ(*os::read_file(from, 1 << 24), before);
}

// With --full the file computes in int8: it is asked as any model is, and refused where float32 is needed.
TEST(ModelQuantise, Full) {
  const TemporaryDirectory folder;
  const auto path = [&](const std::string& name) { return folder / name; };
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "-o", path("net.cotf")}).code,
            ExitCode::ok);
  const CommandOutcome done =
      run_command({"model", "quantise", path("net.cotf"), "--data", "digits", "-o", path("int8.cotf"), "--max-drop",
                   "5%", "--calibration", "50", "--full", "--json"});
  ASSERT_EQ(done.code, ExitCode::ok) << done.err;
  const nlohmann::json report = nlohmann::json::parse(done.out);
  EXPECT_EQ(report.at("values").size(), 3u);
  const CommandOutcome judged = run_command({"model", "evaluate", path("int8.cotf"), "--data", "digits", "-o", "json"});
  ASSERT_EQ(judged.code, ExitCode::ok) << judged.err;
  EXPECT_EQ(nlohmann::json::parse(judged.out).at("loss"), report.at("after").at("loss"));
  EXPECT_EQ(nlohmann::json::parse(judged.out).at("accuracy"), report.at("after").at("accuracy"));
  const CommandOutcome shown = run_command({"model", "inspect", path("int8.cotf")});
  EXPECT_EQ(shown.code, ExitCode::ok) << shown.err;
  EXPECT_THAT(shown.out, testing::HasSubstr("it computes in int8"));
  const nlohmann::json inside =
      nlohmann::json::parse(run_command({"model", "inspect", path("int8.cotf"), "-o", "json"}).out);
  EXPECT_EQ(inside.at("int8").at("values").size(), 3u);
  const CommandOutcome asked =
      run_command({"model", "predict", path("int8.cotf"), "--data", "digits", "--json", "--limit", "5"});
  ASSERT_EQ(asked.code, ExitCode::ok) << asked.err;
  EXPECT_EQ(nlohmann::json::parse(asked.out).at("predictions").size(), 5u);
  const CommandOutcome exported = run_command({"model", "export", path("int8.cotf"), "--c", path("c")});
  EXPECT_EQ(exported.code, ExitCode::usage);
  EXPECT_THAT(exported.err, testing::HasSubstr("computes in int8: add --int8, which writes that as C"));
  const CommandOutcome trains = run_command({"model", "export", path("int8.cotf"), "--c", path("c"), "--train"});
  EXPECT_EQ(trains.code, ExitCode::usage);
  EXPECT_THAT(trains.err, testing::HasSubstr("coterie model dequantise"));
  ASSERT_EQ(run_command({"model", "dequantise", path("int8.cotf"), "-o", path("back.cotf")}).code, ExitCode::ok);
  EXPECT_OK(Model::load(*os::read_file(path("back.cotf"), 1 << 24)));
}

TEST(ModelQuantise, Widths) {
  EXPECT_EQ(*parse_weight_bits("1"), 1u);
  EXPECT_EQ(*parse_weight_bits("16"), 16u);
  EXPECT_EQ(*parse_weight_bits("auto"), std::nullopt);
  for (const char* const text : {"", "0", "17", "-1", "4.5", "automatic", "4 "}) {
    EXPECT_ERROR(parse_weight_bits(text), ErrorCode::invalid_argument, "1 to 16 or auto");
  }
}

// Fewer bits make a smaller file, which all commands open that open any; found ones meet the ratio.
TEST(ModelQuantise, FewBits) {
  const TemporaryDirectory folder;
  const auto path = [&](const std::string& name) { return folder / name; };
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "-o", path("net.cotf")}).code,
            ExitCode::ok);
  const std::vector<std::string> command = {"model",         "quantise", path("net.cotf"), "--data", "digits",
                                            "--max-drop",    "100%",     "--bits",         "auto",   "--json",
                                            "--calibration", "40",       "--target-ratio", "6"};
  for (const bool is_full : {false, true}) {
    const std::string to = path(is_full ? "full.cotf" : "small.cotf");
    std::vector<std::string> words = command;
    words.insert(words.end(), {"-o", to});
    if (is_full) words.emplace_back("--full");
    const CommandOutcome done = run_command(words);
    ASSERT_EQ(done.code, ExitCode::ok) << done.err;
    const nlohmann::json report = nlohmann::json::parse(done.out);
    EXPECT_GE(report.at("ratio").get<double>(), 6);
    const CommandOutcome judged = run_command({"model", "evaluate", to, "--data", "digits", "-o", "json"});
    ASSERT_EQ(judged.code, ExitCode::ok) << judged.err;
    EXPECT_EQ(nlohmann::json::parse(judged.out).at("loss"), report.at("after").at("loss"));
    EXPECT_EQ(run_command({"model", "predict", to, "--data", "digits", "--limit", "2"}).code, ExitCode::ok);
    EXPECT_EQ(run_command({"model", "inspect", to}).code, ExitCode::ok);
    EXPECT_EQ(run_command({"model", "dequantise", to, "-o", path("back.cotf")}).code, ExitCode::ok);
    EXPECT_OK(Model::load(*os::read_file(path("back.cotf"), 1 << 24)));
  }
  EXPECT_ERROR(Model::load(*os::read_file(path("small.cotf"), 1 << 24)), ErrorCode::malformed,
               "is stored as packed integers");
  const CommandOutcome in_c = run_command({"model", "export", path("full.cotf"), "--c", path("c"), "--int8"});
  EXPECT_EQ(in_c.code, ExitCode::ok) << in_c.err;

  const auto refused = [&](const std::vector<std::string>& more, std::string_view words) {
    std::vector<std::string> all = {"model", "quantise", path("net.cotf"), "--data", "digits", "-o", path("no.cotf")};
    all.insert(all.end(), more.begin(), more.end());
    const CommandOutcome outcome = run_command(all);
    EXPECT_EQ(outcome.code, ExitCode::usage);
    EXPECT_THAT(outcome.err, testing::HasSubstr(words));
    EXPECT_FALSE(os::exists(path("no.cotf")));
  };
  refused({"--target-ratio", "8"}, "--bits auto");
  refused({"--bits", "12", "--full"}, "8 bits at most");
  refused({"--bits", "auto", "--target-ratio", "60", "--calibration", "10"}, "with 1 bit a weight it has");
}

// A training that has diverged left it behind: no grid has a step for it, so none may come as far.
TEST(ModelQuantise, NamesTheWeightThatIsNoNumber) {
  const TemporaryDirectory folder;
  const std::string sound = folder / "net.cotf", broken = folder / "broken.cotf";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "-o", sound}).code,
            ExitCode::ok);
  const Result<Model> model = Model::load(*os::read_file(sound, 1 << 24));
  ASSERT_OK(model);
  for (const float value : {NAN, -INFINITY}) {
    std::vector<float> parameters(model->parameters().begin(), model->parameters().end());
    parameters[3] = value;
    ASSERT_OK(os::write_file_atomically(broken, model->file_with(parameters)));
    for (const char* const form : {"--bits=2", "--full"}) {
      const CommandOutcome refused = run_command(
          {"model", "quantise", broken, "--data", "digits", "-o", folder / "small.cotf", "--calibration", "20", form});
      EXPECT_EQ(refused.code, ExitCode::usage) << form;
      EXPECT_THAT(refused.err, testing::HasSubstr("dense1.weight has a value that is not finite")) << form;
    }
  }
}

TEST(ModelQuantise, WithALargerDropNothingIsWritten) {
  const TemporaryDirectory folder;
  const auto path = [&](const std::string& name) { return folder / name; };
  // Untrained, by a seed with which rounding loses something (on x86-64 .1 points).
  ASSERT_EQ(
      run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "--seed", "6", "-o", path("net.cotf")})
          .code,
      ExitCode::ok);
  const CommandOutcome refused = run_command({"model", "quantise", path("net.cotf"), "--data", "digits", "-o",
                                              path("int8.cotf"), "--max-drop", "0", "--calibration", "20", "--full"});
  EXPECT_EQ(refused.code, ExitCode::failure);
  EXPECT_THAT(refused.err, testing::HasSubstr("nothing is written: the drop is"));
  EXPECT_FALSE(os::exists(path("int8.cotf")));
}

}  // namespace
}  // namespace coterie
