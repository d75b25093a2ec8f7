#include "fl_server/serving/grpc/infer_message.h"

#include <gmock/gmock.h>

#include <bit>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using inference::ModelInferRequest;
using testing::ElementsAre;
using testing::HasSubstr;

ClientInterface model_of_two() {
  return {.inputs = {{"image", ProtocolType::float32, {2}, 2}, {"word", ProtocolType::int32, {1}, 1}},
          .outputs = {{"score", ProtocolType::float32, {3}, 3}}};
}

ModelInferRequest two_rows() {
  ModelInferRequest message;
  message.set_model_name("m");
  auto& image = *message.add_inputs();
  image.set_name("image");
  image.set_datatype("FP32");
  image.add_shape(2);
  image.add_shape(2);
  for (const float value : {1.f, 2.f, 3.f, 4.f}) image.mutable_contents()->add_fp32_contents(value);
  auto& word = *message.add_inputs();
  word.set_name("word");
  word.set_datatype("INT32");
  word.add_shape(2);
  word.add_shape(1);
  word.mutable_contents()->add_int_contents(7);
  word.mutable_contents()->add_int_contents(-1);
  return message;
}

Result<InferRequest> read(const ModelInferRequest& message) { return read_infer_message(message, model_of_two(), {}); }

void expect_refused(const ModelInferRequest& message, std::string_view why,
                    ErrorCode code = ErrorCode::invalid_argument) {
  const auto refused = read(message);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), code);
  EXPECT_THAT(std::string(refused.error().message()), HasSubstr(why));
}

