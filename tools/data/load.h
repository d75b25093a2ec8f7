// Data sets by name, from the program itself or from files of a directory.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/dataset_source.h"
#include "model_io/input_contract.h"
#include "tools/data/example_table.h"
#include "tools/data/partition.h"
#include "tools/data/source_log.h"

namespace coterie {

struct TrainingData {
  ExampleTable examples;
  std::optional<ExampleTable> held_out;  // where the data set brings its own test part
  InputContract contract = {};           // by which both were read
  bool is_by_contract = false;           // of before: nothing was fitted
  std::vector<std::string> groups = {};  // of each example: what LoadRequest::group asked for
  std::vector<std::string> notes = {};   // what was missing, unseen or left out, a sentence each
  // dataset_file of the two, where they come from a data cache and so lie in memory as such.
  std::optional<ColumnBytes> examples_file = {}, held_out_file = {};
};

// Which of `examples` scales and categories are fitted on. `labels`: the class of each, empty where the target is a
// number. `has_test_part`: the source brings a held-out part of its own.
using FitPart = std::function<Result<Indices>(std::span<const int32_t> labels, size_t examples, bool has_test_part)>;

struct LoadRequest {
  FitPart fit = nullptr;         // null: on all. Asked once, by kinds that fit: csv and npy without a contract.
  std::string group = {};        // a column of csv, which is then no input; "speaker" of a text
  StageLog* stages = nullptr;    // hears how long read, unpack, parse and encode take; null: nobody does
  SourceLog* sources = nullptr;  // hears which files were read; null: nobody does
  std::string fit_name = {};     // all that `fit` decides by beside the data; empty: unknown, so that nothing is cached
  bool may_be_cached = true;     // where this process has a data cache (tools/data_cache/process_cache.h)

  LoadWatchers watchers() const { return {stages, sources}; }
};

// What load_data takes, for messages and help.
inline constexpr const char* kDataNames =
    "digits, mnist:DIR, cifar10:DIR, images:DIR, csv:FILE?target=COLUMN, npy:X.npy,Y.npy or text:FILE";

// `text`:
//   digits          the UCI digits, built in
//   mnist:DIR       IDX files under their usual names, gzipped or not: train-*, t10k-* as the held-out part; one of the
//                   two alone is all there is
//   cifar10:DIR     data_batch_1.bin to _5.bin, test_batch.bin as the held-out part; likewise
//   images:DIR      one folder of JPEG and PNG files a class (image_folder.h). ?height=32&width=32 resizes them (one of
//                   the two alone: both), channels=1 makes them grey
//   csv:FILE        a table with a header row (csv.h), gzipped or not. ?target=COLUMN is what is to be told, and
//                   target=A,B several (csv_targets.h); as=class or as=number says what it is, where the
//                   guess is wrong, and as=class,number of each. numbers=raw leaves them as they
//                   are, categories=codes gives their numbers, missing=refuse takes no row that lacks a number,
//                   drop=A,B leaves columns out, category=A,B takes columns of numbers as names
//   npy:X.npy,Y.npy NumPy arrays (npy.h). as and numbers as above, but several targets a row are as they stand there;
//                   test=X.npy,Y.npy is the held-out part
//   text:FILE       pieces of a UTF-8 text and what comes next (text.h), gzipped or not. ?length=80 characters;
//                   target=last: only what comes behind the piece. The group "speaker" is who speaks in a play (play.h)
// csv, npy, images and text take contract=FILE in place of all their options but test: the data are read as those that
// the contract was made of (input_contract.h).
// Where this process has a data cache, csv, images, npy and text are read from it: then `fit` may not be asked, and the
// columns may be views of a file that is mapped. The values are the same.
// Errors name the file and what is wrong with it in one line: invalid_argument (the name), not_found, malformed,
// too_large and what the system says.
Result<TrainingData> load_data(const std::string& text, const LoadRequest& request = {});

// One device's examples: a data set file, or what load_data knows, without its held-out part. Adds what load_data notes
// to `notes`. Errors name it; invalid_argument for a directory of `coterie data make`, which has many devices'.
Result<DatasetSource> open_examples(const std::string& name, std::vector<std::string>& notes);

}  // namespace coterie
