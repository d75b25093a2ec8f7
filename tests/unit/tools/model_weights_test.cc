// coterie model load-weights as a command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/model.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/model_import/weights/weight_files.h"
#include "tests/unit/tools/run_command.h"
#include "tests/unit/tools/terminal_width.h"
#include "tools/cli/model_weights.h"

namespace coterie {
namespace {

using namespace test;
using testing::HasSubstr;

class ModelWeightsCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  Model made(const std::string& name, const std::string& seed, const std::string& kind = "mlp") {
    EXPECT_EQ(
        run_command({"model", "new", kind, "--input", "6x4x1", "--classes", "3", "--seed", seed, "-o", path(name)})
            .code,
        ExitCode::ok);
    return opened(name);
  }
  Model opened(const std::string& name) {
    Result<Bytes> file = os::read_file(path(name), 1 << 24);
    EXPECT_OK(file);
    return *Model::load(std::move(*file));
  }
  void write(const std::string& name, const std::string& bytes) {
    EXPECT_OK(os::write_file_atomically(path(name), as_bytes(bytes)));
  }

  // The parameters of a model under other names, as safetensors. Linear layers lie as Coterie has them.
  static std::string safetensors_of(const Model& model, const std::string& prefix) {
    nlohmann::json header;
    std::string data;
    for (const TensorInfo& tensor : model.graph().tensors) {
      if (!has_payload(tensor.role)) continue;
      const uint64_t bytes = elements(tensor.shape) * sizeof(float);
      header[prefix + tensor.name] = {
          {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {data.size(), data.size() + bytes}}};
      data.append(reinterpret_cast<const char*>(model.parameters().data()) + tensor.payload_offset, bytes);
    }
    const std::string text = header.dump();
    return little(text.size(), 8) + text + data;
  }

  static std::string npy(const Shape& shape, const std::vector<float>& values) {
    std::string sizes;
    for (const int64_t size : shape) sizes += std::to_string(size) + ", ";
    const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + sizes + "), }\n";
    return "\x93NUMPY\x01" + std::string(1, '\0') + little(header.size(), 2) + header +
           std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }

