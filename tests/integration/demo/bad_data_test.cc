// A demo that cannot begin: one line that says why, exit code 2, nothing left.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"
#include "tests/unit/tools/idx_files.h"

namespace coterie::integration {
namespace {

using ::testing::HasSubstr;

class DemoBadData : public DemoTest {
 protected:
  void put(const std::string& name, const Bytes& bytes) {
    ASSERT_TRUE(test::is_ok(os::write_file_atomically(directory_ / name, bytes)));
  }
  void expect_refused(const std::vector<std::string>& more, const std::string& words) {
    DemoProcess demo(directory_.path(), small(more));
    EXPECT_EQ(demo.wait(), 2);
    EXPECT_THAT(demo.errors(), HasSubstr(words));
    EXPECT_EQ(std::ranges::count(demo.errors(), '\n'), 1) << demo.errors();
    EXPECT_TRUE(demo.errors().starts_with("coterie demo: ")) << demo.errors();
    EXPECT_EQ(demo.output(), "");
    EXPECT_FALSE(os::exists(run()));
  }
};

TEST_F(DemoBadData, NamesAFileThatIsMissing) {
  expect_refused({"--data", "mnist:" + directory_.path()}, directory_.path() + " has no MNIST file: expected");
  expect_refused({"--data", "cifar10:" + directory_ / "nowhere"}, "expected data_batch_1.bin");
  put("t10k-images-idx3-ubyte", test::idx_images(3));
  expect_refused({"--data", "mnist:" + directory_.path()}, "lacks t10k-labels-idx1-ubyte");
}

TEST_F(DemoBadData, NamesAFileThatIsBroken) {
  Bytes images = test::idx_images(3);
  images.pop_back();
  put("t10k-images-idx3-ubyte", images);
  put("t10k-labels-idx1-ubyte", test::idx_labels({1, 2, 3}));
  expect_refused({"--data", "mnist:" + directory_.path()},
                 directory_ / "t10k-images-idx3-ubyte: has 33 bytes, but 3 images of 2 x 3 pixels need 34");
  put("data_batch_1.bin.gz", {0x1f, 0x8b, 8});
  expect_refused({"--data", "cifar10:" + directory_.path()},
                 directory_ / "data_batch_1.bin.gz: is a gzip file that ends");
}

TEST_F(DemoBadData, SaysWhatDoesNotFitTheData) {
  expect_refused({"--devices", "1000"}, "1438 examples are too few for 1000 devices: each needs at least 2");
  expect_refused({"--data", "dgits"}, "the data must be digits, mnist:DIR");
  put("t10k-images-idx3-ubyte", test::idx_images(60));
  put("t10k-labels-idx1-ubyte", test::idx_labels(Bytes(60, 1)));
  expect_refused({"--data", "mnist:" + directory_.path(), "--model", "lenet5"}, "model lenet5 does not fit mnist");
}

TEST_F(DemoBadData, RefusesAFolderThatIsNotEmptyAndLeavesItAlone) {
  put("full", {});
  ASSERT_TRUE(test::is_ok(os::make_directories(directory_ / "mine/thing")));
  expect_refused({"--out", directory_ / "mine"}, "exists and is not empty; give the run another folder with --out");
  EXPECT_THAT(names_in(directory_ / "mine"), ::testing::ElementsAre("thing"));
}

}  // namespace
}  // namespace coterie::integration
