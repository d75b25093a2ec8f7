#include "tools/data/load.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/idx_files.h"
#include "tests/unit/tools/image_files.h"
#include "tests/unit/tools/stored_gzip.h"
#include "tests/unit/tools/stored_zstd.h"

namespace coterie {
namespace {

using test::idx_images;
using test::idx_labels;
using test::stored_gzip;
using testing::ElementsAre;

class LoadData : public testing::Test {
 protected:
  void put(const std::string& name, const Bytes& bytes) {
    ASSERT_OK(os::write_file_atomically(directory_ / name, bytes));
  }
  void put_mnist(const std::string& part, const Bytes& labels) {
    put(part + "-images-idx3-ubyte", idx_images(static_cast<uint32_t>(labels.size())));
    put(part + "-labels-idx1-ubyte", idx_labels(labels));
  }
  Result<TrainingData> mnist() const { return load_data("mnist:" + directory_.path()); }
  Result<TrainingData> cifar10() const { return load_data("cifar10:" + directory_.path()); }

  test::TemporaryDirectory directory_;
};

TEST_F(LoadData, TakesTheTestPartOfMnistAsHeldOut) {
  put_mnist("train", {1, 2, 3});
  put_mnist("t10k", {4});
  const auto data = mnist();
  ASSERT_OK(data);
  EXPECT_EQ(data->examples.header.name, "mnist");
  EXPECT_THAT(data->examples.labels(), ElementsAre(1, 2, 3));
  ASSERT_TRUE(data->held_out);
  EXPECT_THAT(data->held_out->labels(), ElementsAre(4));
}

TEST_F(LoadData, TakesOnePartOfMnistAloneAsAllThereIs) {
  put_mnist("t10k", {4, 5});
  const auto data = mnist();
  ASSERT_OK(data);
  EXPECT_THAT(data->examples.labels(), ElementsAre(4, 5));
  EXPECT_FALSE(data->held_out);
}

TEST_F(LoadData, ReadsGzippedFilesAndTheNamesWithADot) {
  put("train-images.idx3-ubyte.gz", stored_gzip(idx_images(2)));
  put("train-labels.idx1-ubyte", stored_gzip(idx_labels({8, 9})));  // packed, whatever it is called
  const auto data = mnist();
  ASSERT_OK(data);
  EXPECT_THAT(data->examples.labels(), ElementsAre(8, 9));
}

TEST_F(LoadData, NamesTheHalfOfMnistThatIsMissing) {
  put("train-images-idx3-ubyte", idx_images(1));
  EXPECT_ERROR(mnist(), ErrorCode::not_found, directory_.path() + " lacks train-labels-idx1-ubyte");
  EXPECT_ERROR(load_data("mnist:" + directory_ / "nowhere"), ErrorCode::not_found, "has no MNIST file: expected");
}

TEST_F(LoadData, NamesTheFileThatIsBrokenInOneLine) {
  Bytes packed = stored_gzip(idx_labels({1}));
  packed.resize(packed.size() - 9);
  put("train-images-idx3-ubyte", idx_images(1));
  put("train-labels-idx1-ubyte.gz", packed);
  const auto data = mnist();
  EXPECT_ERROR(data, ErrorCode::malformed,
               directory_ / "train-labels-idx1-ubyte.gz: is a gzip file that ends too early");
  EXPECT_EQ(data.error().message().find('\n'), std::string::npos);
}

TEST_F(LoadData, RefusesTestImagesOfAnotherSize) {
  put_mnist("train", {1});
  put("t10k-images-idx3-ubyte", test::idx_file({0x0803, 1, 3, 3}, Bytes(9)));
  put("t10k-labels-idx1-ubyte", idx_labels({1}));
  EXPECT_ERROR(mnist(), ErrorCode::malformed, "the test images have another size than the training images");
}

TEST_F(LoadData, PutsTheBatchesOfCifar10Together) {
  const auto batch = [](uint8_t label) {
    Bytes bytes(3073, label);
    return bytes;
  };
  put("data_batch_1.bin", batch(1));
  put("data_batch_3.bin.gz", stored_gzip(batch(3)));
  put("test_batch.bin", batch(7));
  const auto data = cifar10();
  ASSERT_OK(data);
  EXPECT_THAT(data->examples.labels(), ElementsAre(1, 3));
  ASSERT_TRUE(data->held_out);
  EXPECT_THAT(data->held_out->labels(), ElementsAre(7));
}

TEST_F(LoadData, SaysWhichCifar10FileItExpectsAndWhichIsBroken) {
  EXPECT_ERROR(cifar10(), ErrorCode::not_found, "expected data_batch_1.bin");
  put("data_batch_2.bin", Bytes(3072));
  EXPECT_ERROR(cifar10(), ErrorCode::malformed, directory_ / "data_batch_2.bin: is not a CIFAR-10 binary batch");
}

TEST_F(LoadData, ReadsTablesTextsAndFoldersWithTheirOptions) {
  put("t.csv", stored_gzip(Bytes{'x', ',', 'y', '\n', '1', ',', 'a', '\n', '3', ',', 'b', '\n'}));
  const auto csv = load_data("csv:" + directory_ / "t.csv?target=y&numbers=raw");
  ASSERT_OK(csv);
  EXPECT_THAT(csv->examples.labels(), ElementsAre(0, 1));
  const auto file = dataset_file(csv->examples);
  EXPECT_OK(DatasetSource::load(file));
  put("t.txt", test::stored_zstd(Bytes{'a', 'b', 'a', 'b', 'a'}));
  const auto text = load_data("text:" + directory_ / "t.txt?length=2&target=last");
  ASSERT_OK(text);
  EXPECT_THAT(text->examples.labels(), ElementsAre(0, 0));
  put("x.png", test::png_file({.left = {1}, .right = {2}}));
  std::filesystem::create_directory(directory_ / "one");
  std::filesystem::rename(directory_ / "x.png", directory_ / "one/x.png");
  const auto images = load_data("images:" + directory_.path() + "?width=3&channels=1");
  ASSERT_OK(images);
  EXPECT_THAT(images->examples.header.inputs[0].shape, ElementsAre(3, 3, 1));
}

TEST_F(LoadData, NamesTheOptionItCannotTake) {
  const auto expect = [](const std::string& name, const std::string& words) {
    EXPECT_ERROR(load_data(name), ErrorCode::invalid_argument, words);
  };
  expect("csv:f", "csv: say which column is the target");
  expect("csv:f?target", "csv:f?target: an option must be NAME=VALUE, is \"target\"");
  expect("csv:f?target=a&", "an option must be NAME=VALUE, is \"\"");
  expect("csv:f?target=a&target=b", "gives target twice");
  expect("csv:f?target=a&colour=b",
         "csv: has no option colour; it has target, as, numbers, categories, missing, drop, "
         "category, text, length and contract");
  expect("csv:f?target=a&as=text", "csv: as must be class or number, is \"text\"");
  expect("text:f?length=0", "text: length must be a number in [1, 65536], is \"0\"");
  expect("text:f?length=9x", "is \"9x\"");
  expect("images:d?channels=2", "images: channels must be 1 or 3, is 2");
  expect("mnist:d?height=3", "mnist: has no option height; it has none");
}

TEST_F(LoadData, KnowsItsNamesAndSaysSo) {
  EXPECT_OK(load_data("digits"));
  for (const char* name : {"", "digit", "digits:x", "mnist", "mnist:", "cifar10:", "cifar100:x"}) {
    EXPECT_ERROR(load_data(name), ErrorCode::invalid_argument, "must be digits, mnist:DIR") << name;
  }
}

}  // namespace
}  // namespace coterie
