// Steps as a whole: what joins up, what does not and how that is said, and 2,000 files that somebody has damaged.
#include "fl_server/serving/serving_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "base/random.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/serving/steps/steps_world.h"
#include "tools/data/csv_targets.h"

namespace coterie {
namespace {

using test::after_of;
using test::before_of;
using test::finished;
using test::model_of;
using test::parse_steps;
using test::prepared;
using test::tensor_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPhoto = R"({"schema":"coterie.serving_steps.v1",
  "inputs":[{"name":"photo","datatype":"BYTES","shape":[]}],
  "before":[{"name":"picture","step":"decode_image","from":"photo","channels":1},
            {"name":"small","step":"resize","from":"picture","height":8,"width":8},
            {"name":"pixels","step":"scale","from":"small","factor":0.00392156862745098}],
  "model":{"in":"pixels"},
  "after":[{"name":"probabilities","step":"softmax","from":"out"},
           {"name":"best","step":"top_k","from":"probabilities","k":2,"labels":["a","b","c"]}],
  "outputs":{"label":"best.labels","probability":"best.values"}})";

std::string refusal(const std::string& json, const ModelInterface& model) {
  const auto steps = parse_steps(json);
  if (!steps) return steps.error().message();
  const auto fitted = (*steps)->fit(model);
  return fitted ? "taken" : fitted.error().message();
}

TEST(ServingSteps, SayWhatClientsSendAndGet) {
  const auto steps = parse_steps(kPhoto);
  ASSERT_OK(steps);
  const auto fitted = (*steps)->fit(model_of({8, 8, 1}, {3}));
  ASSERT_OK(fitted);
  const ClientInterface& client = (*fitted)->client();
  EXPECT_THAT(client.inputs, ElementsAre(TensorInterface{"photo", ProtocolType::bytes, {}, 1}));
  EXPECT_THAT(client.outputs, ElementsAre(TensorInterface{"label", ProtocolType::bytes, {2}, 2},
                                          TensorInterface{"probability", ProtocolType::float32, {2}, 2}));
  EXPECT_EQ((*fitted)->steps(), *steps);
}

// Behind a model of several outputs: any of them, and not each has to be used, but for its own.
TEST(ServingSteps, TakeOutputsOfAModelThatHasSeveral) {
  ModelInterface model = model_of({2}, {3});
  model.outputs.push_back(tensor_of("age", ProtocolType::float32, {1}));
  model.outputs.push_back(tensor_of("sex", ProtocolType::int32, {}));
  const std::vector<float> rows = {1, 3, 2, 9, 8, 7, 41, 42, std::bit_cast<float>(1), std::bit_cast<float>(0)};
  const std::string best = R"({"name":"best","step":"argmax","from":"out"})";
  const auto two = finished(after_of(best, R"({"class":"best","years":"age"})"), model, rows);
  ASSERT_OK(two);
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ(std::bit_cast<int32_t>((*two)[0].words[0]), 1);
  EXPECT_EQ(std::bit_cast<int32_t>((*two)[0].words[1]), 0);
  EXPECT_THAT((*two)[1].words, ElementsAre(41, 42));
  // Steps before the model alone: clients get all that it has, in its order.
  const auto before = parse_steps(before_of("FP32", "[2]", R"({"name":"last","step":"scale","from":"x","factor":2})"));
  ASSERT_OK(before);
  const auto fitted = (*before)->fit(model);
  ASSERT_OK(fitted);
  EXPECT_EQ((*fitted)->client().outputs, model.outputs);
  const auto all = (*fitted)->finish(rows, 2);
  ASSERT_OK(all);
  EXPECT_THAT((*all)[0].words, ElementsAre(1, 3, 2, 9, 8, 7));
  EXPECT_EQ(std::bit_cast<int32_t>((*all)[2].words[0]), 1);
  EXPECT_THAT(refusal(after_of(R"({"name":"age","step":"sigmoid","from":"out"})", R"({"age":"age"})"), model),
              HasSubstr(R"(step "age": there is a value "age" before it)"));
  EXPECT_THAT(refusal(after_of(R"({"name":"odds","step":"sigmoid","from":"age"})", R"({"odds":"odds"})"), model),
              HasSubstr(R"("out": nothing uses it)"));
}