TEST(InferMessage, ContentsAreRowsInTheModelsOrder) {
  ModelInferRequest message = two_rows();
  message.mutable_inputs()->SwapElements(0, 1);
  message.set_id("7");
  (*message.mutable_parameters())["timeout"].set_int64_param(1500);
  const auto request = read(message);
  ASSERT_OK(request);
  EXPECT_EQ(request->rows, 2u);
  EXPECT_THAT(request->inputs[0].words, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(std::bit_cast<int32_t>(request->inputs[1].words[1]), -1);
  EXPECT_EQ(request->id, "7");
  EXPECT_EQ(request->timeout_us, 1500u);
  (*message.mutable_parameters())["timeout"].set_uint64_param(2500);
  EXPECT_EQ(read(message)->timeout_us, 2500u) << "as newer clients write it";
  EXPECT_TRUE(request->as_binary.empty());
}

TEST(InferMessage, RawContentsAreTheSameRows) {
  ModelInferRequest message = two_rows();
  const std::vector<float> image = {1, 2, 3, 4};
  const std::vector<int32_t> word = {7, -1};
  for (auto& input : *message.mutable_inputs()) input.clear_contents();
  message.add_raw_input_contents(image.data(), 16);
  message.add_raw_input_contents(word.data(), 8);
  const auto raw = read(message), plain = read(two_rows());
  ASSERT_OK(raw);
  ASSERT_OK(plain);
  EXPECT_THAT(raw->as_binary, ElementsAre(true));
  EXPECT_EQ(raw->inputs[0].words, plain->inputs[0].words);
  EXPECT_EQ(std::bit_cast<int32_t>(raw->inputs[1].words[1]), -1);

  message.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  expect_refused(message, "contents beside raw_input_contents");
  message.mutable_inputs(0)->clear_contents();
  message.mutable_raw_input_contents(1)->pop_back();
  expect_refused(message, "has 7 bytes, its shape has 8");
  message.mutable_raw_input_contents()->RemoveLast();
  expect_refused(message, "1 raw_input_contents for 2 inputs");
}

TEST(InferMessage, WhatTheModelDoesNotTakeIsRefusedByName) {
  ModelInferRequest message = two_rows();
  message.mutable_inputs(0)->set_name("picture");
  expect_refused(message, "input \"picture\": the model has no such input; it takes \"image\", \"word\"");
  message = two_rows();
  *message.add_inputs() = message.inputs(0);
  expect_refused(message, "given twice");
  message = two_rows();
  message.mutable_inputs()->RemoveLast();
  expect_refused(message, "input \"word\" is missing");
  message = two_rows();
  message.mutable_inputs(0)->set_datatype("FP64");
  expect_refused(message, "datatype is \"FP64\", the model takes FP32");
  message = two_rows();
  message.mutable_inputs(0)->set_shape(0, 3);
  expect_refused(message, "fp32_contents has 4 values, its shape has 6");
  message.mutable_inputs(0)->set_shape(0, INT64_MAX);
  expect_refused(message, "examples, a request at most", ErrorCode::too_large);
  message.mutable_inputs(0)->set_shape(0, 0);
  expect_refused(message, "at least one example");
  message.mutable_inputs(0)->set_shape(0, -1);
  expect_refused(message, "its shape has a size below 0");
  message = two_rows();
  message.mutable_inputs(1)->set_shape(0, 1);
  expect_refused(message, "the input before 2");
  message = two_rows();
  message.add_outputs()->set_name("other");
  expect_refused(message, "output \"other\": the model has \"score\" alone");
  message = two_rows();
  (*message.mutable_parameters())["timeout"].set_string_param("1");
  expect_refused(message, "int64_param");
  message = two_rows();
  message.set_id(std::string(kInferIdBytesMax + 1, 'x'));
  expect_refused(message, "id has more than", ErrorCode::too_large);
}

TEST(InferMessage, OutputsArePickedByNameEachOnce) {
  ClientInterface model = model_of_two();
  model.outputs.push_back({"place\n", ProtocolType::int32, {1}, 1});
  ModelInferRequest message = two_rows();
  message.add_outputs()->set_name("place\n");
  const auto one = read_infer_message(message, model, {});
  ASSERT_OK(one);
  EXPECT_THAT(one->wanted, ElementsAre(false, true));
  message.add_outputs()->set_name("score");
  EXPECT_THAT(read_infer_message(message, model, {})->wanted, ElementsAre(true, true));
  const auto refusal = [&] {
    const auto refused = read_infer_message(message, model, {});
    return refused ? "taken" : refused.error().message();
  };
  message.add_outputs()->set_name("place\n");
  EXPECT_THAT(refusal(), HasSubstr(R"(output "place\u000a": it is asked for twice)"));
  message.mutable_outputs(2)->set_name(std::string("\0\x1b", 2));
  EXPECT_THAT(refusal(), HasSubstr(R"(output "\u0000\u001b": the model has "score", "place\u000a" alone)"));
  message.clear_outputs();
  for (int i = 0; i < 1'000; ++i) message.add_outputs()->set_name(std::to_string(i));
  EXPECT_THAT(refusal(), HasSubstr("output \"0\": the model has"));
}

// Two bytes of a field that is repeated become a hundred in memory.
TEST(InferMessage, FieldsAreCountedBeforeTheyAreRead) {
  ModelInferRequest message = two_rows();
  for (int i = 0; i < 5000; ++i) message.add_inputs();
  std::string bytes = message.SerializeAsString();
  EXPECT_EQ(decode_infer_message(as_bytes(bytes)).error().code(), ErrorCode::too_large);
  // A string is a field of its own, even an empty one.
  message = two_rows();
  for (int i = 0; i < 5000; ++i) message.mutable_inputs(0)->mutable_contents()->add_bytes_contents("");
  bytes = message.SerializeAsString();
  EXPECT_EQ(decode_infer_message(as_bytes(bytes)).error().code(), ErrorCode::too_large);
  message = two_rows();
  for (int i = 0; i < 5000; ++i) (*message.mutable_inputs(0)->mutable_parameters())[std::to_string(i)];
  bytes = message.SerializeAsString();
  EXPECT_EQ(decode_infer_message(as_bytes(bytes)).error().code(), ErrorCode::too_large);
  // Packed values are one field, however many they are.
  message = two_rows();
  for (int i = 0; i < 50'000; ++i) message.mutable_inputs(0)->mutable_contents()->add_fp32_contents(0);
  bytes = message.SerializeAsString();
  EXPECT_OK(decode_infer_message(as_bytes(bytes)));
}

// A packed number may be a byte and become eight.
TEST(InferMessage, WhatAFewBytesWouldGrowToIsRefusedBeforeItIsRead) {
  const auto refused = [](const ModelInferRequest& message, std::string_view why) {
    const auto decoded = decode_infer_message(as_bytes(message.SerializeAsString()));
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code(), ErrorCode::invalid_argument);
    EXPECT_THAT(std::string(decoded.error().message()), HasSubstr(why));
  };
  ModelInferRequest message = two_rows();
  for (int i = 0; i < 1000; ++i) message.mutable_inputs(0)->add_shape(0);
  refused(message, "at most 16 dimensions");
  message = two_rows();
  for (int i = 0; i < 1000; ++i) message.mutable_inputs(0)->mutable_contents()->add_int64_contents(0);
  refused(message, "models take fp32_contents");
  message = two_rows();
  for (int i = 0; i < 15; ++i) message.mutable_inputs(0)->add_shape(1);  // few bytes, and still too many
  ASSERT_OK(decode_infer_message(as_bytes(message.SerializeAsString())));
  expect_refused(message, "at most 16 dimensions");
}

TEST(InferMessage, WhatIsCutOrChangedIsRefusedOrRead) {
  const std::string whole = two_rows().SerializeAsString();
  size_t malformed = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto message = decode_infer_message(as_bytes(whole.substr(0, size)));
    if (!message) ++malformed;
    else EXPECT_FALSE(read(*message)) << size;
  }
  EXPECT_GT(malformed, whole.size() / 2);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char change : {'\x01', '\x80', '\x7f'}) {
      std::string other = whole;
      other[i] = static_cast<char>(other[i] ^ change);
      const auto message = decode_infer_message(as_bytes(other));
      if (message) (void)read(*message);
    }
  }
}

