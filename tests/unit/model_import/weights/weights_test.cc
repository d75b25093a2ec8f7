// Each format says the same of the same table (tests/golden/weights/make_weights.py).
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/model_import/weights/weight_files.h"

namespace coterie {
namespace {

using namespace model_import;
using namespace test;

struct Expected {
  const char* name;
  WeightType type;
  Shape shape;
};
const Expected kTable[] = {
    {"conv.weight", WeightType::float32, {3, 2, 2, 2}}, {"conv.bias", WeightType::float32, {3}},
    {"norm.weight", WeightType::float16, {3}},          {"norm.bias", WeightType::bfloat16, {3}},
    {"norm.running_mean", WeightType::float64, {3}},    {"norm.num_batches_tracked", WeightType::int64, {}},
    {"fc.weight", WeightType::float32, {2, 3}},         {"fc.bias", WeightType::float32, {2}}};

void expect_table(const std::string& file, WeightFormat format) {
  SCOPED_TRACE(file);
  const Bytes bytes = golden_weights(file);
  const Result<WeightTable> table = read_weights(bytes);
  ASSERT_OK(table);
  EXPECT_EQ(table->format, format);
  ASSERT_EQ(table->tensors.size(), std::size(kTable));
  for (size_t t = 0; t < table->tensors.size(); ++t) {
    const WeightTensor& tensor = table->tensors[t];
    SCOPED_TRACE(tensor.name);
    EXPECT_EQ(tensor.name, kTable[t].name);
    EXPECT_EQ(tensor.shape, kTable[t].shape);
    const bool has_type = format != WeightFormat::npz || kTable[t].type != WeightType::bfloat16;  // NumPy has none
    EXPECT_EQ(tensor.type, has_type ? kTable[t].type : WeightType::float32);
    if (!is_real(tensor.type)) {
      EXPECT_ERROR(read_values(tensor), ErrorCode::invalid_argument, "is of int64");
      continue;
    }
    const Result<std::vector<float>> values = read_values(tensor);
    ASSERT_OK(values);
    ASSERT_EQ(values->size(), static_cast<size_t>(std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1},
                                                                  std::multiplies<int64_t>())));
    for (size_t i = 0; i < values->size(); ++i) {
      ASSERT_EQ((*values)[i], (static_cast<float>((7 * i + 3 * t) % 23) - 11) / 8) << i;
    }
  }
}

TEST(Weights, Safetensors) { expect_table("table.safetensors", WeightFormat::safetensors); }

TEST(Weights, NumpyArchives) {
  expect_table("table.npz", WeightFormat::npz);
  expect_table("table_compressed.npz", WeightFormat::npz);
}

TEST(Weights, MindsporeCheckpoints) {
  expect_table("table.ckpt", WeightFormat::mindspore);
  expect_table("table_crc.ckpt", WeightFormat::mindspore);
}

// As protoc --encode writes it (tools.md, section 3): Float32 [2, 1] with 1 and 2.
TEST(Weights, AMindsporeCheckpointOfProtoc) {
  const Result<Bytes> file =
      from_hex("0a260a0b636f6e762e7765696768741217080208011207466c6f617433321a080000803f00000040");
  ASSERT_OK(file);
  const Result<WeightTable> table = read_weights(*file);
  ASSERT_OK(table);
  ASSERT_EQ(table->tensors.size(), 1u);
  EXPECT_EQ(table->tensors[0].name, "conv.weight");
  EXPECT_EQ(table->tensors[0].shape, (Shape{2, 1}));
  EXPECT_EQ(*read_values(table->tensors[0]), (std::vector<float>{1, 2}));
}

TEST(Weights, PytorchStateDicts) {
  expect_table("table.pt", WeightFormat::pytorch);
  expect_table("table_zip32.pt", WeightFormat::pytorch);
}

// Beside the weights it has an optimizer's state, an epoch and a loss: the weights are found, or asked for.
TEST(Weights, APartOfAPytorchCheckpoint) {
  expect_table("checkpoint.pt", WeightFormat::pytorch);
  const Bytes file = golden_weights("checkpoint.pt");
  EXPECT_EQ(read_weights(file)->notes, std::vector<std::string>{"the weights are those of model_state_dict"});
  EXPECT_OK(read_weights(file, {.part = "model_state_dict"}));
  EXPECT_ERROR(read_weights(file, {.part = "ema"}), ErrorCode::invalid_argument, "it has: model_state_dict");
}

TEST(Weights, FormsThatAreNotRead) {
  const auto refused = [](std::string_view bytes, std::string_view words) {
    EXPECT_ERROR(read_weights(as_bytes(bytes)), ErrorCode::invalid_argument, words);
  };
  refused("\x80\x02}q.", "PyTorch before 1.6");
  refused("\x89HDF\r\n\x1a\nrest", "is HDF5");
  EXPECT_ERROR(read_weights(as_bytes("weights")), ErrorCode::malformed, "is no file of weights that is known");
  EXPECT_ERROR(read_weights({}), ErrorCode::malformed, "is no file of weights that is known");
  const Bytes script = ZipBuild().member("a/data.pkl", "x").member("a/code/net.py", "x").finish();
  EXPECT_ERROR(read_weights(script), ErrorCode::invalid_argument, "is TorchScript");
  const Bytes other = ZipBuild().member("a/readme", "x").finish();
  EXPECT_ERROR(read_weights(other), ErrorCode::malformed, "not of torch.save");
}

// A number counts as one, an array without elements as none.
TEST(Weights, ThatAreReadTogetherHaveALimitTogether) {
  WeightTable table;
  table.tensors = {
      {.name = "a", .shape = {1 << 15, 1 << 16}}, {.name = "b", .shape = {}}, {.name = "c", .shape = {9, 0}}};
  EXPECT_OK(check_elements(table, (1ull << 31) + 1));
  EXPECT_ERROR(check_elements(table, 1ull << 31), ErrorCode::too_large, "2147483649 elements together");
}

}  // namespace
}  // namespace coterie
