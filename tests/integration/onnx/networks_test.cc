// Well-known networks, exported by PyTorch with random weights: what they compute, their gradients, a
// training step, and the way back to ONNX as onnx.checker sees it. Skipped without PyTorch.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "model_import/onnx/export_onnx.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"

namespace coterie {
namespace {

using namespace test;

constexpr const char* kPython = "/usr/bin/python3";  // Debian's, which has Debian's PyTorch
constexpr int kSkipped = 77;

int run(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(OnnxNetworks, ComputeAndTrainAsInPyTorchAndComeBack) {
  const TemporaryDirectory folder;
  const std::string script = test::source_dir() + "/tests/integration/onnx/make_networks.py";
  const int made = run(std::string(kPython) + " " + script + " " + folder.path() + " >/dev/null 2>&1");
  if (made == kSkipped || made == 127) GTEST_SKIP() << "needs python3-torch and python3-torchvision";
  ASSERT_EQ(made, 0) << script;
  const bool has_checker = run(std::string(kPython) + " -c 'import onnx' >/dev/null 2>&1") == 0;
  size_t networks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() != ".onnx") continue;
    ++networks;
    SCOPED_TRACE(entry.path().stem().string());
    const std::string stem = entry.path().parent_path() / entry.path().stem();
    const auto golden = golden_file(stem + ".golden");
    const std::optional<Model> read = imported_file(stem + ".onnx");
    if (!read) continue;  // an op is left out of this build
    const Model& model = *read;
    EXPECT_LT(distance(predicted(model, inputs_for(model, golden), 3), expected_output(model, golden)), 1e-4);
    expect_gradients(model, golden, 1e-3);
    const Result<Bytes> exported = model_import::export_onnx(model);
    ASSERT_OK(exported);
    const std::string back = stem + ".back.onnx_";
    ASSERT_OK(os::write_file_atomically(back, *exported));
    if (has_checker)
      EXPECT_EQ(
          run(std::string(kPython) + " -c \"import onnx; onnx.checker.check_model('" + back + "', full_check=True)\""),
          0);
    const Model again = imported_file(back).value();
    EXPECT_LT(distance(predicted(again, inputs_for(again, golden), 3), expected_output(again, golden)), 1e-4);
  }
  EXPECT_EQ(networks, 11u);
}

}  // namespace
}  // namespace coterie
