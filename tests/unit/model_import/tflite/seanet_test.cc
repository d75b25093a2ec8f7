// The reference against TensorFlow Lite Micro's own answers: models of one operator with activations of 16 bits
// (tflite-micro, integration_tests/seanet), inputs and outputs as its kernels have them, in ../shared/data/tflite.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/os/file.h"
#include "model_import/tflite/read_tflite.h"
#include "model_import/tflite_reference/run_tflite.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"

namespace coterie::model_import {
namespace {

namespace fs = std::filesystem;

Bytes bytes_of(const fs::path& path) {
  Result<Bytes> bytes = os::read_file(path.string(), 1 << 24);
  EXPECT_OK(bytes);
  return bytes ? std::move(*bytes) : Bytes();
}

std::vector<int64_t> numbers_in(const fs::path& path) {
  const Bytes bytes = bytes_of(path);
  std::istringstream text(std::string(bytes.begin(), bytes.end()));
  std::vector<int64_t> numbers;
  for (std::string word; std::getline(text, word, ',');) numbers.push_back(std::stoll(word));
  return numbers;
}

// "conv3" and "input0": the file of that stem whose name says a type, too. Empty: none.
fs::path table_of(const fs::path& model, const std::string& what) {
  for (const char* type : {"int16", "int32", "int8"}) {
    fs::path path = model.parent_path() / (model.stem().string() + "_" + what + "_" + type + ".csv");
    if (fs::exists(path)) return path;
  }
  return {};
}

struct Counts {
  size_t models = 0, equal = 0, numbers = 0, apart = 0;
};

void compare(const fs::path& path, Counts& counts) {
  SCOPED_TRACE(path.filename().string());
  const Result<TfliteModel> model = read_tflite(bytes_of(path));
  ASSERT_OK(model);
  std::vector<TfliteArray> inputs;
  for (size_t i = 0; i < model->inputs.size(); ++i) {
    const fs::path table = table_of(path, "input" + std::to_string(i));
    ASSERT_FALSE(table.empty());
    inputs.push_back({.shape = model->tensor(model->inputs[i]).shape, .reals = {}, .integers = numbers_in(table)});
  }
  const Result<std::vector<TfliteArray>> outputs = run_tflite(*model, inputs);
  ASSERT_OK(outputs);
  const std::vector<int64_t> golden = numbers_in(table_of(path, "golden"));
  ASSERT_EQ(outputs->at(0).integers.size(), golden.size());
  size_t apart = 0;
  for (size_t i = 0; i < golden.size(); ++i) apart += outputs->at(0).integers[i] != golden[i];
  EXPECT_EQ(apart, 0u);
  ++counts.models;
  counts.equal += apart == 0;
  counts.numbers += golden.size();
  counts.apart += apart;
}

TEST(TfliteSeanet, EveryAnswerIsTensorFlowLitesToTheBit) {
  const fs::path folder = fs::path(test::source_dir()) / "../shared/data/tflite/seanet";
  if (!fs::exists(folder)) GTEST_SKIP() << "SKIPPED: ../shared/data/tflite/seanet is not there";
  Counts counts;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".tflite") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) compare(file, counts);
  EXPECT_EQ(counts.equal, files.size());
  EXPECT_GE(files.size(), 127u);
  std::printf("%zu of %zu models equal; %zu of %zu numbers differ\n", counts.equal, files.size(), counts.apart,
              counts.numbers);
}

TEST(TfliteSeanet, WhatItCannotComputeIsRefusedByName) {
  for (const char* name : {"keyword_scrambled.tflite", "keyword_scrambled_8bit.tflite"}) {
    const fs::path path = fs::path(test::source_dir()) / "../shared/data/tflite" / name;
    if (!fs::exists(path)) GTEST_SKIP() << "SKIPPED: ../shared/data/tflite is not there";
    const Result<TfliteModel> model = read_tflite(bytes_of(path));
    ASSERT_FALSE(model) << name;
    EXPECT_EQ(model.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(model.error().message().find("SVDF (operator "), std::string::npos) << model.error().message();
  }
}

}  // namespace
}  // namespace coterie::model_import
