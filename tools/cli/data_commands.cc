#include "tools/cli/data_commands.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "model_io/contract_targets.h"
#include "tools/cli/data_report.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/terminal.h"
#include "tools/cli/wrap.h"
#include "tools/data/load.h"
#include "tools/data/shard_folder.h"
#include "tools/demo/chart.h"
#include "tools/demo/progress.h"

namespace coterie {
namespace {

constexpr size_t kDevicesShownMax = 40;

uint64_t training_examples(const ShardFolder& folder) {
  uint64_t sum = 0;
  for (const ShardRecord& record : folder.devices) sum += record.examples;
  return sum;
}

void print_folder_json(const ShardFolder& folder) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(manifest_text(folder));
  json["contract"] = nlohmann::ordered_json::parse(to_json_text(folder.contract));
  print_text(json.dump(2) + "\n");
}

std::string opening(const ShardFolder& folder, int columns) {
  std::string text = printable(folder.contract.name) + ": " + counted(training_examples(folder), "example") + " on " +
                     counted(folder.devices.size(), "device") + " (" + printable(folder.split) + ", seed " +
                     std::to_string(folder.seed) + ")";
  text += folder.held_out ? ", " + format_count(folder.held_out->examples) + " held out" : ", none held out";
  return wrapped(text, columns, 2) + "\n";
}

std::string notes_text(const ShardFolder& folder, int columns) {
  std::string text;
  for (const std::string& note : folder.notes) text += wrapped("note: " + printable(note), columns, 2) + "\n";
  return text;
}

// Whether the reader had to guess what the target is.
bool is_guess(const ShardFolder& folder) {
  const bool can_be = folder.contract.kind == "table" || folder.contract.kind == "array";
  return can_be && folder.source.find("as=") == std::string::npos &&
         folder.source.find("contract=") == std::string::npos;
}

std::string next_text(const DataMakeOptions& options, const ShardFolder& folder, const Terminal& terminal) {
  const std::string program = shell_word(options.program), directory = shell_word(options.directory);
  std::string text = "\nNext\n";
  const auto next = [&](const std::string& command, const std::string& what) {
    text += "  " + terminal.bold(command) + "\n" + terminal.dim("      " + what) + "\n";
  };
  next(program + " data inspect " + directory, "who has what");
  if (folder.held_out) {
    next(program + " demo --data " + directory, "a federation of these devices, on this machine");
  }
  next(program + " device run --data " + shell_word(folder.path_of(folder.devices[0])) + " ...",
       "be one of them, of a server of your own");
  return text;
}

// A source that nobody has shared out: all of it as one row.
Result<ShardFolder> describe_source(const std::string& name) {
  COT_ASSIGN(TrainingData loaded, load_data(name));
  FederatedData data;
  data.contract = std::move(loaded.contract);
  data.notes = std::move(loaded.notes);
  data.examples = std::move(loaded.examples);
  data.held_out = std::move(loaded.held_out);
  data.shards.resize(1);
  for (uint32_t i = 0; i < data.examples.size(); ++i) data.shards[0].push_back(i);
  ShardFolder folder = describe(data, name);
  folder.devices[0].file = "all";
  return folder;
}

Result<ShardFolder> describe_file(const std::string& path) {
  COT_ASSIGN(DatasetSource source, DatasetSource::open(path));
  const DatasetHeader& header = source.header();
  ShardFolder folder;
  folder.source = path;
  folder.contract.kind = "examples";
  folder.contract.name = header.name;
  folder.contract.inputs = header.inputs;
  folder.contract.target.is_number = header.target.type == ColumnType::float32;
  COT_ASSIGN(folder.contract.target.cells, element_count(header.target.shape));
  ShardRecord record{.file = "all", .examples = source.size()};
  const bool counts = header.inputs.size() == 1 && header.inputs[0].type != ColumnType::int32 &&
                      header.target.shape.empty() && header.classes > 0;
  for (uint32_t i = 0; i < header.classes; ++i) folder.contract.target.classes.push_back(std::to_string(i));
  if (counts) {
    uint64_t elements = 1;
    for (const int64_t size : header.inputs[0].shape) elements *= static_cast<uint64_t>(size);
    std::vector<float> features(elements);
    record.classes.resize(header.classes);
    for (uint64_t i = 0; i < source.size(); ++i) {
      int32_t label = 0;
      COT_TRY(source.read(i, features, label));
      ++record.classes[static_cast<size_t>(label)];
    }
  }
  folder.devices = {std::move(record)};
  return folder;
}

Status draw(const ShardFolder& folder, const std::string& path) {
  ChartData chart;
  chart.title = folder.contract.name + " on " + counted(folder.devices.size(), "device");
  chart.subtitle =
      folder.split.empty() ? folder.source : "split " + folder.split + ", seed " + std::to_string(folder.seed);
  chart.is_of_numbers = folder.contract.target.is_number || has_several_targets(folder.contract);
  chart.class_names = chart.is_of_numbers ? std::vector<std::string>{"examples"} : folder.contract.target.classes;
  for (const ShardRecord& record : folder.devices) {
    if (chart.is_of_numbers) chart.label_counts.push_back({static_cast<uint32_t>(record.examples)});
    else if (!record.classes.empty()) chart.label_counts.push_back(record.classes);
  }
  if (chart.label_counts.empty()) return Error(ErrorCode::invalid_argument, "there are no classes to draw");
  return os::write_file_atomically(path, as_bytes(draw_holdings(chart)));
}

}  // namespace

