#include "fl_server/serving/infer_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "base/json/json_scanner.h"
#include "base/random.h"
#include "fl_server/serving/infer_answer.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const ClientInterface kModel{.inputs = {{"x", ProtocolType::float32, {2, 2}, 4}, {"ids", ProtocolType::int32, {1}, 1}},
                             .outputs = {{"y", ProtocolType::float32, {3}, 3}}};
const InferLimits kLimits{.rows_max = 8};
constexpr const char* kIds = R"({"name":"ids","shape":[1,1],"datatype":"INT32","data":[7]})";

Result<InferRequest> parse(std::string_view text, std::optional<uint64_t> json_bytes = {}) {
  return parse_infer_request(as_bytes(text), json_bytes, kModel, kLimits);
}

// A request with this as the input x, and a good one as ids.
Result<InferRequest> parse_x(const std::string& members) {
  return parse(R"({"inputs":[{"name":"x",)" + members + "}," + kIds + "]}");
}

std::string refusal(const Result<InferRequest>& request) { return request ? "taken" : request.error().message(); }

TEST(InferRequest, IsReadWhateverTheOrderOfItsMembers) {
  const auto request =
      parse(R"({"parameters":{"timeout":2500,"other":{"a":[1]}},"outputs":[{"name":"y"}],"inputs":[)"
            R"({"data":[-1,-2],"datatype":"INT32","shape":[2,1],"name":"ids"},)"
            R"({"name":"x","shape":[2,2,2],"datatype":"FP32","data":[0,0.5,1,1.5,2,2.5,3,-3.5e0]}],"id":"a"})");
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->rows, 2u);
  EXPECT_EQ(request->id, "a");
  EXPECT_EQ(request->timeout_us, 2500u);
  EXPECT_THAT(request->inputs[0].words, ElementsAre(0, 0.5f, 1, 1.5f, 2, 2.5f, 3, -3.5f));
  EXPECT_EQ(std::bit_cast<int32_t>(request->inputs[1].words[1]), -2);
  EXPECT_TRUE(request->as_binary.empty());
}

// What steps take beside a model's own types: a size that the request chooses, doubles and bytes.
TEST(InferRequest, TakesWhatStepsTake) {
  const ClientInterface steps{.inputs = {{"pixels", ProtocolType::uint8, {kAnySize, 2}, 0},
                                         {"age", ProtocolType::float64, {}, 1},
                                         {"name", ProtocolType::bytes, {}, 1}},
                              .outputs = {{"y", ProtocolType::float32, {3}, 3}, {"z", ProtocolType::bytes, {}, 1}}};
  const auto with = [&](const std::string& pixels, const std::string& age, const std::string& name) {
    return parse_infer_request(
        as_bytes(R"({"inputs":[{"name":"pixels","datatype":"UINT8",)" + pixels +
                 R"(},{"name":"age","shape":[1],"datatype":"FP64","data":[)" + age +
                 R"(]},{"name":"name","shape":[1],"datatype":"BYTES",)" + name + R"(}],"outputs":[{"name":"z"}]})"),
        {}, steps, kLimits);
  };
  const std::string pixels = R"("shape":[1,3,2],"data":[[[0,1],[2,3],[4,255]]])", name = R"("data":["a\u00e9"])";
  const auto request = with(pixels, "0.1", name);
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->inputs[0].shape, (Shape{3, 2}));
  EXPECT_THAT(request->inputs[0].pixels, ElementsAre(0, 1, 2, 3, 4, 255));
  EXPECT_THAT(request->inputs[1].doubles, ElementsAre(0.1));
  EXPECT_THAT(request->inputs[2].texts, ElementsAre("a\xc3\xa9"));
  EXPECT_EQ(request->wanted, (std::vector<bool>{false, true}));
  EXPECT_THAT(refusal(with(R"("shape":[1,1,2],"data":[0,256])", "0", name)), HasSubstr("a UINT8 is at most 255"));
  EXPECT_THAT(refusal(with(R"("shape":[1,0,2],"data":[])", "0", name)), HasSubstr("the model takes [-1,-1,2]"));
  EXPECT_THAT(refusal(with(R"("shape":[1,134217729,2],"data":[])", "0", name)), HasSubstr("more than 268435456"));
  EXPECT_THAT(refusal(with(pixels, "1e999", name)), HasSubstr("a number beyond float64"));
  EXPECT_THAT(refusal(with(pixels, "0", R"("data":["YQ","YQ=="])")), HasSubstr("data has more values than its shape"));
  const std::string base64 = R"("parameters":{"content_type":"base64"},"data":[")";
  EXPECT_THAT(with(pixels, "0", base64 + "YWI=\"]")->inputs[2].texts, ElementsAre("ab"));
  EXPECT_THAT(with(pixels, "0", base64 + "YQ\"]")->inputs[2].texts, ElementsAre("a"));
  for (const std::string& bad : {"Y", "YR==", "YQ=", "Y Q=", "YQ==="}) {
    EXPECT_THAT(refusal(with(pixels, "0", base64 + bad + "\"]")), HasSubstr("a string is no base64")) << bad;
  }
}

