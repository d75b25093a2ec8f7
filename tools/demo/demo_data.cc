#include "tools/demo/demo_data.h"
#include "proto/codec/codec.h"

#include <numeric>

#include "base/os/file.h"
#include "tools/cli/interrupt.h"
#include "tools/data/federate.h"
#include "tools/data/load.h"

namespace coterie {

uint64_t DemoData::training_examples() const {
  uint64_t count = 0;
  for (const Indices& shard : shards) count += shard.size();
  return count;
}

std::vector<std::vector<uint32_t>> DemoData::label_counts() const {
  std::vector<std::vector<uint32_t>> counts;
  for (const Indices& shard : shards) counts.push_back(count_labels(examples, shard));
  return counts;
}

Result<DemoData> prepare_data(const DemoOptions& options) {
  COT_ASSIGN(TrainingData loaded, load_data(options.data));
  const DatasetHeader& header = loaded.examples.header;
  const std::span<const int32_t> labels = loaded.examples.labels();
  if (labels.empty() || header.inputs.size() != 1 || header.inputs[0].type == ColumnType::int32) {
    return Error(ErrorCode::invalid_argument, "the demo shares out examples with one input of numbers and one class; " +
                                                  header.name + " has others");
  }
  DemoData data;
  Indices training;
  if (loaded.held_out) {
    training.resize(loaded.examples.size());
    std::iota(training.begin(), training.end(), 0u);
    data.held_out = dataset_file(*loaded.held_out);
    data.held_out_examples = loaded.held_out->size();
  } else {
    HeldOut parts = hold_out(labels, kHeldOutFraction, options.seed);
    if (parts.held_out.empty()) {
      return Error(ErrorCode::invalid_argument, "the data has too few examples to hold some out");
    }
    data.held_out = dataset_file(loaded.examples, parts.held_out);
    data.held_out_examples = parts.held_out.size();
    training = std::move(parts.training);
  }
  COT_ASSIGN(data.shards, partition(options.split, training, labels, options.devices, options.seed));
  Result<Bytes> model = make_model(options.model, header.inputs[0].shape, header.classes, options.seed);
  if (!model) {
    return model.error().with_context("model " + std::string(to_string(options.model)) + " does not fit " +
                                      header.name);
  }
  data.model = std::move(*model);
  COT_ASSIGN(const Decoded<ModelGraph> decoded, decode_model(data.model));
  data.value_count = decoded.payload.size() / sizeof(float);
  data.examples = std::move(loaded.examples);
  return data;
}

Status write_data(const DemoData& data, const RunFolder& folder) {
  COT_TRY(folder.write("held-out.cotf", data.held_out));
  for (uint32_t i = 0; i < data.shards.size(); ++i) {
    if (Interrupt::requested()) return interrupted_error();
    const std::string dir = folder.device_dir(i + 1);
    COT_TRY(os::make_directories(dir));
    COT_TRY(os::write_file_atomically(dir + "/data.cotf", dataset_file(data.examples, data.shards[i])));
  }
  return {};
}

}  // namespace coterie
