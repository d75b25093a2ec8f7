#include "tools/data/load.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/os/file.h"
#include "secure/crypto/digest.h"
#include "tools/data/cifar10.h"
#include "tools/data/csv.h"
#include "tools/data/csv_options.h"
#include "tools/data/csv_targets.h"
#include "tools/data/data_name.h"
#include "tools/data/digits.h"
#include "tools/data/idx.h"
#include "tools/data/image_folder.h"
#include "tools/data/labelled_images.h"
#include "tools/data/npy.h"
#include "tools/data/packed_file.h"
#include "tools/data/play.h"
#include "tools/data/shard_folder.h"
#include "tools/data/target_scale.h"
#include "tools/data/text.h"
#include "tools/data_cache/cached_load.h"

namespace coterie {
namespace {

constexpr uint64_t kFileBytesMax = 1ull << 30;  // of a file, and of what it unpacks to
constexpr uint32_t kMnistClasses = 10;
constexpr uint32_t kSideMax = 1 << 14;    // of a resized image
constexpr uint32_t kLengthMax = 1 << 16;  // of a piece of text

// The first of DIR/name, DIR/name.gz and DIR/name.zst that exists; empty if none does.
std::string find_file(const std::string& directory, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const char* suffix : {"", ".gz", ".zst"}) {
      const std::string path = directory + "/" + name + suffix;
      if (os::exists(path)) return path;
    }
  }
  return {};
}

// The part "train" or "t10k" of MNIST; nothing if neither of its files is there.
Result<std::optional<LabelledImages>> load_mnist_part(const std::string& directory, const std::string& part,
                                                      const LoadWatchers& watchers) {
  const std::string images_path = find_file(directory, {part + "-images-idx3-ubyte", part + "-images.idx3-ubyte"});
  const std::string labels_path = find_file(directory, {part + "-labels-idx1-ubyte", part + "-labels.idx1-ubyte"});
  if (images_path.empty() && labels_path.empty()) return std::optional<LabelledImages>();
  if (images_path.empty() || labels_path.empty()) {
    const std::string missing = part + (images_path.empty() ? "-images-idx3-ubyte" : "-labels-idx1-ubyte");
    return Error(ErrorCode::not_found, directory + " lacks " + missing + " (or " + missing + ".gz, .zst)");
  }
  COT_ASSIGN(const Bytes images_file, read_unpacked(images_path, kFileBytesMax, watchers));
  COT_ASSIGN(const Bytes labels_file, read_unpacked(labels_path, kFileBytesMax, watchers));
  const Result<IdxImages> images =
      timed(watchers.stages, DataStage::parse, images_file.size(), [&] { return parse_idx_images(images_file); });
  if (!images) return images.error().with_context(images_path);
  const Result<ByteView> labels = parse_idx_labels(labels_file);
  if (!labels) return labels.error().with_context(labels_path);
  Result<LabelledImages> joined = join_idx(*images, *labels, kMnistClasses);
  if (!joined) return joined.error().with_context(labels_path);
  joined->name = "mnist";
  return std::optional<LabelledImages>(std::move(*joined));
}

Result<std::optional<LabelledImages>> load_cifar10_files(const std::string& directory,
                                                         const std::vector<std::string>& names,
                                                         const LoadWatchers& watchers) {
  std::optional<LabelledImages> all;
  for (const std::string& name : names) {
    const std::string path = find_file(directory, {name});
    if (path.empty()) continue;
    COT_ASSIGN(const Bytes file, read_unpacked(path, kFileBytesMax, watchers));
    Result<LabelledImages> images =
        timed(watchers.stages, DataStage::parse, file.size(), [&] { return parse_cifar10(file); });
    if (!images) return images.error().with_context(path);
    if (all) append(*all, *images);
    else all = std::move(*images);
  }
  return all;
}

// Images whose classes are numbers, as the examples of a contract.
TrainingData of_images(LabelledImages images) {
  TrainingData data;
  data.contract.kind = images.class_names.empty() ? "examples" : "images";
  data.contract.name = images.name;
  data.contract.target.classes = std::move(images.class_names);
  data.notes = std::move(images.notes);
  for (uint32_t i = static_cast<uint32_t>(data.contract.target.classes.size()); i < images.classes; ++i) {
    data.contract.target.classes.push_back(std::to_string(i));
  }
  data.examples = to_table(std::move(images));
  data.contract.inputs = data.examples.header.inputs;
  return data;
}

