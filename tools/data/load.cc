#include "tools/data/load.h"

#include <vector>

#include "base/os/file.h"
#include "tools/data/cifar10.h"
#include "tools/data/digits.h"
#include "tools/data/gzip.h"
#include "tools/data/idx.h"

namespace coterie {
namespace {

constexpr uint64_t kFileBytesMax = 1ull << 30;
constexpr uint32_t kMnistClasses = 10;

// The first of DIR/name and DIR/name.gz that exists; empty if neither does.
std::string find_file(const std::string& directory, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const char* suffix : {"", ".gz"}) {
      const std::string path = directory + "/" + name + suffix;
      if (os::exists(path)) return path;
    }
  }
  return {};
}

Result<Bytes> read_unpacked(const std::string& path) {
  COT_ASSIGN(Bytes bytes, os::read_file(path, kFileBytesMax));
  Result<Bytes> unpacked = gunzip_if_packed(std::move(bytes), kFileBytesMax);
  if (!unpacked) return unpacked.error().with_context(path);
  return unpacked;
}

// The part "train" or "t10k" of MNIST; nothing if neither of its files is there.
Result<std::optional<LabelledImages>> load_mnist_part(const std::string& directory, const std::string& part) {
  const std::string images_path = find_file(directory, {part + "-images-idx3-ubyte", part + "-images.idx3-ubyte"});
  const std::string labels_path = find_file(directory, {part + "-labels-idx1-ubyte", part + "-labels.idx1-ubyte"});
  if (images_path.empty() && labels_path.empty()) return std::optional<LabelledImages>();
  if (images_path.empty() || labels_path.empty()) {
    const std::string missing = part + (images_path.empty() ? "-images-idx3-ubyte" : "-labels-idx1-ubyte");
    return Error(ErrorCode::not_found, directory + " lacks " + missing + " (or " + missing + ".gz)");
  }
  COT_ASSIGN(const Bytes images_file, read_unpacked(images_path));
  COT_ASSIGN(const Bytes labels_file, read_unpacked(labels_path));
  const Result<IdxImages> images = parse_idx_images(images_file);
  if (!images) return images.error().with_context(images_path);
  const Result<ByteView> labels = parse_idx_labels(labels_file);
  if (!labels) return labels.error().with_context(labels_path);
  Result<LabelledImages> joined = join_idx(*images, *labels, kMnistClasses);
  if (!joined) return joined.error().with_context(labels_path);
  joined->name = "mnist";
  return std::optional<LabelledImages>(std::move(*joined));
}

Result<std::optional<LabelledImages>> load_cifar10_files(const std::string& directory,
                                                         const std::vector<std::string>& names) {
  std::optional<LabelledImages> all;
  for (const std::string& name : names) {
    const std::string path = find_file(directory, {name});
    if (path.empty()) continue;
    COT_ASSIGN(const Bytes file, read_unpacked(path));
    Result<LabelledImages> images = parse_cifar10(file);
    if (!images) return images.error().with_context(path);
    if (all) append(*all, *images);
    else all = std::move(*images);
  }
  return all;
}

Result<TrainingData> put_together(std::optional<LabelledImages> training, std::optional<LabelledImages> test,
                                  const std::string& directory, const std::string& expected) {
  if (!training && !test) return Error(ErrorCode::not_found, directory + " has no " + expected);
  if (!training) return TrainingData{std::move(*test), std::nullopt};
  if (test && test->shape != training->shape) {
    return Error(ErrorCode::malformed, directory + ": the test images have another size than the training images");
  }
  return TrainingData{std::move(*training), std::move(test)};
}

Result<TrainingData> load_mnist(const std::string& directory) {
  COT_ASSIGN(std::optional<LabelledImages> training, load_mnist_part(directory, "train"));
  COT_ASSIGN(std::optional<LabelledImages> test, load_mnist_part(directory, "t10k"));
  return put_together(std::move(training), std::move(test), directory,
                      "MNIST file: expected train-images-idx3-ubyte or t10k-images-idx3-ubyte, gzipped or not");
}

Result<TrainingData> load_cifar10(const std::string& directory) {
  COT_ASSIGN(std::optional<LabelledImages> training,
             load_cifar10_files(directory, {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                            "data_batch_4.bin", "data_batch_5.bin"}));
  COT_ASSIGN(std::optional<LabelledImages> test, load_cifar10_files(directory, {"test_batch.bin"}));
  return put_together(std::move(training), std::move(test), directory,
                      "CIFAR-10 file: expected data_batch_1.bin (the binary version)");
}

}  // namespace

Result<TrainingData> load_data(const std::string& name) {
  const size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const std::string directory = colon == std::string::npos ? "" : name.substr(colon + 1);
  if (name == "digits") return TrainingData{built_in_digits(), std::nullopt};
  if (kind == "mnist" && !directory.empty()) return load_mnist(directory);
  if (kind == "cifar10" && !directory.empty()) return load_cifar10(directory);
  return Error(ErrorCode::invalid_argument, "the data must be digits, mnist:DIR or cifar10:DIR, is " + name);
}

}  // namespace coterie