ExitCode make_data(const DataMakeOptions& options) {
  constexpr const char* kCommand = "data make";
  ProgressLine progress(stderr, options.is_quiet);
  progress.show("reading " + options.data.source);
  const Result<FederatedData> data = federate(options.data);
  progress.clear();
  if (!data) return fail_on_input(kCommand, data.error());
  const Result<ShardFolder> folder =
      write_shards(*data, options.data.source, options.directory, [&](size_t done, size_t all) -> Status {
        if (Interrupt::requested()) return interrupted_error();
        progress.show("shard " + std::to_string(done) + "/" + std::to_string(all) + "  " +
                      bar(static_cast<double>(done) / static_cast<double>(all), 20, progress.terminal()));
        return {};
      });
  progress.clear();
  if (!folder) {
    return folder.error().code() == ErrorCode::conflict ? fail_on_input(kCommand, folder.error())
                                                        : fail_on_output(kCommand, folder.error());
  }
  if (options.as_json) {
    print_folder_json(*folder);
    return ExitCode::ok;
  }
  const Terminal terminal = Terminal::of(stdout);
  print_text(opening(*folder, terminal.columns) + encoding_text(folder->contract, is_guess(*folder), terminal.columns) +
             notes_text(*folder, terminal.columns) + "\nIn " + printable(options.directory) + "\n  " +
             folder->devices.front().file + "  a shard a device" +
             (folder->devices.size() > 1 ? ", up to " + folder->devices.back().file : "") + "\n" +
             (folder->held_out ? "  held-out.cotf  what no device has\n" : "") +
             "  contract.json  scales, categories and classes of all of them\n  data.json      who has what\n" +
             next_text(options, *folder, terminal));
  return ExitCode::ok;
}

ExitCode inspect_data(const DataInspectOptions& options) {
  constexpr const char* kCommand = "data inspect";
  const bool is_made = is_shard_folder(options.what);
  const Result<ShardFolder> folder = is_made                    ? open_shards(options.what)
                                     : os::exists(options.what) ? describe_file(options.what)
                                                                : describe_source(options.what);
  if (!folder) return fail_on_input(kCommand, folder.error());
  if (!options.svg.empty()) {
    const Status drawn = draw(*folder, options.svg);
    if (!drawn) return fail_on_output(kCommand, drawn.error());
  }
  if (options.as_json) {
    print_folder_json(*folder);
    return ExitCode::ok;
  }
  const int columns = Terminal::of(stdout).columns;
  std::string text =
      is_made ? opening(*folder, columns)
              : printable(folder->contract.name) + ": " + counted(training_examples(*folder), "example") +
                    (folder->held_out ? ", " + format_count(folder->held_out->examples) + " held out" : "") + "\n";
  text += encoding_text(folder->contract, is_guess(*folder), columns) + notes_text(*folder, columns);
  if (const std::string table = column_table(folder->contract, columns); !table.empty()) text += "\n" + table;
  text += "\n" + device_table(*folder, columns, options.shows_all ? folder->devices.size() : kDevicesShownMax);
  if (!options.svg.empty()) text += "\ndrawn in " + printable(options.svg) + "\n";
  print_text(text);
  return ExitCode::ok;
}

}  // namespace coterie
