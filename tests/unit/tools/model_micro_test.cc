// coterie model export --c as a command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie {
namespace {

using namespace test;

TEST(ModelExportC, WritesTwoFilesOrNothing) {
  const TemporaryDirectory folder;
  const std::string model = folder / "net.cotf", to = folder / "firmware";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "-o", model}).code,
            ExitCode::ok);
  const CommandOutcome refused = run_command({"model", "export", model, "--c", to, "--train", "--arena-max", "16K"});
  EXPECT_NE(refused.code, ExitCode::ok);
  EXPECT_THAT(refused.err, testing::HasSubstr("the arena would have 39036 bytes"));
  EXPECT_THAT(refused.err, testing::HasSubstr("16384 bytes are allowed"));
  EXPECT_FALSE(std::filesystem::exists(to));
  const CommandOutcome done = run_command({"model", "export", model, "--c", to, "--train", "--arena-max", "64K"});
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  EXPECT_THAT(done.out, testing::HasSubstr("arena 39,036 bytes of RAM, parameters 19,240 bytes of flash"));
  EXPECT_TRUE(std::filesystem::exists(to + "/mlp.h"));
  EXPECT_TRUE(std::filesystem::exists(to + "/mlp.c"));
}

TEST(ModelExportC, WithTheClientWhereItTrains) {
  const TemporaryDirectory folder;
  const std::string model = folder / "net.cotf", to = folder / "firmware";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "-o", model}).code,
            ExitCode::ok);
  EXPECT_EQ(run_command({"model", "export", model, "--c", to, "--client"}).code, ExitCode::usage);
  const CommandOutcome done = run_command({"model", "export", model, "--c", to, "--train", "--client"});
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  EXPECT_THAT(done.out, testing::HasSubstr("firmware/coterie_tiny.c"));
  const auto text_of = [&](const char* name) {
    return std::string(as_text(os::read_file(to + "/" + name, 1 << 20).value()));
  };
  EXPECT_THAT(text_of("mlp.h"), testing::HasSubstr("extern const coterie_tiny_model mlp_model;"));
  EXPECT_THAT(text_of("mlp.c"), testing::HasSubstr("const coterie_tiny_model mlp_model = {"));
  EXPECT_THAT(text_of("coterie_tiny.h"), testing::HasSubstr("coterie_tiny_take_part"));
  EXPECT_THAT(text_of("coterie_tiny.c"), testing::HasSubstr("coterie_tiny_take_part"));
}

// A trunk whose two heads stand side by side is no chain of layers; what its own output needs is one.
TEST(ModelExportC, OfSeveralOutputsComputesItsOwn) {
  const TemporaryDirectory folder;
  ModelBuilder build("heads", {8}, 7);
  const TensorId trunk = build.relu(build.dense(build.input(), 6));
  const TensorId own = build.dense(trunk, 3), other = build.dense(trunk, 2);
  const Result<Bytes> file = build.finish(own, std::vector{other});
  ASSERT_OK(file);
  const std::string model = folder / "net.cotf", to = folder / "firmware";
  ASSERT_OK(os::write_file_atomically(model, *file));
  const CommandOutcome done = run_command({"model", "export", model, "--c", to});
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  // 8 * 6 + 6 and 6 * 3 + 3 floats.
  EXPECT_THAT(done.out, testing::HasSubstr("parameters 300 bytes of flash"));
}

TEST(ModelExportC, OfInt8) {
  const TemporaryDirectory folder;
  const std::string model = folder / "net.cotf", small = folder / "int8.cotf", to = folder / "firmware";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "-o", model}).code,
            ExitCode::ok);
  ASSERT_EQ(run_command({"model", "quantise", model, "--data", "digits", "-o", small, "--max-drop", "100%",
                         "--calibration", "20", "--full"})
                .code,
            ExitCode::ok);
  const CommandOutcome other = run_command({"model", "export", model, "--c", to, "--int8"});
  EXPECT_EQ(other.code, ExitCode::usage);
  EXPECT_THAT(other.err, testing::HasSubstr("computes in float32"));
  EXPECT_FALSE(std::filesystem::exists(to));
  const CommandOutcome done = run_command({"model", "export", small, "--c", to, "--int8"});
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  // Each parameter a byte, then a bias and a multiplier an output: 64 * 64 + 64 * 10 + 8 * 74.
  EXPECT_THAT(done.out, testing::HasSubstr("arena 128 bytes of RAM, parameters 5,328 bytes of flash"));
  EXPECT_TRUE(std::filesystem::exists(to + "/mlp.c"));
  EXPECT_EQ(run_command({"model", "export", small, "--c", to, "--int8", "--train"}).code, ExitCode::usage);
  EXPECT_THAT(run_command({"model", "export", small, "--c", to}).err, testing::HasSubstr("add --int8"));
  EXPECT_THAT(run_command({"model", "export", small, "--c", to, "--train"}).err, testing::HasSubstr("dequantise"));
}