TEST(ServingSteps, RefuseWhatDoesNotJoinUpByTheStepsName) {
  const ModelInterface model = model_of({8, 8, 1}, {3});
  EXPECT_EQ(refusal(kPhoto, model), "taken");
  EXPECT_EQ(refusal(kPhoto, model_of({28, 28, 1}, {3})),
            "the model's input \"in\": \"pixels\": is FP32 [8,8,1], expected FP32 [28,28,1]");
  EXPECT_EQ(refusal(kPhoto, model_of({8, 8, 1}, {3}, ProtocolType::int32)),
            "the model's input \"in\": \"pixels\": is FP32 [8,8,1], expected INT32 [8,8,1]");
  EXPECT_EQ(refusal(kPhoto, model_of({8, 8, 1}, {4})),
            "step \"best\": \"probabilities\": is FP32 [4], expected FP32 [3], as there are 3 labels");
  struct Case {
    std::string json, says;
  };
  const std::string scale = R"({"name":"last","step":"scale","from":"x"})";
  const std::vector<Case> cases = {
      {before_of("BYTES", "[]", scale), "step \"last\": \"x\": is BYTES [], expected numbers"},
      {before_of("BYTES", "[2]", scale), "input \"x\": is BYTES [2], expected BYTES []"},
      {before_of("FP32", "[8,8]", scale), "the model's input \"in\": \"last\": is FP32 [8,8], expected FP32 [8,8,1]"},
      {before_of("UINT8", "[-1,8,1]", scale), "is FP32 [-1,8,1], expected FP32 [8,8,1]"},
      {before_of("FP32", "[0,8]", scale), "shape: must have whole sizes of at least 1, or -1"},
      {before_of("FP16", "[8]", scale), "datatype: must be one of: FP32, INT32, FP64, UINT8, BYTES"},
      {before_of("FP32", "[8,8,1]", R"({"name":"last","step":"scale","from":"y"})"),
       "step \"last\": there is no value \"y\" before it; there are \"x\""},
      {before_of("FP32", "[8,8,1]", R"({"name":"last","step":"blur","from":"x"})"),
       "step \"last\": /before/0/step: must be one of: decode_image, resize"},
      {before_of("FP32", "[8,8,1]", R"({"name":"last","step":"scale","from":"x","by":2})"),
       "step \"last\": /before/0/by: "},
      {before_of("FP32", "[8,8,1]", R"({"name":"last","step":"resize","from":"x","height":8})"),
       "step \"last\": /before/0/height: and width, or shorter_side alone"},
      {before_of("FP32", "[8,8,1]", R"({"name":"last","step":"resize","from":"x","height":8,"width":4097})"),
       "must be at most 4096"},
      {before_of("FP32", "[4,8,1]", R"({"name":"last","step":"centre_crop","from":"x","height":8,"width":8})"),
       "step \"last\": \"x\": is FP32 [4,8,1], expected a picture of at least 8 x 8"},
      {before_of("FP32", "[8,8,1]", R"({"name":"last","step":"normalise","from":"x","mean":[1,2],"deviation":[1,1]})"),
       "step \"last\": \"x\": is FP32 [8,8,1], expected FP32 [...,2]: a mean for each channel"},
      {before_of("FP32", "[8,8,1]", R"({"name":"last","step":"normalise","from":"x","mean":[1],"deviation":[0]})"),
       "deviation: must have numbers above 0"},
      {before_of("FP32", "[8,8]", R"({"name":"last","step":"reshape","from":"x","shape":[8,7,1]})"),
       "is FP32 [8,8], expected as many elements as FP32 [8,7,1]"},
      {before_of("BYTES", "[]", R"({"name":"last","step":"decode_image","from":"x","channels":2})"), "must be 3, or 1"},
      {before_of("BYTES", "[]", R"({"name":"last","step":"decode_image","from":"x","pixels_max":67108865})"),
       "pixels_max: must be in [1, 67108864]"},
      {before_of("BYTES", "[]", R"({"name":"last","step":"columns","contract":"none.json"})"),
       "step \"last\": none.json: there is no such file"},
      {before_of("FP32", "[8,8,1]", scale + "," + scale), "step \"last\": there is a value \"last\" before it"},
      {before_of("FP32", "[8,8,1]", scale + R"(,{"name":"spare","step":"scale","from":"x"})"),
       "step \"spare\": nothing uses it"},
      {after_of(R"({"name":"t","step":"top_k","from":"out","k":4})", R"({"t":"t.values"})"),
       "step \"t\": \"out\": is FP32 [3], expected at least the 4 classes of k"},
      {after_of(R"({"name":"t","step":"top_k","from":"out","k":2})", R"({"t":"t.labels"})"),
       "output \"t\": there is no value \"t.labels\" before it; there are \"out\", \"t.indices\", \"t.values\""},
      {before_of("FP32", "[-1]", R"({"name":"last","step":"top_k","from":"x","k":2})"),
       "step \"last\": \"x\": is FP32 [-1], expected FP32 [classes], as many in every request"},
      {after_of(R"({"name":"t","step":"argmax","from":"out","labels":["a","b","c"]},)"
                R"({"name":"p","step":"decode_image","from":"t"})",
                R"({"p":"p"})"),
       "output \"p\": is UINT8 [-1,-1,3], expected FP32, INT32 or BYTES of known sizes"},
      {after_of(R"({"name":"t","step":"threshold","from":"out","at":1,"labels":["a"]})", R"({"t":"t"})"),
       "must have two texts"},
      {after_of(R"({"name":"t","step":"softmax","from":"out"})", "{}"), "outputs: must name what the steps"},
      {R"({"schema":"coterie.serving_steps.v2"})", "schema: must be coterie.serving_steps.v1"},
      {R"({"schema":"coterie.serving_steps.v1","inputs":[{"name":"x","datatype":"FP32","shape":[8,8,1]}]})",
       "inputs and before go together"},
      {"[]", ""},
      {"{", ""},
  };
  for (const Case& each : cases) {
    const std::string seen = refusal(each.json, model);
    EXPECT_THAT(seen, HasSubstr(each.says)) << each.json;
    EXPECT_NE(seen, "taken") << each.json;
  }
  std::string many;
  for (int i = 0; i < 65; ++i)
    many += (i == 0 ? "" : ",") + (R"({"name":"s)" + std::to_string(i) + R"(","step":"sigmoid","from":"out"})");
  EXPECT_EQ(refusal(after_of(many, R"({"s":"s0"})"), model), "after: expected at most 64");
  EXPECT_THAT(refusal(std::string(kStepsFileBytesMax + 1, ' '), model), HasSubstr("has more than 1048576 bytes"));
}

