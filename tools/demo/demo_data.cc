#include "tools/demo/demo_data.h"

#include <algorithm>
#include <memory>

#include "base/os/file.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/cluster_models.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"
#include "model_io/contract_targets.h"
#include "proto/messages/model_clusters.h"
#include "scheduler/job/model_rules.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/table.h"
#include "tools/data/federate.h"
#include "tools/data/shard_folder.h"
#include "tools/model/inspect.h"

namespace coterie {
namespace {

constexpr uint64_t kShardBytesMax = 4ull << 30;
constexpr uint32_t kDemoDevicesMax = 2000;

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

Status check_inputs(const InputContract& contract) {
  const bool is_text = contract.kind == "text";
  if (contract.inputs.size() == 1 && (contract.inputs[0].type == ColumnType::int32) == is_text) return {};
  return wrong("the demo shares out examples with one input of numbers; " + contract.name +
               " has others (categories=onehot, the default, makes one of a table)");
}

uint64_t elements_of(const Shape& shape) {
  const Result<uint64_t> count = element_count(shape);
  return count ? *count : 0;
}

// Numbers that a model gives for an example: one for each class, or the target itself. Several targets are trained by a
// model of the user's own, and what counts has no use for its answers.
uint32_t outputs_of(const InputContract& contract) {
  const bool is_one_number = contract.target.is_number || has_several_targets(contract);
  return is_one_number ? 1 : static_cast<uint32_t>(contract.target.classes.size());
}

TargetKind target_of(const InputContract& contract) {
  return has_number_target(contract) ? TargetKind::values : TargetKind::labels;
}

// What a model of it takes.
DataType type_of(const InputContract& contract) {
  return contract.inputs[0].type == ColumnType::int32 ? DataType::int32 : DataType::float32;
}

bool is_by_class(Loss loss) { return loss == Loss::softmax_cross_entropy || loss == Loss::negative_log_likelihood; }

// Where each head takes one of the targets: whether it tells as many classes apart.
Status check_classes(const std::vector<TrainingHead>& heads, const Model& model, const InputContract& contract) {
  const std::span<const ContractTarget> targets = targets_of(contract);
  if (heads.size() != targets.size()) return {};
  for (const ModelOutput& output : model_outputs(model)) {
    for (size_t i = 0; i < heads.size(); ++i) {
      if (heads[i].output != output.name || targets[i].is_number || !is_by_class(heads[i].loss)) continue;
      const auto told = static_cast<uint64_t>(output.shape.back());
      if (told >= targets[i].classes.size()) continue;
      return wrong("--head " + output.name + " tells " + std::to_string(told) + " classes apart, and the target " +
                   targets[i].column + " has " + std::to_string(targets[i].classes.size()));
    }
  }
  return {};
}

// Each head has its part of an example's targets, and no part is left.
Status check_heads(const DemoOptions& options, const Model& model, const InputContract& contract) {
  DemoOptions settled = options;
  settled.target = target_of(contract);
  const LossSettings loss = loss_of(settled.judged_by());
  COT_TRY(check_loss_heads(loss));
  const Result<uint64_t> cells = target_elements(model, loss);
  if (!cells) return cells.error().with_context(options.model_file);
  if (*cells == target_cells(contract)) return check_classes(options.heads, model, contract);
  return wrong("the heads of " + options.model_file + " compare " + counted(*cells, "number") +
               " with an example's targets, and an example of " + contract.name + " has " +
               std::to_string(target_cells(contract)));
}

// A model of the user's own takes what the examples are, and tells as many classes apart.
Status check_model(const DemoOptions& options, const InputContract& contract) {
  const Result<Model> model = Model::load(options.model_bytes);
  if (!model) return model.error().with_context(options.model_file);
  const Shape& examples = contract.inputs[0].shape;
  const int64_t outputs = outputs_of(contract);
  const Shape &input = model->input_shape(), &output = model->output_shape();
  const bool takes_examples = model->graph().inputs.size() == 1 && model->input_type() == type_of(contract) &&
                              elements_of(input) == elements_of(examples) &&
                              (input.size() == examples.size() || examples.size() == 1);
  if (!takes_examples) {
    return wrong(options.model_file + " takes " + std::to_string(model->graph().inputs.size()) + " input of " +
                 shape_text(input) + ", and an example of " + contract.name + " is " + shape_text(examples));
  }
  if (!options.heads.empty()) return check_heads(options, *model, contract);
  if (has_several_targets(contract)) return {};  // counts
  if (output.size() == 1 && output[0] == outputs) return {};
  if (contract.target.is_number) {
    return wrong(options.model_file + " gives " + shape_text(output) + " numbers, and the target of " + contract.name +
                 " is one; `coterie model new-head` gives a model another last layer");
  }
  return wrong(options.model_file + " gives " + shape_text(output) + " numbers, and " + contract.name + " has " +
               std::to_string(outputs) + " classes; `coterie model new-head` gives a model another last layer");
}

Status choose_model(const DemoOptions& options, DemoData& data) {
  const InputContract& contract = data.contract;
  const Shape& shape = contract.inputs[0].shape;
  if (!options.model_file.empty()) {
    COT_TRY(check_model(options, contract));
    data.model = options.model_bytes;
    data.model_name = options.model_file.substr(options.model_file.find_last_of('/') + 1);
  } else {
    if (type_of(contract) == DataType::int32) {
      return wrong(contract.name +
                   " needs a model of your own, --model FILE: those that are built in take numbers, not " +
                   "the characters of a text");
    }
    const ModelKind kind = options.model.value_or(shape.size() == 3 ? ModelKind::cnn : ModelKind::mlp);
    data.model_name = to_string(kind);
    Result<Bytes> made = make_model(kind, shape, outputs_of(contract), options.seed);
    if (!made) return made.error().with_context("model " + data.model_name + " does not fit " + contract.name);
    data.model = std::move(*made);
  }
  return Model::load(data.model).has_value() ? Status() : wrong("model " + data.model_name + " cannot be loaded");
}

// How often the most frequent class of the shards is right of the held-out part.
double majority_accuracy(const std::vector<std::vector<uint32_t>>& shards, const std::vector<uint32_t>& held_out) {
  std::vector<uint64_t> sums(held_out.size());
  for (const std::vector<uint32_t>& shard : shards) {
    for (size_t i = 0; i < std::min(sums.size(), shard.size()); ++i) sums[i] += shard[i];
  }
  uint64_t all = 0;
  for (const uint32_t count : held_out) all += count;
  if (all == 0) return 0;
  const auto most = static_cast<size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  return static_cast<double>(held_out[most]) / static_cast<double>(all);
}

// What the folder of a source and the folder of shards have in common.
Status take_over(const ShardFolder& folder, DemoData& data) {
  data.contract = folder.contract;
  data.notes = folder.notes;
  COT_TRY(check_inputs(data.contract));
  if (!folder.held_out) {
    return wrong(folder.source + " has nothing held out to judge the model by; share it out with --held-out 0.2");
  }
  if (folder.devices.size() > kDemoDevicesMax) {
    return wrong("the data are of " + std::to_string(folder.devices.size()) + " devices, the demo has at most " +
                 std::to_string(kDemoDevicesMax));
  }
  data.devices = static_cast<uint32_t>(folder.devices.size());
  data.held_out_examples = folder.held_out->examples;
  const bool has_no_class = data.contract.target.is_number || has_several_targets(data.contract);
  for (const ShardRecord& record : folder.devices) {
    data.training_examples += record.examples;
    const auto examples = static_cast<uint32_t>(std::min<uint64_t>(record.examples, UINT32_MAX));
    data.label_counts.push_back(has_no_class ? std::vector<uint32_t>{examples} : record.classes);
  }
  data.majority_accuracy = majority_accuracy(data.label_counts, folder.held_out->classes);
  return {};
}

// A file of a made directory, as its contract and its manifest say it is.
Result<Bytes> read_shard(const ShardFolder& folder, const ShardRecord& record) {
  const std::string path = folder.path_of(record);
  COT_ASSIGN(Bytes file, os::read_file(path, kShardBytesMax));
  const Result<DatasetSource> source = DatasetSource::load(file);
  if (!source) return source.error().with_context(path);
  const DatasetHeader& header = source->header();
  const Result<uint64_t> cells = element_count(header.target.shape);
  if (header.inputs == folder.contract.inputs && header.classes == classes_in_header(folder.contract) && cells &&
      *cells == target_cells(folder.contract) && header.examples == record.examples) {
    return file;
  }
  return Error(ErrorCode::malformed, path + ": is not the shard that data.json and contract.json speak of");
}

Result<DemoData> from_directory(const DemoOptions& options) {
  auto folder = std::make_shared<ShardFolder>();
  COT_ASSIGN(*folder, open_shards(options.data));
  if (options.split_given) {
    return wrong(options.data + " is shared out already (" + folder->split + "); --split is for a source");
  }
  if (options.devices_given && options.devices != folder->devices.size()) {
    return wrong(options.data + " has shards of " + std::to_string(folder->devices.size()) + " devices, not of " +
                 std::to_string(options.devices));
  }
  DemoData data;
  COT_TRY(take_over(*folder, data));
  COT_ASSIGN(data.split, parse_split(folder->split));
  COT_ASSIGN(data.held_out, read_shard(*folder, *folder->held_out));
  data.shard_file = [folder](uint32_t device) { return read_shard(*folder, folder->devices[device]); };
  return data;
}

Result<DemoData> from_source(const DemoOptions& options) {
  const bool is_by_chance = options.split.is_by_chance();
  auto shared = std::make_shared<FederatedData>();
  COT_ASSIGN(*shared, federate({.source = options.data,
                                .split = options.split,
                                .devices = is_by_chance || options.devices_given ? options.devices : 0,
                                .seed = options.seed,
                                .split_of_numbers = options.split_given ? std::nullopt : std::optional(DataSplit{})}));
  DemoData data;
  COT_TRY(take_over(describe(*shared, options.data), data));
  data.split = shared->split;
  data.held_out = dataset_file(*shared->held_out);
  data.shard_file = [shared](uint32_t device) -> Result<Bytes> { return dataset_file(shared->shard(device)); };
  return data;
}

}  // namespace

namespace {

// A training compares each of several targets with an output of a model that has as many.
Status check_several(const DemoOptions& options, const InputContract& contract) {
  if (!has_several_targets(contract)) return {};
  if (flips_labels(options.attack.kind)) COT_TRY(check_one_target(contract, "--attack " + to_string(options.attack)));
  if (options.analytics || (!options.heads.empty() && !options.model_file.empty())) return {};
  return check_one_target(contract,
                          options.heads.empty() ? "a training without heads (--head)" : "a model that is built in");
}

}  // namespace

Result<DemoData> prepare_data(const DemoOptions& options) {
  COT_ASSIGN(DemoData data, is_shard_folder(options.data) ? from_directory(options) : from_source(options));
  COT_TRY(check_several(options, data.contract));
  if (data.contract.target.is_number && !has_several_targets(data.contract)) {
    COT_ASSIGN(data.mean_baseline, mean_baseline(data.contract.target, data.held_out));
  }
  COT_TRY(choose_model(options, data));
  return data;
}

Status add_clusters(const TrainingSettings& training, uint64_t seed, DemoData& data) {
  const uint32_t count = cluster_count(training);
  if (count == 1) return {};
  COT_ASSIGN(const Model model, Model::load(data.model));
  if (cluster_count(model.graph()) > 1) return {};
  COT_ASSIGN(data.model, stack_of_one(model, count, kClusterSpread, seed));
  return {};
}

Result<ModelValues> model_values(const DemoData& data, const TrainingSettings& training) {
  COT_ASSIGN(const Model model, Model::load(data.model));
  return values_of(training, model.graph(), model.value_count());
}

DemoOptions settled(const DemoOptions& options, const DemoData& data) {
  DemoOptions result = options;
  result.devices = data.devices;
  result.split = data.split;
  result.target = target_of(data.contract);
  return result;
}

Status write_data(const DemoData& data, const RunFolder& folder) {
  COT_TRY(folder.write("held-out.cotf", data.held_out));
  for (uint32_t i = 0; i < data.devices; ++i) {
    if (Interrupt::requested()) return interrupted_error();
    const std::string dir = folder.device_dir(i + 1);
    COT_TRY(os::make_directories(dir));
    COT_ASSIGN(const Bytes shard, data.shard_file(i));
    COT_TRY(os::write_file_atomically(dir + "/data.cotf", shard));
  }
  return {};
}

}  // namespace coterie
