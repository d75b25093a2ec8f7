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
  EXPECT_EQ(compare({x, both, "--html", path("page.html")}).code, ExitCode::failure);
  const Result<Bytes> page = os::read_file(path("page.html"), 1 << 20);
  ASSERT_OK(page);
  EXPECT_THAT(std::string(as_text(*page)), HasSubstr("<p>what both have agrees</p>"));
  EXPECT_EQ(compare({x, arrays("other.npz", {{"x", 1.001f}, {"z", 0}})}).code, ExitCode::failure);
}

// A dump of one tensor in what PyTorch computes with: in float16, and in the order of Fortran.
TEST_F(ModelCompareCommand, ReadsAnArrayByItself) {
  const auto written = [&](const std::string& name, const std::string& type, const std::string& shape,
                           const std::string& bytes) {
    std::string header = "{'descr': '" + type + "', 'fortran_order': True, 'shape': " + shape + ", }";
    header.resize(117, ' ');
    const std::string file = "\x93NUMPY" + little(1, 1) + little(0, 1) + little(118, 2) + header + "\n" + bytes;
    EXPECT_OK(os::write_file_atomically(path(name), as_bytes(file)));
    return path(name);
  };
  const std::string half = written("half.npy", "<f2", "(2,)", {"\x00\x3c\x00\x7c", 4});  // 1, infinity
  const std::string whole = written("whole.npy", "<f4", "(2,)", {"\x00\x00\x80\x3f\x00\x50\xc3\x47", 8});  // 1, 1e5
  const CommandOutcome beyond = compare({half, whole});
  EXPECT_EQ(beyond.code, ExitCode::failure) << beyond.err;
  EXPECT_THAT(beyond.out, HasSubstr("1 value is infinite where the reference is beyond 65504"));
  const CommandOutcome flat = compare({half, written("flat.npy", "<f2", "(2, 1)", {"\x00\x3c\x00\x7c", 4})});
  EXPECT_EQ(flat.code, ExitCode::failure);
  EXPECT_THAT(flat.out, HasSubstr("its shape is 2, the reference's 2x1\n"));
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
              HasSubstr("x.npz has arrays, and " + model + " is none of their files"));
  const CommandOutcome foreign =
      compare({arrays("a.npz", {{"x", 1}, {"y", 2}}), arrays("b.npz", {{"z", 1}, {"w", 1}})});
  EXPECT_EQ(foreign.code, ExitCode::usage);
  EXPECT_THAT(foreign.err,
              HasSubstr("have no tensor in common, by name: the first has 2 (x, ...), the second 2 (z, ...)"));
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "4", "-o", path("row.cotf")}).code, ExitCode::ok);
  EXPECT_THAT(compare({model, path("row.cotf")}).err, HasSubstr("the first 8x8x1 float32, the second 4 float32"));
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
