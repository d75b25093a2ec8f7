#include "tools/data/load.h"

#include <vector>

#include "base/os/file.h"
#include "tools/data/cifar10.h"
#include "tools/data/csv.h"
#include "tools/data/data_name.h"
#include "tools/data/digits.h"
#include "tools/data/gzip.h"
#include "tools/data/idx.h"
#include "tools/data/image_folder.h"
#include "tools/data/labelled_images.h"
#include "tools/data/text.h"

namespace coterie {
namespace {

constexpr uint64_t kFileBytesMax = 1ull << 30;
constexpr uint32_t kMnistClasses = 10;
constexpr uint32_t kSideMax = 1 << 14;    // of a resized image
constexpr uint32_t kLengthMax = 1 << 16;  // of a piece of text

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
  if (!training) return TrainingData{to_table(std::move(*test)), std::nullopt};
  if (test && test->shape != training->shape) {
    return Error(ErrorCode::malformed, directory + ": the test images have another size than the training images");
  }
  TrainingData data{to_table(std::move(*training)), std::nullopt};
  if (test) data.held_out = to_table(std::move(*test));
  return data;
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

Result<TrainingData> load_images(DataName& name) {
  ImageFolderOptions options;
  COT_ASSIGN(options.height, name.take_number("height", 0, 1, kSideMax));
  COT_ASSIGN(options.width, name.take_number("width", options.height, 1, kSideMax));
  if (options.height == 0) options.height = options.width;
  COT_ASSIGN(options.channels, name.take_number("channels", 3, 1, 3));
  if (options.channels == 2) return Error(ErrorCode::invalid_argument, "images: channels must be 1 or 3, is 2");
  COT_TRY(name.check_all_taken("height, width and channels"));
  COT_ASSIGN(LabelledImages images, load_image_folder(name.path(), options));
  return TrainingData{to_table(std::move(images)), std::nullopt};
}

// The value of an option that has two; the first is the default.
Result<bool> is_second(DataName& name, const char* option, const char* first, const char* second) {
  const std::string value = name.take(option).value_or(first);
  if (value == first || value == second) return value == second;
  return Error(ErrorCode::invalid_argument,
               name.kind() + ": " + option + " must be " + first + " or " + second + ", is \"" + value + "\"");
}

Result<TrainingData> of_table(Result<ExampleTable> table, const std::string& path) {
  if (!table) return table.error().with_context(path);
  return TrainingData{std::move(*table), std::nullopt};
}

Result<TrainingData> load_csv(DataName& name) {
  const std::optional<std::string> target = name.take("target");
  if (!target) return Error(ErrorCode::invalid_argument, "csv: say which column is the target: csv:FILE?target=COLUMN");
  CsvOptions options{.target = *target};
  COT_ASSIGN(options.target_is_number, is_second(name, "as", "class", "number"));
  COT_ASSIGN(const bool is_raw, is_second(name, "numbers", "standardised", "raw"));
  COT_ASSIGN(const bool is_coded, is_second(name, "categories", "onehot", "codes"));
  COT_TRY(name.check_all_taken("target, as, numbers and categories"));
  options.standardise = !is_raw;
  options.one_hot = !is_coded;
  COT_ASSIGN(const Bytes file, read_unpacked(name.path()));
  return of_table(csv_table(as_text(file), "csv", options), name.path());
}

Result<TrainingData> load_text(DataName& name) {
  TextOptions options;
  COT_ASSIGN(options.length, name.take_number("length", options.length, 1, kLengthMax));
  COT_ASSIGN(options.is_last_only, is_second(name, "target", "each", "last"));
  COT_TRY(name.check_all_taken("length and target"));
  COT_ASSIGN(const Bytes file, read_unpacked(name.path()));
  return of_table(text_table(as_text(file), "text", options), name.path());
}

}  // namespace

Result<TrainingData> load_data(const std::string& text) {
  if (text == "digits") return TrainingData{to_table(built_in_digits()), std::nullopt};
  COT_ASSIGN(DataName name, DataName::parse(text));
  if (!name.path().empty()) {
    if (name.kind() == "images") return load_images(name);
    if (name.kind() == "csv") return load_csv(name);
    if (name.kind() == "text") return load_text(name);
    const bool is_mnist = name.kind() == "mnist";
    if (is_mnist || name.kind() == "cifar10") {
      COT_TRY(name.check_all_taken("none"));
      return is_mnist ? load_mnist(name.path()) : load_cifar10(name.path());
    }
  }
  return Error(ErrorCode::invalid_argument, std::string("the data must be ") + kDataNames + ", is " + text);
}

}  // namespace coterie