// An export again replaces its own files; a program of the board's, which happens to be called as the model is, stays.
TEST(ModelExportC, ReplacesItsOwnFilesAlone) {
  const TemporaryDirectory folder;
  const std::string model = folder / "net.cotf", to = folder / "my firmware";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "-o", model}).code,
            ExitCode::ok);
  const CommandOutcome first = run_command({"model", "export", model, "--c", to, "--train", "--client"});
  EXPECT_EQ(first.code, ExitCode::ok) << first.err;
  EXPECT_THAT(first.out, testing::HasSubstr("'" + to + "/mlp.c'"));  // as a shell takes it
  EXPECT_EQ(run_command({"model", "export", model, "--c", to, "--train", "--client"}).code, ExitCode::ok);
  for (const char* const name : {"/mlp.c", "/coterie_tiny.h"}) {
    const std::string text = "int main(void) { return 0; }\n";
    ASSERT_OK(os::write_file_atomically(to + name, as_bytes(text)));
    const CommandOutcome refused = run_command({"model", "export", model, "--c", to, "--train", "--client"});
    EXPECT_EQ(refused.code, ExitCode::failure);
    EXPECT_THAT(refused.err, testing::HasSubstr(std::string(name) + " is there, and is none that"));
    EXPECT_EQ(as_text(os::read_file(to + name, 1 << 20).value()), text);
    ASSERT_OK(os::remove_file(to + name));
  }
}

TEST(ModelExportC, TellsWhatMakesANormPartOfItsLayer) {
  const TemporaryDirectory folder;
  ModelBuilder build("normed", {4, 4, 1}, 7);
  const TensorId normed = build.batch_norm(build.conv2d(build.input(), {.filters = 2, .kernel = 3}));
  const Result<Bytes> file = build.finish(build.dense(build.flatten(normed), 3));
  ASSERT_OK(file);
  const std::string model = folder / "net.cotf", folded = folder / "folded.cotf", to = folder / "firmware";
  ASSERT_OK(os::write_file_atomically(model, *file));
  EXPECT_THAT(run_command({"model", "export", model, "--c", to}).err,
              testing::HasSubstr("`coterie model optimise` makes a norm part of the layer in front of it"));
  ASSERT_EQ(run_command({"model", "optimise", model, "-o", folded}).code, ExitCode::ok);
  EXPECT_EQ(run_command({"model", "export", folded, "--c", to}).code, ExitCode::ok);
}

// An imported image net: a dense layer takes over the transpose in front of the flattened image.
TEST(ModelExportC, OfAnImageThatIsFlattenedChannelsFirst) {
  const TemporaryDirectory folder;
  ModelBuilder build("imported", {4, 4, 2}, 7);
  const TensorId turned = build.op(OpKind::transpose, {build.input()}, TransposeAttributes{{0, 3, 1, 2}}, "turned");
  const Result<Bytes> file = build.finish(build.dense(build.flatten(turned), 3));
  ASSERT_OK(file);
  const std::string model = folder / "net.cotf", to = folder / "firmware";
  ASSERT_OK(os::write_file_atomically(model, *file));
  const CommandOutcome done = run_command({"model", "export", model, "--c", to});
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  const CommandOutcome trains = run_command({"model", "export", model, "--c", to, "--train"});
  EXPECT_EQ(trains.code, ExitCode::usage);
  EXPECT_THAT(trains.err, testing::HasSubstr("turned (transpose) cannot be written as C: C that trains keeps"));
}

TEST(ModelExportC, IsToldWhereToWrite) {
  EXPECT_THAT(run_command({"model", "export", "net.cotf"}).err, testing::HasSubstr("--file or --c"));
  EXPECT_THAT(run_command({"model", "export", "net.cotf", "--c", ""}).err,
              testing::HasSubstr("--c: expected a folder"));
  EXPECT_EQ(run_command({"model", "export", "net.cotf", "--c", "a", "-o", "b"}).code, ExitCode::usage);
  EXPECT_EQ(run_command({"model", "export", "net.cotf", "-o", "b", "--train"}).code, ExitCode::usage);
}

}  // namespace
}  // namespace coterie