TEST(InferRequest, TakesDataThatIsNestedAsItsShape) {
  const auto nested = parse_x(R"("shape":[1,2,2],"datatype":"FP32","data":[[[1,2],[3,4]]])");
  ASSERT_TRUE(nested) << nested.error().message();
  EXPECT_THAT(nested->inputs[0].words, ElementsAre(1, 2, 3, 4));
  for (const char* const data : {"[[1,2],[3,4]]",
                                 "[[[1,2,3],[4]]]",
                                 "[[[1,2]]]",
                                 "[[[1,2],[3,4]],[[1,2],[3,4]]]",
                                 "[[[[1,2,3,4]]]]",
                                 "[[[1,2],3]]",
                                 "[1,[2],3,4]",
                                 "[]",
                                 "[[]]",
                                 "[[[1,2],[3]]]",
                                 "[1,2,3]",
                                 "[1,2,3,4,5]",
                                 "1",
                                 "null",
                                 "\"AAAA\"",
                                 "[1,2,3,true]",
                                 "[1,2,3,null]",
                                 "[1,2,3,\"4\"]",
                                 "[1,2,3,NaN]",
                                 "[1,2,3,1e39]"}) {
    EXPECT_FALSE(parse_x(R"("shape":[1,2,2],"datatype":"FP32","data":)" + std::string(data))) << data;
  }
}

TEST(InferRequest, SaysWhichInputIsWrongAndHow) {
  EXPECT_THAT(refusal(parse_x(R"("shape":[1,2,3],"datatype":"FP32","data":[1,2,3,4])")),
              HasSubstr("input \"x\": shape is [1,2,3], the model takes [-1,2,2]"));
  EXPECT_THAT(refusal(parse_x(R"("shape":[2,2],"datatype":"FP32","data":[1,2,3,4])")),
              HasSubstr("the model takes [-1,2,2]"));
  EXPECT_THAT(refusal(parse_x(R"("shape":[0,2,2],"datatype":"FP32","data":[])")), HasSubstr("at least one example"));
  EXPECT_THAT(refusal(parse_x(R"("shape":[1,2,2],"datatype":"FP64","data":[1,2,3,4])")),
              HasSubstr("datatype is \"FP64\", the model takes FP32"));
  EXPECT_THAT(refusal(parse_x(R"("shape":[1,2,2],"data":[1,2,3,4])")), HasSubstr("no datatype"));
  EXPECT_THAT(refusal(parse_x(R"("datatype":"FP32","data":[1,2,3,4])")), HasSubstr("no shape"));
  EXPECT_THAT(refusal(parse_x(R"("shape":[1,2,2],"datatype":"FP32")")), HasSubstr("either data or"));
  EXPECT_THAT(refusal(parse_x(R"("shape":[9,2,2],"datatype":"FP32","data":[])")), HasSubstr("a request at most 8"));
  EXPECT_THAT(refusal(parse_x(R"("shape":[2,2,2],"datatype":"FP32","data":[1,2,3,4,5,6,7,8])")),
              HasSubstr("input \"ids\": it has 1 examples, the input before 2"));
  EXPECT_THAT(refusal(parse(std::string(R"({"inputs":[)") + kIds + "]}")), HasSubstr("input \"x\" is missing"));
  EXPECT_THAT(refusal(parse(std::string(R"({"inputs":[)") + kIds + "," + kIds + "]}")), HasSubstr("given twice"));
  EXPECT_THAT(refusal(parse(R"({"inputs":[{"name":"z\"","shape":[1],"datatype":"FP32","data":[1]}]})")),
              HasSubstr(R"(input "z\"": the model has no such input; it takes "x", "ids")"));
  EXPECT_THAT(refusal(parse(R"({"inputs":[],"more":1})")), HasSubstr("and not \"more\""));
  EXPECT_THAT(refusal(parse(R"({"inputs":[],"inputs":[]})")), HasSubstr("twice"));
  EXPECT_THAT(refusal(parse(R"({"outputs":[{"name":"logits"}],"inputs":[]})")), HasSubstr("\"y\" alone"));
  EXPECT_THAT(refusal(parse(R"({"outputs":[{"name":"y","parameters":{"classification":1}}]})")),
              HasSubstr("classification"));
  EXPECT_THAT(refusal(parse("")), HasSubstr("JSON"));
  EXPECT_THAT(refusal(parse("[]")), HasSubstr("an object is expected"));
}

