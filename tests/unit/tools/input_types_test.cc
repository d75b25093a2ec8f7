// Whole numbers for a model that looks them up, and other numbers for one that does not.
#include "tools/data/input_types.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/npy_files.h"
#include "tests/unit/tools/run_command.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

// Two tokens of an alphabet of five, and which of two classes they are.
class InputTypes : public ::testing::Test {
 protected:
  void SetUp() override {
    ModelBuilder build("tokens", {2}, 3, DataType::int32);
    const Result<Bytes> file = build.finish(build.dense(build.flatten(build.embedding(build.input(), 5, 4)), 2));
    ASSERT_OK(file);
    ASSERT_OK(os::write_file_atomically(folder_ / "net.cotf", *file));
    ASSERT_OK(os::write_file_atomically(folder_ / "x.npy", npy_file<int64_t>("<i8", "(3, 2)", {0, 4, 3, 1, 2, 2})));
    ASSERT_OK(os::write_file_atomically(folder_ / "y.npy", npy_file<int64_t>("<i8", "(3,)", {0, 1, 0})));
  }
  CommandOutcome evaluate(const std::string& model, const std::string& data) {
    return run_command({"model", "evaluate", folder_ / model, "--data", data, "-o", "json"});
  }
  std::string arrays(const std::string& options) const {
    return "npy:" + (folder_ / "x.npy") + "," + (folder_ / "y.npy") + options;
  }

  TemporaryDirectory folder_;
};

TEST_F(InputTypes, ArraysOfWholeNumbersAreLookedUp) {
  const CommandOutcome said = evaluate("net.cotf", arrays("?numbers=raw"));
  ASSERT_EQ(said.code, ExitCode::ok) << said.err;
  EXPECT_EQ(nlohmann::json::parse(said.out)["examples"], 3);
  const CommandOutcome trained = run_command({"model", "train", folder_ / "net.cotf", "--data", arrays("?numbers=raw"),
                                              "--quiet", "-o", folder_ / "out.cotf"});
  EXPECT_EQ(trained.code, ExitCode::ok) << trained.err;
}

TEST_F(InputTypes, AFractionIsNoIndex) {
  const CommandOutcome said = evaluate("net.cotf", arrays(""));
  EXPECT_EQ(said.code, ExitCode::usage);
  EXPECT_THAT(said.err, HasSubstr("takes whole numbers (int32) as input input, and example 0 has -1.336306"));
  EXPECT_THAT(said.err, HasSubstr("numbers=raw"));
}

TEST_F(InputTypes, IndicesAreNoNumbers) {
  ASSERT_EQ(run_command({"model", "new", "logistic", "--input", "2", "--classes", "2", "-o", folder_ / "f.cotf"}).code,
            ExitCode::ok);
  ASSERT_OK(os::write_file_atomically(folder_ / "t.csv", as_bytes("a,b,y\nred,big,0\nblue,big,1\nred,small,0\n")));
  const std::string codes = "csv:" + (folder_ / "t.csv") + "?target=y&categories=codes";
  EXPECT_EQ(evaluate("net.cotf", codes).code, ExitCode::ok);
  const CommandOutcome said = evaluate("f.cotf", codes);
  EXPECT_EQ(said.code, ExitCode::usage);
  EXPECT_THAT(said.err, HasSubstr("takes float32 as input"));
}

}  // namespace
}  // namespace coterie::test
