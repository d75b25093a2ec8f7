// Data sets by name, from the program itself or from files of a directory.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "tools/data/example_table.h"

namespace coterie {

struct TrainingData {
  ExampleTable examples;
  std::optional<ExampleTable> held_out;  // where the data set brings its own test part
};

// What load_data takes, for messages and help.
inline constexpr const char* kDataNames =
    "digits, mnist:DIR, cifar10:DIR, images:DIR, csv:FILE?target=COLUMN or text:FILE";

// `text`:
//   digits        the UCI digits, built in
//   mnist:DIR     IDX files under their usual names, gzipped or not: train-*, t10k-* as the held-out part; one of the
//                 two alone is all there is
//   cifar10:DIR   data_batch_1.bin to _5.bin, test_batch.bin as the held-out part; likewise
//   images:DIR    one folder of JPEG and PNG files a class (image_folder.h). ?height=32&width=32 resizes them (one of
//                 the two alone: both), channels=1 makes them grey
//   csv:FILE      a table with a header row (csv.h), gzipped or not. ?target=COLUMN is the class to be told;
//                 as=number: a number. numbers=raw leaves them as they are, categories=codes gives their numbers
//   text:FILE     pieces of a UTF-8 text and what comes next (text.h), gzipped or not. ?length=80 characters;
//                 target=last: only what comes behind the piece
// Errors name the file and what is wrong with it in one line: invalid_argument (the name), not_found, malformed,
// too_large and what the system says.
Result<TrainingData> load_data(const std::string& text);

}  // namespace coterie