TEST(InferMessage, AnAnswerHasItsValuesInTheFormOfTheRequest) {
  const ClientInterface model = model_of_two();
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const TensorValues output{.shape = {3}, .words = values};
  const InferAnswer answer{
      .model = "m", .version = "3", .digest = "ab", .id = "7", .rows = 2, .outputs = {{&model.outputs[0], &output}}};
  const inference::ModelInferResponse plain = infer_message(answer, false);
  EXPECT_EQ(plain.model_version(), "3");
  EXPECT_EQ(plain.parameters().at("coterie_digest").string_param(), "ab");
  EXPECT_THAT(plain.outputs(0).shape(), ElementsAre(2, 3));
  EXPECT_THAT(plain.outputs(0).contents().fp32_contents(), ElementsAre(1, 2, 3, 4, 5, 6));
  const inference::ModelInferResponse raw = infer_message(answer, true);
  EXPECT_FALSE(raw.outputs(0).has_contents());
  EXPECT_EQ(raw.raw_output_contents(0), std::string(reinterpret_cast<const char*>(values.data()), 24));
}

TEST(InferMessage, AnAnswerHasSeveralOutputsInTheirOrder) {
  const std::vector<TensorInterface> outputs{{"score", ProtocolType::float32, {2}, 2},
                                             {"place", ProtocolType::int32, {}, 1}};
  const std::vector<TensorValues> values{{.shape = {2}, .words = {1, 2}}, {.words = {std::bit_cast<float>(-7)}}};
  const InferAnswer answer{
      .model = "m", .version = "3", .digest = "ab", .id = {}, .rows = 1, .outputs = answered(outputs, values, {}, {})};
  const inference::ModelInferResponse plain = infer_message(answer, false), raw = infer_message(answer, true);
  EXPECT_EQ(plain.outputs(1).name(), "place");
  EXPECT_THAT(plain.outputs(0).contents().fp32_contents(), ElementsAre(1, 2));
  EXPECT_THAT(plain.outputs(1).contents().int_contents(), ElementsAre(-7));
  EXPECT_THAT(raw.outputs(0).shape(), ElementsAre(1, 2));
  EXPECT_THAT(raw.outputs(1).shape(), ElementsAre(1));
  ASSERT_EQ(raw.raw_output_contents_size(), 2);
  EXPECT_EQ(raw.raw_output_contents(1), std::string("\xf9\xff\xff\xff"));
}

}  // namespace
}  // namespace coterie
