// coterie model compare as a command: what it says, with which exit code, and the page that it writes.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/model_import/weights/weight_files.h"
#include "tests/unit/tools/run_command.h"
#include "tests/unit/tools/strict_xml.h"
#include "tools/compare_tensors/comparison_page.h"
#include "tools/demo/hash_source.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

class ModelCompareCommand : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string made(const std::string& name, const std::string& seed) {
    EXPECT_EQ(run_command({"model", "new", "cnn", "--input", "8x8x1", "--seed", seed, "-o", path(name)}).code,
              ExitCode::ok);
    return path(name);
  }
  std::string arrays(const std::string& name, const std::vector<std::pair<std::string, float>>& members) {
    ZipBuild build;
    for (const auto& [member, value] : members) {
      std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
      header.resize(117, ' ');
      const std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
      build.member(member + ".npy", "\x93NUMPY" + little(1, 1) + little(0, 1) + little(118, 2) + header + "\n" + bytes);
    }
    EXPECT_OK(os::write_file_atomically(path(name), build.finish()));
    return path(name);
  }
  static CommandOutcome compare(std::vector<std::string> words) {
    words.insert(words.begin(), {"model", "compare"});
    return run_command(words);
  }

 private:
  TemporaryDirectory folder_;
};

TEST_F(ModelCompareCommand, AModelAgreesWithItself) {
  const std::string model = made("a.cotf", "1");
  const CommandOutcome same = compare({model, model});
  EXPECT_EQ(same.code, ExitCode::ok) << same.err;
  EXPECT_THAT(same.out, HasSubstr("everything agrees, within 0.0001 of the largest value"));
}

TEST_F(ModelCompareCommand, NamesTheFirstLayerAndFails) {
  const std::string a = made("a.cotf", "1"), b = made("b.cotf", "2");
  const CommandOutcome apart = compare({a, b, "--data", "digits"});
  EXPECT_EQ(apart.code, ExitCode::failure) << apart.err;
  EXPECT_THAT(apart.out, HasSubstr("the first that is apart: conv1 (conv2d)\n"));
  std::istringstream lines(apart.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  const nlohmann::json json = nlohmann::json::parse(compare({a, b, "--json"}).out);
  EXPECT_EQ(json["first_apart"], "conv1");
  EXPECT_EQ(json["tensors"][0]["metrics"].size(), 13u) << "ten, of which one is two numbers of each model";
}

TEST_F(ModelCompareCommand, AnArrayInOneFileAloneIsADifference) {
  const std::string both = arrays("both.npz", {{"x", 1}, {"y", 2}}), x = arrays("x.npz", {{"x", 1}});
  EXPECT_EQ(compare({both, both}).code, ExitCode::ok);
  const CommandOutcome less = compare({both, x});
  EXPECT_EQ(less.code, ExitCode::failure) << less.err;
  EXPECT_THAT(less.out, HasSubstr("only in a: 1 tensor, the first y\nwhat both have agrees"));
  EXPECT_EQ(compare({x, both}).code, ExitCode::failure);
  EXPECT_EQ(compare({x, arrays("other.npz", {{"x", 1.001f}, {"z", 0}})}).code, ExitCode::failure);
}

// The same table as each framework writes it.
TEST_F(ModelCompareCommand, ReadsTheFilesOfFrameworks) {
  const std::string folder = source_dir() + "/tests/golden/weights/";
  for (const std::string file : {"table.safetensors", "table.ckpt", "table.npz"}) {
    const CommandOutcome same = compare({folder + "table.pt", folder + file, "--tolerance", "0"});
    EXPECT_EQ(same.code, ExitCode::ok) << file << "\n" << same.out << same.err;
    EXPECT_THAT(same.out, HasSubstr("everything agrees")) << file;
  }
}

TEST_F(ModelCompareCommand, WhatCannotBeComparedIsUsage) {
  const std::string model = made("a.cotf", "1");
  EXPECT_THAT(compare({model, arrays("x.npz", {{"x", 1}})}).err,
              HasSubstr("compares two models, or two files of arrays"));
  EXPECT_EQ(compare({model, "/nowhere.cotf"}).code, ExitCode::usage);
  EXPECT_EQ(compare({model, model, "--data", "digits", "--examples", "100000"}).code, ExitCode::usage);
}

// Names come from files of others; the page runs nothing of theirs, and its policy allows what it holds alone.
TEST_F(ModelCompareCommand, ThePageIsStrictWhateverNamesSay) {
  const std::string hostile = "</style><script>alert(1)</script> & \"x\"";
  ComparedTensor tensor{.name = hostile, .other = hostile, .kind = "dense", .shape = {1}, .other_shape = {2}};
  tensor.verdict = TensorVerdict::shape;
  TensorComparison comparison{.tensors = {tensor}, .only_a = {hostile}};
  const std::vector<float> values = {1, 2, 3};
  ComparedTensor& drawn = comparison.tensors.emplace_back(ComparedTensor{.name = hostile, .shape = {3}});
  drawn.picture = picture_of(values, values);
  drawn.notes = {hostile};
  const std::string page = comparison_page(comparison, hostile, "b.cotf"), first = "<!DOCTYPE html>\n";
  ASSERT_TRUE(page.starts_with(first));
  const Xml xml = read_xml(std::string_view(page).substr(first.size()));
  ASSERT_EQ(xml.error, "");
  EXPECT_TRUE(xml.named("script").empty());
  std::string policy;
  for (const XmlElement& meta : xml.named("meta")) {
    if (meta.attributes.contains("content") && meta.attributes.contains("http-equiv"))
      policy = meta.attributes.at("content");
  }
  EXPECT_TRUE(policy.starts_with("default-src 'none'; style-src 'sha256-")) << policy;
  EXPECT_EQ(xml.named("style").size(), 2u);
  for (const XmlElement& style : xml.named("style")) EXPECT_THAT(policy, HasSubstr(hash_source(style.text)));
}

}  // namespace
}  // namespace coterie::test