 private:
  TemporaryDirectory folder_;
};

TEST_F(ModelWeightsCommand, LoadsWhatHasTheSameNames) {
  const Model source = made("source.cotf", "1");
  made("graph.cotf", "2");
  write("w.safetensors", safetensors_of(source, "model."));
  const CommandOutcome done =
      run_command({"model", "load-weights", path("graph.cotf"), path("w.safetensors"), "-o", path("out.cotf")});
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  EXPECT_THAT(done.out, HasSubstr("dense1.weight  model.dense1.weight  like name: as it is"));
  EXPECT_THAT(done.out, HasSubstr("written to"));
  EXPECT_TRUE(std::ranges::equal(opened("out.cotf").parameters(), source.parameters()));
}

TEST_F(ModelWeightsCommand, WritesNothingInDoubt) {
  const Model source = made("source.cotf", "1");
  made("graph.cotf", "2", "logistic");
  write("w.safetensors", safetensors_of(source, ""));
  const std::vector<std::string> words = {"model", "load-weights",  path("graph.cotf"), path("w.safetensors"),
                                          "-o",    path("out.cotf")};
  const CommandOutcome refused = run_command(words);
  EXPECT_EQ(refused.code, ExitCode::failure);
  EXPECT_THAT(refused.err, HasSubstr("nothing is written: "));
  EXPECT_THAT(refused.out, HasSubstr("dense1.weight  unmatched: the file's tensor of this name is 24x64"));
  EXPECT_THAT(refused.err, HasSubstr("--map says which is which"));
  expect_80_columns(refused.out);
  EXPECT_FALSE(os::exists(path("out.cotf")));
  std::vector<std::string> as_json = words;
  as_json.push_back("--json");
  EXPECT_THAT(nlohmann::json::parse(run_command(as_json).out).at("problems").size(), testing::Gt(0u));
  // Everything said by hand, in a file of rules.
  write("rules", "# a comment\n\ndense1.bias=dense2.bias  # the last layer's\n");
  std::vector<std::string> by_hand = words;
  for (const std::string& word : std::vector<std::string>{"--map", path("rules"), "--keep", "dense1.weight", "--ignore",
                                                          "dense*.weight", "--ignore", "dense1.bias"}) {
    by_hand.push_back(word);
  }
  const CommandOutcome done = run_command(by_hand);
  EXPECT_EQ(done.code, ExitCode::ok) << done.err;
  EXPECT_TRUE(os::exists(path("out.cotf")));
}

TEST_F(ModelWeightsCommand, ChecksOutputs) {
  const Model source = made("source.cotf", "1", "logistic");
  made("graph.cotf", "2", "logistic");
  write("w.safetensors", safetensors_of(source, ""));
  // An input of 1 at pixel 5 alone: its row of the weight, as the bias of a new model is 0.
  std::vector<float> input(24), output(3);
  input[5] = 1;
  for (const TensorInfo& tensor : source.graph().tensors) {
    if (tensor.name != "dense1.weight") continue;
    for (size_t i = 0; i < 3; ++i) output[i] = source.parameters()[tensor.payload_offset / sizeof(float) + 15 + i];
  }
  const auto check = [&](const Shape& shape) {
    const Bytes file =
        ZipBuild().member("input.npy", npy(shape, input)).member("output.npy", npy({1, 3}, output)).finish();
    EXPECT_OK(os::write_file_atomically(path("check.npz"), file));
    return run_command({"model", "load-weights", path("graph.cotf"), path("w.safetensors"), "-o", path("out.cotf"),
                        "--check", path("check.npz")});
  };
  EXPECT_EQ(check({1, 6, 4, 1}).code, ExitCode::ok);
  EXPECT_EQ(check({1, 1, 6, 4}).code, ExitCode::ok);  // channels first
  EXPECT_THAT(check({1, 24}).err, HasSubstr("input has examples of 24, expected 6x4x1"));
  EXPECT_OK(os::remove_file(path("out.cotf")));
  output[1] += 1;
  const CommandOutcome refused = check({1, 6, 4, 1});
  EXPECT_EQ(refused.code, ExitCode::failure);
  EXPECT_THAT(refused.err, HasSubstr("the largest difference is"));
  EXPECT_FALSE(os::exists(path("out.cotf")));
}

TEST_F(ModelWeightsCommand, SaysWhatIsWrongWithAFile) {
  made("graph.cotf", "2");
  const Bytes evil = torch_file(
      "\x80\x02"
      "cos\nsystem\n" +
      pickled_text("touch pwned") + "\x85R.");
  EXPECT_OK(os::write_file_atomically(path("evil.pt"), evil));
  const CommandOutcome refused =
      run_command({"model", "load-weights", path("graph.cotf"), path("evil.pt"), "-o", path("out.cotf")});
  EXPECT_EQ(refused.code, ExitCode::usage);
  EXPECT_THAT(refused.err,
              HasSubstr("evil.pt: names os.system, which no state dict needs, and nothing of a file is executed"));
  EXPECT_EQ(run_command({"model", "load-weights", path("graph.cotf"), path("none"), "-o", path("out.cotf")}).code,
            ExitCode::usage);
}

TEST(ModelWeights, RulesOfMaps) {
  EXPECT_ERROR(parse_maps({"=b"}), ErrorCode::invalid_argument, "must be TENSOR=TENSOR");
  EXPECT_ERROR(parse_maps({"a="}), ErrorCode::invalid_argument, "must be TENSOR=TENSOR");
  const auto pairs = parse_maps({"a.*=b.*", "c=d"});
  ASSERT_OK(pairs);
  EXPECT_EQ(pairs->size(), 2u);
}

}  // namespace
}  // namespace coterie
