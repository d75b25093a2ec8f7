#include "tools/cli/local_files.h"

#include <fstream>

#include "base/os/file.h"
#include "device_sdk/runtime/seal.h"
#include "device_sdk/runtime/stored_model_file.h"
#include "tools/cli/admin_command.h"
#include "tools/cli/file_kind.h"
#include "tools/cli/report.h"
#include "tools/data/ignored_class.h"
#include "tools/data/input_types.h"
#include "tools/data/load.h"
#include "tools/data/own_numbers.h"
#include "tools/data/shard_folder.h"

namespace coterie {

Result<Model> open_model(const std::string& file) {
  COT_ASSIGN(Bytes bytes, read_input(file));
  return open_model(std::move(bytes), file);
}

Result<Model> open_model(Bytes bytes, const std::string& file) {
  COT_TRY(check_model_kind(bytes, file));
  if (const Result<Seal> seal = check_seal(bytes); !seal) return seal.error().with_context(file);
  Result<Bytes> expanded = expand_model(std::move(bytes));
  if (!expanded) return expanded.error().with_context(file);
  Result<Model> model = Model::load(std::move(*expanded));
  if (!model) return model.error().with_context(file);
  return model;
}

namespace {

bool is_ours(const std::string& path) {
  char first[4] = {};
  std::ifstream(path, std::ios::binary).read(first, sizeof first);
  return std::string_view(first, sizeof first) == "COTF";
}

Result<DatasetSource> opened(const std::string& path, StageLog* stages) {
  StageCall call(stages, DataStage::read);
  Result<DatasetSource> source = DatasetSource::open(path);
  if (source) call.add_bytes(source->size() * stored_bytes_of_example(source->header()));
  return source;
}

// `table` as the trainer reads it: `file` where there is one.
Result<DatasetSource> stored(const ExampleTable& table, const std::optional<ColumnBytes>& file, StageLog* stages) {
  StageCall call(stages, DataStage::store);
  for (const ColumnBytes& column : table.columns) call.add_bytes(column.size());
  if (file) return DatasetSource::over(file->view(), file->keeper());
  return DatasetSource::load(dataset_file(table));
}

}  // namespace

uint64_t stored_bytes_of_example(const DatasetHeader& header) {
  uint64_t bytes = example_bytes(header.target).value();
  for (const DatasetColumn& input : header.inputs) bytes += example_bytes(input).value();
  return bytes;
}

Result<LocalData> open_data(const std::string& name, const Model& model, StageLog* stages,
                            std::optional<int32_t> ignore_label) {
  if (is_shard_folder(name)) {
    COT_ASSIGN(const ShardFolder folder, open_shards(name));
    const ShardRecord& record = folder.held_out ? *folder.held_out : folder.devices[0];
    return Error(ErrorCode::invalid_argument, name + " holds the shards of " + std::to_string(folder.devices.size()) +
                                                  " devices; name one file of it: " + folder.path_of(record));
  }
  const auto named = [&](const Error& error) { return error.with_context(name); };
  if (os::exists(name)) {
    Result<DatasetSource> source = opened(name, stages);
    if (!source && (source.error().code() != ErrorCode::malformed || is_ours(name))) return source.error();
    if (!source) {
      return Error(ErrorCode::invalid_argument, name + " is no data set file; the data must be one, " + kDataNames);
    }
    if (const Status fits = check_input_types(model, source->header()); !fits) return named(fits.error());
    return LocalData{std::move(*source), std::nullopt, std::nullopt, ignore_label};
  }
  Result<TrainingData> loaded = load_data(name, {.fit = nullptr, .group = {}, .stages = stages});
  if (!loaded && loaded.error().code() == ErrorCode::invalid_argument && name.find(':') == std::string::npos) {
    return Error(ErrorCode::invalid_argument,
                 std::string("the data must be a data set file, ") + kDataNames + "; there is no file " + name);
  }
  if (!loaded) return loaded.error();
  const int64_t classes = model.output_shape().empty() ? 0 : model.output_shape().back();
  const auto numbers = OwnNumbers::of(loaded->contract.target, classes, ignore_label);
  const auto stored_for_model = [&](ExampleTable& table, std::optional<ColumnBytes>& file) -> Result<DatasetSource> {
    // A file of a cache has what was there before.
    if (numbers) {
      numbers->put_into(table);
      file.reset();
    } else if (ignore_label && ignore_class(*ignore_label, loaded->contract.target, table) != *ignore_label) {
      file.reset();
    }
    const Result<bool> is_changed = take_whole_inputs(model, table);
    if (!is_changed) return named(is_changed.error());
    if (*is_changed) file.reset();
    if (const Status fits = check_input_types(model, table.header); !fits) return named(fits.error());
    return stored(table, file, stages);
  };
  COT_ASSIGN(DatasetSource examples, stored_for_model(loaded->examples, loaded->examples_file));
  LocalData data{std::move(examples), std::nullopt, std::nullopt, std::nullopt};
  if (loaded->held_out) {
    COT_ASSIGN(data.held_out, stored_for_model(*loaded->held_out, loaded->held_out_file));
  }
  if (numbers) loaded->contract.target.classes = numbers->class_names();
  if (ignore_label) data.ignore_label = number_of_ignored(*ignore_label, loaded->contract.target);
  data.contract = std::move(loaded->contract);
  return data;
}

ExitCode fail_on_input(std::string_view command, const Error& error) {
  print_error(command, error);
  return error.code() == ErrorCode::cancelled ? ExitCode::interrupted : ExitCode::usage;
}

ExitCode fail_on_output(std::string_view command, const Error& error) {
  print_error(command, error);
  return error.code() == ErrorCode::cancelled ? ExitCode::interrupted : ExitCode::failure;
}

}  // namespace coterie
