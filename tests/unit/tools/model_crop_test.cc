// coterie model crop as a command, on every model that the tests have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"
#include "tools/cli/onnx_commands.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

std::string put_zoo_model(const TemporaryDirectory& folder, ModelKind kind) {
  const std::string path = folder / (std::string(to_string(kind)) + ".cotf");
  const Result<Bytes> file = make_model(kind, {28, 28, 1}, 10, 1);
  EXPECT_OK(file);
  EXPECT_OK(os::write_file_atomically(path, *file));
  return path;
}

std::string text_of(const std::string& path) { return std::string(as_text(*os::read_file(path, 1 << 20))); }

// Each model's list gives a build the same as the model itself: cmake/ops_from.py is asked.
TEST(ModelCrop, AListIsWhatCMakeFindsInTheModel) {
  const TemporaryDirectory folder;
  std::vector<std::string> models;
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5, ModelKind::logistic}) {
    models.push_back(put_zoo_model(folder, kind));
  }
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/golden/onnx")) {
    if (entry.path().extension() != ".onnx") continue;
    const Result<Bytes> made = model_from_foreign(entry.path().string());
    if (!made) continue;  // it asks for options
    models.push_back(folder / (entry.path().stem().string() + "_onnx.cotf"));
    ASSERT_OK(os::write_file_atomically(models.back(), *made));
  }
  EXPECT_GE(models.size(), 20u);
  for (const std::string& model : models) {
    const std::string list = model.substr(0, model.size() - 5) + ".txt";
    const CommandOutcome done = run_command({"model", "crop", model, "-o", list});
    ASSERT_EQ(done.code, ExitCode::ok) << done.err;
  }
  const std::string judge = "python3 -B '" + source_dir() + "/tests/unit/tools/same_ops_from.py' '" + source_dir() +
                            "' '" + folder.path() + "'";
  EXPECT_EQ(std::system(judge.c_str()), 0);
}

TEST(ModelCrop, WritesWhatSeveralModelsAndAJobNeed) {
  const TemporaryDirectory folder;
  const std::string lenet = put_zoo_model(folder, ModelKind::lenet5), cnn = put_zoo_model(folder, ModelKind::cnn);
  const std::string plan = folder / "job.json", list = folder / "ops.txt";
  ASSERT_OK(os::write_file_atomically(
      plan, as_bytes(R"({"name": "n", "population": "p", "training": {"optimizer": {"kind": "adamw"}}})")));
  const CommandOutcome done = run_command({"model", "crop", lenet, cnn, "--plan", plan, "--loss", "huber", "-o", list});
  ASSERT_EQ(done.code, ExitCode::ok) << done.err;
  EXPECT_THAT(done.out, HasSubstr("optimizers: adamw\n"));
  EXPECT_THAT(done.out, HasSubstr("cmake --preset engine -DCOTERIE_OPS_FROM=" + list));
  EXPECT_EQ(text_of(list),
            "# coterie model crop lenet5.cotf cnn.cotf\ndense conv2d max_pool2d relu flatten\n"
            "softmax_cross_entropy huber adamw\n-depthwise -fft\n");
  EXPECT_EQ(run_command({"model", "crop", lenet, cnn, "--check", list}).code, ExitCode::ok);
}