Result<TrainingData> put_together(std::optional<LabelledImages> training, std::optional<LabelledImages> test,
                                  const std::string& directory, const std::string& expected) {
  if (!training && !test) return Error(ErrorCode::not_found, directory + " has no " + expected);
  if (!training) return of_images(std::move(*test));
  if (test && test->shape != training->shape) {
    return Error(ErrorCode::malformed, directory + ": the test images have another size than the training images");
  }
  TrainingData data = of_images(std::move(*training));
  if (test) data.held_out = to_table(std::move(*test));
  return data;
}

Result<TrainingData> load_mnist(const std::string& directory, const LoadWatchers& watchers) {
  COT_ASSIGN(std::optional<LabelledImages> training, load_mnist_part(directory, "train", watchers));
  COT_ASSIGN(std::optional<LabelledImages> test, load_mnist_part(directory, "t10k", watchers));
  return put_together(std::move(training), std::move(test), directory,
                      "MNIST file: expected train-images-idx3-ubyte or t10k-images-idx3-ubyte, gzipped or not");
}

Result<TrainingData> load_cifar10(const std::string& directory, const LoadWatchers& watchers) {
  COT_ASSIGN(std::optional<LabelledImages> training,
             load_cifar10_files(
                 directory,
                 {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
                 watchers));
  COT_ASSIGN(std::optional<LabelledImages> test, load_cifar10_files(directory, {"test_batch.bin"}, watchers));
  return put_together(std::move(training), std::move(test), directory,
                      "CIFAR-10 file: expected data_batch_1.bin (the binary version)");
}

// The contract that the name speaks of, which then takes no other option.
Result<std::optional<InputContract>> contract_of(DataName& name, const char* kind, SourceLog* sources) {
  const std::optional<std::string> path = name.take("contract");
  if (!path) return std::optional<InputContract>();
  if (const Status alone = name.check_all_taken("none beside contract, which says all"); !alone) return alone.error();
  COT_ASSIGN(const Bytes file, os::read_file(*path, kContractBytesMax));
  Result<InputContract> contract = parse_contract(as_text(file));
  if (!contract) return contract.error().with_context(*path);
  if (sources != nullptr) sources->add(*path, content_digest(file));
  if (contract->kind != kind) {
    return Error(ErrorCode::invalid_argument,
                 *path + " is the contract of data of kind " + contract->kind + ", expected " + kind);
  }
  return std::optional<InputContract>(std::move(*contract));
}

Result<ImageFolderOptions> image_options(DataName& name, const std::optional<InputContract>& contract) {
  ImageFolderOptions options;
  if (contract) {
    const Shape& shape = contract->inputs[0].shape;
    if (shape.size() != 3 || (shape[2] != 1 && shape[2] != 3) || contract->target.is_number ||
        std::max(shape[0], shape[1]) > kSideMax) {
      return Error(ErrorCode::malformed, "images: the contract is not one of images");
    }
    options.height = static_cast<uint32_t>(shape[0]);
    options.width = static_cast<uint32_t>(shape[1]);
    options.channels = static_cast<uint32_t>(shape[2]);
    options.classes = contract->target.classes;
    return options;
  }
  COT_ASSIGN(options.height, name.take_number("height", 0, 1, kSideMax));
  COT_ASSIGN(options.width, name.take_number("width", options.height, 1, kSideMax));
  if (options.height == 0) options.height = options.width;
  COT_ASSIGN(options.channels, name.take_number("channels", 3, 1, 3));
  if (options.channels == 2) return Error(ErrorCode::invalid_argument, "images: channels must be 1 or 3, is 2");
  COT_TRY(name.check_all_taken("height, width, channels and contract"));
  return options;
}

Result<TrainingData> load_images(DataName& name, const LoadWatchers& watchers) {
  COT_ASSIGN(const std::optional<InputContract> contract, contract_of(name, "images", watchers.sources));
  COT_ASSIGN(const ImageFolderOptions options, image_options(name, contract));
  COT_ASSIGN(LabelledImages images, load_image_folder(name.path(), options, watchers));
  if (contract) images.name = contract->name;
  return of_images(std::move(images));
}

Result<Indices> fitted(const LoadRequest& request, std::span<const int32_t> labels, size_t examples,
                       bool has_test_part = false) {
  if (request.fit) return request.fit(labels, examples, has_test_part);
  Indices all(examples);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

std::string base_name(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  for (const std::string& ending :
       {std::string(".gz"), std::string(".zst"), std::string(".csv"), std::string(".npy")}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

Result<InputContract> fit_rows(const CsvRows& rows, CsvOptions options, const LoadRequest& request) {
  if (!request.group.empty()) options.dropped.push_back(request.group);
  COT_ASSIGN(std::vector<ContractTarget> targets, csv_targets(rows, options));
  std::vector<int32_t> labels;
  if (targets.size() == 1 && !targets[0].is_number) {
    COT_ASSIGN(labels, csv_labels(rows, targets[0]));
  }
  COT_ASSIGN(const Indices part, fitted(request, labels, rows.size()));
  return fit_csv(rows, options, std::move(targets), part);
}

Result<TrainingData> read_rows(std::string_view text, const std::string& path, const CsvOptions& options,
                               std::optional<InputContract> contract, const LoadRequest& request) {
  COT_ASSIGN(const CsvRows rows,
             timed(request.stages, DataStage::parse, text.size(), [&] { return CsvRows::parse(text); }));
  TrainingData data;
  if (!request.group.empty()) {
    COT_ASSIGN(const size_t column, rows.find(request.group));
    for (size_t row = 0; row < rows.size(); ++row) data.groups.push_back(rows.field(row, column));
  }
  if (contract) {
    data.contract = std::move(*contract);
    data.is_by_contract = true;
  } else {
    COT_ASSIGN(data.contract, fit_rows(rows, options, request));
    data.contract.name = base_name(path);
  }
  COT_ASSIGN(data.examples, encode_csv(rows, data.contract, data.notes));
  standardise_target(data.contract.target, data.examples);
  return data;
}

Result<TrainingData> load_csv(DataName& name, const LoadRequest& request) {
  COT_ASSIGN(std::optional<InputContract> contract, contract_of(name, "table", request.sources));
  CsvOptions options;
  if (!contract) {
    COT_ASSIGN(options, csv_options(name));
  }
  COT_ASSIGN(const Bytes file, read_unpacked(name.path(), kFileBytesMax, request.watchers()));
  Result<TrainingData> data = read_rows(as_text(file), name.path(), options, std::move(contract), request);
  if (!data) return data.error().with_context(name.path());
  return data;
}

Result<NpyArray> read_npy(const std::string& path, const LoadWatchers& watchers) {
  COT_ASSIGN(const Bytes file, read_unpacked(path, kFileBytesMax, watchers));
  Result<NpyArray> array = timed(watchers.stages, DataStage::parse, file.size(), [&] { return parse_npy(file); });
  if (!array) return array.error().with_context(path);
  return array;
}

// Two files, of inputs and of targets, as npy:X.npy,Y.npy names them.
struct NpyPair {
  std::string x_path, y_path;
  NpyArray x, y;
};

Result<NpyPair> read_npy_pair(const std::string& paths, const char* expected, const LoadWatchers& watchers) {
  const size_t comma = paths.find(',');
  if (comma == std::string::npos) {
    return Error(ErrorCode::invalid_argument,
                 "npy: give two files, the inputs and the targets: " + std::string(expected));
  }
  NpyPair pair{.x_path = paths.substr(0, comma), .y_path = paths.substr(comma + 1), .x = {}, .y = {}};
  COT_ASSIGN(pair.x, read_npy(pair.x_path, watchers));
  COT_ASSIGN(pair.y, read_npy(pair.y_path, watchers));
  return pair;
}

Result<ExampleTable> encoded(const NpyPair& pair, const InputContract& contract) {
  Result<ExampleTable> examples = encode_npy(pair.x, pair.y, contract);
  if (!examples) return examples.error().with_context(pair.x_path);
  return examples;
}

// All that the name says, taken before a file is read.
struct NpyOptions {
  std::optional<std::string> test;  // the paths of the held-out part
  std::optional<InputContract> contract;
  std::optional<bool> is_number;
  bool is_raw = false;
};

Result<NpyOptions> npy_options(DataName& name, SourceLog* sources) {
  NpyOptions options{.test = name.take("test"), .contract = {}, .is_number = {}};
  COT_ASSIGN(options.contract, contract_of(name, "array", sources));
  if (options.contract) return options;
  COT_ASSIGN(options.is_number, target_is_number(name));
  COT_ASSIGN(options.is_raw, name.take_second("numbers", "standardised", "raw"));
  COT_TRY(name.check_all_taken("as, numbers, test and contract"));
  return options;
}

Result<InputContract> fit_pair(const NpyPair& pair, const NpyOptions& options, const LoadRequest& request) {
  Result<ContractTarget> target = npy_target(pair.y, options.is_number);
  if (!target) return target.error().with_context(pair.y_path);
  std::vector<int32_t> labels;
  if (!target->is_number && (pair.y.shape.size() < 2 || pair.y.shape[1] == 1)) {
    COT_ASSIGN(labels, npy_labels(pair.y, *target));
  }
  InputContract contract;
  if (pair.x.rows() == pair.y.rows()) {  // otherwise encode_npy says so
    COT_ASSIGN(const Indices part, fitted(request, labels, pair.x.rows(), options.test.has_value()));
    COT_ASSIGN(contract, fit_npy(pair.x, !options.is_raw, std::move(*target), part));
  }
  contract.name = base_name(pair.x_path);
  return contract;
}

Result<TrainingData> load_npy(DataName& name, const LoadRequest& request) {
  COT_ASSIGN(const NpyOptions options, npy_options(name, request.sources));
  COT_ASSIGN(const NpyPair pair, read_npy_pair(name.path(), "npy:X.npy,Y.npy", request.watchers()));
  TrainingData data;
  if (options.contract) {
    data.contract = *options.contract;
    data.is_by_contract = true;
  } else {
    COT_ASSIGN(data.contract, fit_pair(pair, options, request));
  }
  COT_ASSIGN(data.examples, encoded(pair, data.contract));
  standardise_target(data.contract.target, data.examples);
  if (!options.test) return data;
  COT_ASSIGN(const NpyPair test, read_npy_pair(*options.test, "test=X.npy,Y.npy", request.watchers()));
  COT_ASSIGN(data.held_out, encoded(test, data.contract));
  standardise_target(data.contract.target, *data.held_out);
  return data;
}

void append(ExampleTable& table, const ExampleTable& more) {
  table.header.examples += more.header.examples;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const ByteView added = more.columns[i].view();
    Bytes& column = table.columns[i].own();
    column.insert(column.end(), added.begin(), added.end());
  }
}

// The pieces of each part, which are its speaker's.
Status load_play(std::string_view text, const TextOptions& options, TrainingData& data) {
  COT_ASSIGN(const std::vector<SpokenPart> parts, parts_of(text));
  size_t silent = 0;
  for (const SpokenPart& part : parts) {
    const Result<ExampleTable> table = text_table(part.text, "text", options);
    if (!table && table.error().code() == ErrorCode::invalid_argument) {
      ++silent;
      continue;
    }
    if (!table) return table.error();
    if (data.groups.empty()) data.examples = *table;
    else append(data.examples, *table);
    data.groups.insert(data.groups.end(), table->size(), part.speaker);
  }
  if (data.groups.empty()) return Error(ErrorCode::invalid_argument, "nobody says as much as one example takes");
  if (silent > 0) {
    data.notes.push_back(std::to_string(silent) + " of " + std::to_string(parts.size()) +
                         " speakers say less than one example takes, and are left out");
  }
  return {};
}

Status read_text_contract(const InputContract& contract, TextOptions& options) {
  const bool is_line = contract.inputs.size() == 1 && contract.inputs[0].shape.size() == 1 &&
                       contract.inputs[0].shape[0] >= 1 && contract.inputs[0].shape[0] <= kLengthMax;
  if (!is_line || contract.target.classes.empty()) {
    return Error(ErrorCode::malformed, "text: the contract is not one of a text");
  }
  options.length = static_cast<uint32_t>(contract.inputs[0].shape[0]);
  options.is_last_only = true;  // nothing else is shared out
  COT_ASSIGN(options.alphabet, alphabet_from(contract.target.classes));
  return {};
}

Result<TrainingData> load_text(DataName& name, const LoadRequest& request) {
  COT_ASSIGN(const std::optional<InputContract> contract, contract_of(name, "text", request.sources));
  TextOptions options;
  if (contract) {
    COT_TRY(read_text_contract(*contract, options));
  } else {
    COT_ASSIGN(options.length, name.take_number("length", options.length, 1, kLengthMax));
    COT_ASSIGN(options.is_last_only, name.take_second("target", "each", "last"));
    COT_TRY(name.check_all_taken("length, target and contract"));
  }
  if (!request.group.empty() && request.group != "speaker") {
    return Error(
        ErrorCode::invalid_argument,
        "split group:" + request.group + ": a text has no columns; group:speaker goes by who speaks in a play");
  }
  COT_ASSIGN(const Bytes file, read_unpacked(name.path(), kFileBytesMax, request.watchers()));
  TrainingData data;
  const auto read = [&]() -> Status {
    if (options.alphabet.empty()) {
      COT_ASSIGN(options.alphabet,
                 timed(request.stages, DataStage::parse, file.size(), [&] { return alphabet_of(as_text(file)); }));
    }
    if (!request.group.empty()) return load_play(as_text(file), options, data);
    COT_ASSIGN(data.examples, text_table(as_text(file), "text", options));
    return {};
  };
  if (const Status done = read(); !done) return done.error().with_context(name.path());
  data.is_by_contract = contract.has_value();
  data.contract.kind = "text";
  data.contract.name = data.examples.header.name;
  data.contract.inputs = data.examples.header.inputs;
  data.contract.target.column = "next";
  data.contract.target.classes = names_of(options.alphabet);
  return data;
}

Result<TrainingData> load_anew(const std::string& text, const LoadRequest& request) {
  // What is none of the calls inside of it makes examples of what they gave.
  const StageCall encoding(request.stages, DataStage::encode);
  COT_ASSIGN(DataName name, DataName::parse(text));
  if (!request.group.empty() && name.kind() != "csv" && name.kind() != "text") {
    return Error(ErrorCode::invalid_argument,
                 "split group:" + request.group + " goes by a column, and only csv: has any");
  }
  if (text == "digits") return of_images(built_in_digits());
  if (!name.path().empty()) {
    if (name.kind() == "images") return load_images(name, request.watchers());
    if (name.kind() == "csv") return load_csv(name, request);
    if (name.kind() == "npy") return load_npy(name, request);
    if (name.kind() == "text") return load_text(name, request);
    const bool is_mnist = name.kind() == "mnist";
    if (is_mnist || name.kind() == "cifar10") {
      COT_TRY(name.check_all_taken("none"));
      return is_mnist ? load_mnist(name.path(), request.watchers()) : load_cifar10(name.path(), request.watchers());
    }
  }
  return Error(ErrorCode::invalid_argument, std::string("the data must be ") + kDataNames + ", is " + text);
}

}  // namespace

Result<TrainingData> load_data(const std::string& text, const LoadRequest& request) {
  const auto anew = [&text, &request](SourceLog* sources) {
    LoadRequest watched = request;
    watched.sources = sources;
    return load_anew(text, watched);
  };
  if (!request.may_be_cached) return anew(request.sources);
  return load_cached(text, request, anew);
}

Result<DatasetSource> open_examples(const std::string& name, std::vector<std::string>& notes) {
  if (is_shard_folder(name)) {
    COT_ASSIGN(const ShardFolder folder, open_shards(name));
    return Error(ErrorCode::invalid_argument, name + " holds the shards of " + std::to_string(folder.devices.size()) +
                                                  " devices; name one: " + folder.path_of(folder.devices[0]));
  }
  if (os::exists(name)) return DatasetSource::open(name);
  Result<TrainingData> loaded = load_data(name, {.may_be_cached = false});
  if (loaded) {
    notes.insert(notes.end(), loaded->notes.begin(), loaded->notes.end());
    return DatasetSource::load(dataset_file(loaded->examples));
  }
  if (loaded.error().code() == ErrorCode::invalid_argument && name.find(':') == std::string::npos) {
    return Error(ErrorCode::not_found, "there is no data set file " + name + "; the data may also be " + kDataNames);
  }
  return loaded.error();
}

}  // namespace coterie