// Classes of one output are not known to be those of a certain target.
TEST(ServingSteps, NameNoClassesOfSeveralTargets) {
  const auto rows = CsvRows::parse("x,y,z\n1,a,u\n2,b,v\n");
  const CsvOptions options{.target = "y,z"};
  const auto contract = fit_csv(*rows, options, *csv_targets(*rows, options), std::vector<uint32_t>{0, 1});
  ASSERT_OK(contract);
  const auto steps = parse_steps(
      after_of(R"({"name":"best","step":"argmax","from":"out","labels_from":"c.json"})", R"({"best":"best"})"),
      {{"c.json", to_json_text(*contract)}});
  EXPECT_ERROR(steps, ErrorCode::invalid_argument, "c.json: labels_from takes one target");
}

// Numbers of rows as training has them, from the same contract: to the bit.
TEST(ServingSteps, EncodeARowAsTrainingDoes) {
  const std::string csv = "age,work,income\n39,State-gov,low\n?,Private,high\n50.1,Private,low\n28,,high\n";
  const auto rows = CsvRows::parse(csv);
  ASSERT_OK(rows);
  const CsvOptions options{.target = "income"};
  const std::vector<uint32_t> all{0, 1, 2, 3};
  const auto contract = fit_csv(*rows, options, {*csv_target(*rows, options)}, all);
  ASSERT_OK(contract);
  std::vector<std::string> notes;
  const auto table = encode_csv(*rows, *contract, notes);
  ASSERT_OK(table);
  const int64_t width = contract->inputs[0].shape[0];
  const auto* const expected = reinterpret_cast<const float*>(table->columns[0].data());
  for (const std::string& datatype : {"BYTES", "FP64"}) {
    const std::string json =
        R"({"schema":"coterie.serving_steps.v1","inputs":[{"name":"work","datatype":"BYTES","shape":[]},)"
        R"({"name":"age","datatype":")" +
        datatype +
        R"(","shape":[]}],)"
        R"("before":[{"name":"row","step":"columns","contract":"c.json"}],"model":{"in":"row.features"}})";
    for (size_t row = 0; row < 4; ++row) {
      TensorValues age{.shape = {}};
      if (datatype == "BYTES") age.texts = {rows->field(row, 0)};
      else age.doubles = {number_in(rows->field(row, 0)).value_or(std::numeric_limits<double>::quiet_NaN())};
      const auto numbers = prepared(json, model_of({width}, {2}), {{.shape = {}, .texts = {rows->field(row, 1)}}, age},
                                    {{"c.json", to_json_text(*contract)}});
      ASSERT_OK(numbers);
      EXPECT_THAT(*numbers,
                  ::testing::ElementsAreArray(expected + static_cast<int64_t>(row) * width, static_cast<size_t>(width)))
          << row;
    }
    if (datatype == "BYTES") {
      EXPECT_ERROR(
          prepared(json, model_of({width}, {2}), {{.shape = {}, .texts = {"x"}}, {.shape = {}, .texts = {"old"}}},
                   {{"c.json", to_json_text(*contract)}}),
          ErrorCode::malformed, "step \"row\": column age: expected a number, is \"old\"");
      // An error goes back as JSON: a line of it, and no bytes that are no text.
      const auto refusal = [&](const std::string& age_text) {
        return prepared(json, model_of({width}, {2}),
                        {{.shape = {}, .texts = {"x"}}, {.shape = {}, .texts = {age_text}}},
                        {{"c.json", to_json_text(*contract)}})
            .error()
            .message();
      };
      EXPECT_THAT(refusal("\xff\xfe"), HasSubstr("column age: expected a number, is a text that is not UTF-8"));
      EXPECT_THAT(refusal("\u00e9" + std::string(1 << 20, 'a')), HasSubstr(std::string(62, 'a') + "...\""));
      EXPECT_LT(refusal(std::string(1 << 20, '9')).size(), 256u);
    }
  }
  const std::string lacks =
      R"({"schema":"coterie.serving_steps.v1","inputs":[{"name":"age","datatype":"FP64","shape":[]}],)"
      R"("before":[{"name":"row","step":"columns","contract":"c.json"}],"model":{"in":"row.features"}})";
  EXPECT_ERROR(prepared(lacks, model_of({width}, {2}), {}, {{"c.json", to_json_text(*contract)}}),
               ErrorCode::invalid_argument, "step \"row\": there is no value \"work\" before it; there are \"age\"");
}

TEST(ServingSteps, AreTakenOrRefusedHoweverTheyAreDamaged) {
  const std::string whole = kPhoto;
  const ModelInterface model = model_of({8, 8, 1}, {3});
  const std::string pieces[] = {"-1", "1e99", "null", "[]", "{}", "\"", "9999999999", ",", "\"from\":", "\xff"};
  Prng prng(180);
  size_t refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    const uint64_t changes = 1 + prng.below(3);
    for (uint64_t change = 0; change < changes; ++change) {
      const size_t at = prng.below(damaged.size());
      const std::string& piece = pieces[prng.below(std::size(pieces))];
      if (prng.below(3) == 0) damaged.erase(at, 1 + prng.below(6));
      else damaged.replace(at, prng.below(6), piece);
    }
    SCOPED_TRACE(damaged);
    const std::string seen = refusal(damaged, model);
    refused += seen != "taken";
    ASSERT_LT(seen.size(), 4096u);
  }
  EXPECT_GT(refused, 1500u);
}

}  // namespace
}  // namespace coterie
