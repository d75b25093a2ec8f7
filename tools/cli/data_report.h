// Data as a person looks at it: columns, classes, who has what. Pure.
#pragma once

#include <string>

#include "tools/data/shard_folder.h"

namespace coterie {

// What is to be told and from what: "target income: 2 classes (<=50K, >50K)", "inputs: 104 float32 (features) of
// 14 columns"; a line for each of several targets. `is_guess`: nobody said whether the target is a class; where its
// values are numbers, the text tells how to say it.
std::string encoding_text(const InputContract& contract, bool is_guess, int columns);

// Each column with its kind and range; empty where the data have none.
std::string column_table(const InputContract& contract, int columns);

// Each device with its examples of each class, as many classes as `columns` have room for, then the others together. At
// most `devices_max` devices.
std::string device_table(const ShardFolder& folder, int columns, size_t devices_max);

}  // namespace coterie
