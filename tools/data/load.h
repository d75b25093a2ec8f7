// Data sets by name, from the program itself or from files of a directory.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "tools/data/labelled_images.h"

namespace coterie {

struct TrainingData {
  LabelledImages examples;
  std::optional<LabelledImages> held_out;  // where the data set brings its own test part
};

// `name`:
//   digits        the UCI digits, built in
//   mnist:DIR     IDX files under their usual names, gzipped or not: train-*, t10k-* as the held-out part; one of the two
//                 alone is all there is
//   cifar10:DIR   data_batch_1.bin to _5.bin, test_batch.bin as the held-out part; likewise
// Errors name the file and what is wrong with it in one line: invalid_argument (the name), not_found, malformed,
// too_large and what the system says.
Result<TrainingData> load_data(const std::string& name);

}  // namespace coterie
