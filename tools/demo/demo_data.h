// DemoData: everything that is decided before the first process starts: the examples, who gets which, the initial
// model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model_io/input_contract.h"
#include "proto/messages/dataset.h"
#include "scheduler/job/horizontal_settings.h"
#include "tools/demo/mean_baseline.h"
#include "tools/demo/options.h"
#include "tools/demo/run_folder.h"

namespace coterie {

struct DemoData {
  InputContract contract;
  uint32_t devices = 0;
  DataSplit split;                                    // by which they got what they have
  std::function<Result<Bytes>(uint32_t)> shard_file;  // of a device, from 0: a data set file
  std::vector<std::vector<uint32_t>> label_counts;    // for each device
  std::vector<std::string> notes;                     // of the reader
  uint64_t training_examples = 0;
  Bytes held_out;  // a data set file
  uint64_t held_out_examples = 0;
  double majority_accuracy = 0;  // of a model that always says the most frequent class of the training part
  std::optional<MeanBaseline> mean_baseline;  // where the target is a number
  Bytes model;                                // untrained, or as its file has it
  std::string model_name;                     // "mlp", or the file's name

  const std::string& name() const { return contract.name; }
};

// `options.data` is a source, or a directory of `coterie data make`, which has its own devices and split. Errors, each
// in one line: what federate, open_shards and make_model say; invalid_argument unless the examples have one input of
// numbers each, for a model that does not fit them (with both shapes) or heads that do not fit their targets, for
// several targets without heads, and for options that the directory has decided.
Result<DemoData> prepare_data(const DemoOptions& options);

// Makes a file of several models of the data's, where devices train so and it holds one: the first, and others that
// chance makes of it (device_sdk/runtime/cluster_models.h), by this seed. Errors: those of stack_of_one.
Status add_clusters(const TrainingSettings& training, uint64_t seed, DemoData& data);

// How many values the data's model has, and how many of them travel where devices train so.
Result<ModelValues> model_values(const DemoData& data, const TrainingSettings& training);

// The options with what the data have decided: devices, split, and whether the targets, or some of them, are numbers.
DemoOptions settled(const DemoOptions& options, const DemoData& data);

// Gives each device its data.cotf, and writes held-out.cotf. Looks up now and then whether it was interrupted.
Status write_data(const DemoData& data, const RunFolder& folder);

}  // namespace coterie