TEST(InferRequest, AllocatesNothingForAShapeThatItsTextCannotFill) {
  const ClientInterface large{.inputs = {{"x", ProtocolType::float32, {1 << 28}, 1 << 28}},
                              .outputs = {{"y", ProtocolType::float32, {1}, 1}}};
  const std::string text = R"({"inputs":[{"name":"x","shape":[8,268435456],"datatype":"FP32","data":[1]}]})";
  const auto request = parse_infer_request(as_bytes(text), {}, large, kLimits);
  EXPECT_THAT(refusal(request), HasSubstr("fewer values"));
}

TEST(InferRequest, BinaryDataLiesBehindTheJson) {
  const std::string json = R"({"parameters":{"binary_data_output":true},"inputs":[)"
                           R"({"name":"ids","shape":[1,1],"datatype":"INT32","parameters":{"binary_data_size":4}},)"
                           R"({"name":"x","shape":[1,2,2],"datatype":"FP32","parameters":{"binary_data_size":16}}]})";
  const int32_t id = -5;
  const float x[4] = {1.5f, 2.0f, -3.0f, 0.25f};
  std::string body = json;
  body.append(reinterpret_cast<const char*>(&id), 4).append(reinterpret_cast<const char*>(x), 16);
  const auto request = parse(body, json.size());
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_THAT(request->as_binary, ElementsAre(true));
  EXPECT_THAT(request->inputs[0].words, ElementsAre(1.5f, 2.0f, -3.0f, 0.25f));
  EXPECT_EQ(std::bit_cast<int32_t>(request->inputs[1].words[0]), -5);

  EXPECT_FALSE(parse(body));
  EXPECT_THAT(refusal(parse(body, body.size() + 1)), HasSubstr("Inference-Header-Content-Length"));
  EXPECT_THAT(refusal(parse(body + "x", json.size())), HasSubstr("belong to no input"));
  EXPECT_THAT(refusal(parse(std::string_view(body).substr(0, body.size() - 1), json.size())),
              HasSubstr("the body ends before"));
  std::string wrong = body;
  wrong.replace(wrong.find(":16}"), 4, ":12}");
  EXPECT_THAT(refusal(parse(wrong, json.size())), HasSubstr("binary_data_size is 12, its shape has 16 bytes"));
}

const ClientInterface kThree{.inputs = {{"ids", ProtocolType::int32, {1}, 1}},
                             .outputs = {{"a", ProtocolType::float32, {3}, 3},
                                         {"b\n\x01", ProtocolType::float32, {1}, 1},
                                         {"c", ProtocolType::int32, {2}, 2}}};

Result<InferRequest> ask_three(const std::string& outputs, const std::string& parameters = "{}") {
  const std::string text =
      R"({"outputs":)" + outputs + R"(,"parameters":)" + parameters + R"(,"inputs":[)" + kIds + "]}";
  return parse_infer_request(as_bytes(text), {}, kThree, kLimits);
}

// By name, in any order, and each in its form: its own word, or that of the request, which may come behind it.
TEST(InferRequest, PicksOutputsAndTheFormOfEach) {
  const auto asked = [](const std::string& outputs, const std::string& parameters = "{}") {
    const Result<InferRequest> request = ask_three(outputs, parameters);
    EXPECT_TRUE(request) << refusal(request);
    return request ? std::pair(request->wanted, request->as_binary) : std::pair<std::vector<bool>, std::vector<bool>>();
  };
  const std::string binary = R"({"binary_data_output":true})", own = R"(,"parameters":{"binary_data":true}})",
                    not_own = R"(,"parameters":{"binary_data":false}})";
  using Bools = std::vector<bool>;
  EXPECT_EQ(asked("[]"), std::pair(Bools{}, Bools{}));
  EXPECT_EQ(asked("[]", binary), std::pair(Bools{}, Bools{true, true, true}));
  EXPECT_EQ(asked(R"([{"name":"c"},{"name":"a"}])"), std::pair(Bools{true, false, true}, Bools{}));
  EXPECT_EQ(asked(R"([{"name":"b\n\u0001"}])"), std::pair(Bools{false, true, false}, Bools{}));
  const auto first = asked(R"([{"name":"a")" + own + R"(,{"name":"c"}])");
  EXPECT_EQ(first.second, (Bools{true, false, false}));
  const auto but_one = asked(R"([{"name":"a"},{"name":"c")" + not_own + "]", binary);
  EXPECT_TRUE(but_one.second[0]);
  EXPECT_FALSE(but_one.second[2]);
  EXPECT_EQ(asked(R"([{"name":"a")" + not_own + "]").second, Bools{});
}

