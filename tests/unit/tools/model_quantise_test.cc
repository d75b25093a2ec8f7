// coterie model quantise and dequantise as commands.
#include "tools/cli/model_quantise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace coterie
