#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tools/cli/model_run.h"
#include "tools/cli/onnx_commands.h"

namespace coterie {
namespace {

TEST(NoOnnxCommands, FailAndSayHowToGetThem) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(convert_model({}), ExitCode::failure);
  EXPECT_EQ(export_model({}), ExitCode::failure);
  EXPECT_EQ(run_model_graph({}), ExitCode::failure);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::HasSubstr("coterie model convert: this build has no ONNX"));
  EXPECT_THAT(said, testing::HasSubstr("coterie model export: this build has no ONNX"));
  EXPECT_THAT(said, testing::HasSubstr("coterie model run: this build has no ONNX"));
  EXPECT_THAT(said, testing::HasSubstr("cmake --preset release"));
}

}  // namespace
}  // namespace coterie