TEST(InferRequest, RefusesOutputsThatAreNone) {
  EXPECT_THAT(refusal(ask_three(R"([{"name":"a"},{"name":"c"},{"name":"a","parameters":{"binary_data":true}}])")),
              HasSubstr("output \"a\": it is asked for twice"));
  EXPECT_THAT(refusal(ask_three(R"([{"name":"z\u0000\n"}])")),
              HasSubstr(R"(output "z\u0000\u000a": the model has "a", "b\u000a\u0001", "c" alone)"));
  EXPECT_THAT(refusal(ask_three(R"([{}])")), HasSubstr(R"(output "": the model has)"));
  EXPECT_FALSE(ask_three("[{\"name\":\"a\n\"}]")) << "a control character is no JSON";
  EXPECT_FALSE(ask_three(R"([{"name":["a"]}])"));
  EXPECT_FALSE(ask_three(R"(["a"])"));
  EXPECT_FALSE(ask_three(R"([{"name":"a","parameters":{"binary_data":1}}])"));
  std::string thousand;
  for (int i = 0; i < 1'000; ++i) thousand += (i == 0 ? "" : ",") + (R"({"name":"n)" + std::to_string(i) + "\"}");
  EXPECT_LT(refusal(ask_three("[" + thousand + "]")).size(), 200u) << "the first says it";
  std::string same;
  for (int i = 0; i < 1'000; ++i) same += std::string(i == 0 ? "" : ",") + R"({"name":"c"})";
  EXPECT_THAT(refusal(ask_three("[" + same + "]")), HasSubstr("asked for twice"));
}

TEST(InferRequest, TruncatedAtAnyByteIsAnErrorAndNoCrash) {
  const std::string text =
      std::string(
          R"({"id":"\u00e9","inputs":[{"name":"x","shape":[1,2,2],"datatype":"FP32","data":[[[1,2.5],[3e1,-4]]]},)") +
      kIds + R"(],"outputs":[{"name":"y","parameters":{"binary_data":true}}]})";
  ASSERT_TRUE(parse(text)) << refusal(parse(text));
  for (size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(parse(std::string_view(text).substr(0, size))) << size;
}

TEST(InferRequest, MutatedIsRowsOfTheModelOrAnErrorThatCanBeShown) {
  const std::string text =
      std::string(
          R"({"id":"\u00e9","inputs":[{"name":"x","shape":[1,2,2],"datatype":"FP32","data":[[[1,2.5],[3e1,-4]]]},)") +
      kIds + R"(],"outputs":[{"name":"y"}]})";
  Prng prng(22);
  uint64_t taken = 0;
  for (int round = 0; round < 2'000; ++round) {
    std::string mutated = text;
    for (uint64_t changes = 1 + prng.below(3); changes > 0; --changes) {
      const size_t at = prng.below(mutated.size());
      switch (prng.below(3)) {
        case 0: mutated[at] = static_cast<char>(prng.below(256)); break;
        case 1: mutated.erase(at, 1 + prng.below(4)); break;
        default: mutated.insert(at, mutated.substr(prng.below(mutated.size()), 1 + prng.below(8)));
      }
    }
    const auto request = parse(mutated);
    taken += request.has_value();
    if (request) {
      ASSERT_EQ(request->inputs[0].words.size(), 4 * request->rows) << mutated;
    } else {
      const Bytes answer = error_answer(request.error().message());
      JsonScanner json(as_text(answer));
      std::string_view seen;
      ASSERT_TRUE(json.skip(seen) && json.end()) << mutated;
    }
  }
  EXPECT_GT(taken, 0u) << "both ends are reached";
  EXPECT_LT(taken, 1'000u);
}

TEST(InferRequest, NamesThatAreShownStayUtf8) {
  std::string name;
  for (int i = 0; i < 100; ++i) name += "\xc3\xa9";
  const std::string seen =
      refusal(parse(R"({"inputs":[{"name":"x)" + name + R"(","shape":[1],"datatype":"FP32","data":[1]}]})"));
  EXPECT_THAT(seen, HasSubstr("\xc3\xa9\": the model has no such input"));
}

}  // namespace
}  // namespace coterie