TEST(ModelCrop, SaysWhatAListRefuses) {
  const TemporaryDirectory folder;
  const std::string mlp = put_zoo_model(folder, ModelKind::mlp), lenet = put_zoo_model(folder, ModelKind::lenet5);
  const std::string list = folder / "ops.txt";
  ASSERT_EQ(run_command({"model", "crop", mlp, "-o", list}).code, ExitCode::ok);
  const CommandOutcome lacks = run_command({"model", "crop", mlp, lenet, "--check", list});
  EXPECT_EQ(lacks.code, ExitCode::failure);
  EXPECT_THAT(lacks.err, HasSubstr("refuses " + lenet + ": it lacks conv2d, max_pool2d"));
  const CommandOutcome optimizer = run_command({"model", "crop", mlp, "--optimizer", "lion", "--check", list});
  EXPECT_EQ(optimizer.code, ExitCode::failure);
  EXPECT_THAT(optimizer.err, HasSubstr("it lacks lion"));
  const std::string plan = folder / "job.json";
  ASSERT_OK(os::write_file_atomically(
      plan, as_bytes(R"({"name": "n", "population": "p", "training": {"augment": "flip"}})")));
  EXPECT_EQ(run_command({"model", "crop", mlp, "--plan", plan, "--check", list}).code, ExitCode::ok);
  ASSERT_EQ(run_command({"model", "crop", mlp, "--without", "augmentation", "-o", list}).code, ExitCode::ok);
  const CommandOutcome augmenting = run_command({"model", "crop", mlp, "--plan", plan, "--check", list});
  EXPECT_EQ(augmenting.code, ExitCode::failure);
  EXPECT_THAT(augmenting.err, HasSubstr("refuses " + plan + ": it lacks augmentation"));
}

TEST(ModelCrop, TheSmallestBuildHasWhatJobsAskFor) {
  const TemporaryDirectory folder;
  const std::string mlp = put_zoo_model(folder, ModelKind::mlp), list = folder / "ops.txt", plan = folder / "job.json";
  ASSERT_OK(os::write_file_atomically(
      plan, as_bytes(R"({"name": "n", "population": "p", "training": {"storage": "bf16"}})")));
  ASSERT_EQ(run_command({"model", "crop", mlp, "--smallest", "-o", list}).code, ExitCode::ok);
  EXPECT_THAT(text_of(list), HasSubstr("-augmentation -avx2 -avx512 -bf16 -channels"));
  const CommandOutcome lacks = run_command({"model", "crop", mlp, "--plan", plan, "--check", list});
  EXPECT_EQ(lacks.code, ExitCode::failure);
  EXPECT_THAT(lacks.err, HasSubstr("refuses " + plan + ": it lacks bf16"));
  const CommandOutcome without = run_command({"model", "crop", mlp, "--plan", plan, "--without", "bf16"});
  EXPECT_THAT(without.err, HasSubstr("trains with bf16, which --without leaves out"));
  ASSERT_EQ(run_command({"model", "crop", mlp, "--plan", plan, "--smallest", "-o", list}).code, ExitCode::ok);
  EXPECT_EQ(text_of(list).find("-bf16"), std::string::npos);
  EXPECT_EQ(run_command({"model", "crop", mlp, "--plan", plan, "--check", list}).code, ExitCode::ok);
}

TEST(ModelCrop, NamesWhatItCannotRead) {
  const TemporaryDirectory folder;
  const std::string mlp = put_zoo_model(folder, ModelKind::mlp), text = folder / "text.cotf";
  EXPECT_EQ(run_command({"model", "crop"}).code, ExitCode::usage);
  EXPECT_THAT(run_command({"model", "crop", mlp, "--optimizer", "adm"}).err, HasSubstr("adm"));
  ASSERT_OK(os::write_file_atomically(text, as_bytes("conv2d")));
  const CommandOutcome no_model = run_command({"model", "crop", mlp, text});
  EXPECT_EQ(no_model.code, ExitCode::usage);
  EXPECT_THAT(no_model.err, HasSubstr(text));
  EXPECT_THAT(run_command({"model", "crop", mlp, "-o", mlp}).err, HasSubstr("MODEL"));
  const CommandOutcome no_tree = run_command(
      {"model", "crop", mlp, "-o", folder / "ops.txt", "--build", folder / "build", "--source", folder.path()});
  EXPECT_EQ(no_tree.code, ExitCode::failure);
  EXPECT_THAT(no_tree.err, HasSubstr("is no source tree of Coterie"));
}

}  // namespace
}  // namespace coterie::test
