// Clients that send what they have, a JPEG or a row of a table, and get what they want: the whole way over REST.
#include <gmock/gmock.h>

#include <future>

#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/predictor.h"
#include "fl_server/serving/infer_rows.h"
#include "model_io/top_scores.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/fl_server/serving/serving_world.h"
#include "tests/unit/fl_server/serving/steps/steps_world.h"
#include "tests/unit/tools/image_files.h"
#include "tools/data/csv.h"
#include "tools/data/image_folder.h"

namespace coterie {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPhotoSteps = R"({"schema":"coterie.serving_steps.v1",
  "inputs":[{"name":"photo","datatype":"BYTES","shape":[]}],
  "before":[{"name":"picture","step":"decode_image","from":"photo","channels":1},
            {"name":"small","step":"resize","from":"picture","height":8,"width":8},
            {"name":"pixels","step":"scale","from":"small","factor":0.00392156862745098}],
  "model":{"input":"pixels"},
  "after":[{"name":"best","step":"top_k","from":"dense2","k":3,
            "labels":["zero","one","two","three","four","five","six","seven","eight","nine"]}],
  "outputs":{"label":"best.labels","score":"best.values"}})";

class StepsService : public test::ServingWorld {
 protected:
  void SetUp() override {
    serve({.workers = 2, .batch_max = 8});
    const auto steps = test::parse_steps(kPhotoSteps);
    ASSERT_OK(steps);
    ASSERT_OK(server_->publish("photos", digits_model(1), 1, Standing::latest, kDefaultTenant, *steps));
  }

  // Files in the binary extension's form, each behind its length.
  static std::string binary_request(const std::vector<std::string>& files, const std::string& more = {}) {
    Bytes data;
    append_strings(files, data);
    const std::string json = R"({"inputs":[{"name":"photo","shape":[)" + std::to_string(files.size()) +
                             R"(],"datatype":"BYTES","parameters":{"binary_data_size":)" + std::to_string(data.size()) +
                             "}}]" + more + "}";
    return post_of("/v2/models/photos/infer", json + std::string(data.begin(), data.end()),
                   "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n");
  }
  static std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }
};

// What `coterie model predict` does with a file of examples: the loaders' table, read by a source, run by a Predictor.
std::vector<float> predicted(const Bytes& model_file, const ExampleTable& table, uint64_t output_elements) {
  const auto model = Model::load(model_file);
  auto source = DatasetSource::load(dataset_file(table));
  EXPECT_OK(model);
  EXPECT_OK(source);
  auto predictor = Predictor::create(*model, 4);
  EXPECT_OK(predictor);
  const uint64_t size = elements_of(model->input_shape(0));
  std::vector<float> inputs(table.size() * size), targets(1), outputs(table.size() * output_elements);
  for (uint64_t i = 0; i < table.size(); ++i) {
    Example::Place places[] = {std::span(inputs).subspan(i * size, size)};
    EXPECT_OK(source->read(i, Example(places, targets)));
  }
  EXPECT_OK(predictor->run({{inputs}}, table.size(), outputs));
  return outputs;
}

TEST_F(StepsService, AnswersAPictureAsPredictDoes) {
  const std::vector<Bytes> files = {
      test::jpeg_file({.height = 40, .width = 24, .left = {200, 30, 90}, .right = {10, 250, 60}}),
      test::png_file({.height = 8, .width = 8, .left = {9, 99, 199}, .right = {1, 2, 3}})};
  const test::TemporaryDirectory folder;
  ASSERT_OK(os::make_directories(folder / "a"));
  ASSERT_OK(os::write_file_atomically(folder / "a/1.jpg", files[0]));
  ASSERT_OK(os::write_file_atomically(folder / "a/2.png", files[1]));
  auto images = load_image_folder(folder.path(), {.height = 8, .width = 8, .channels = 1});
  ASSERT_OK(images);
  const std::vector<float> scores = predicted(digits_model(1), to_table(*std::move(images)), 10);

  const Answer described = ask(head_of("GET", "/v2/models/photos"));
  EXPECT_EQ(described.json()["inputs"], nlohmann::json::parse(R"([{"name":"photo","datatype":"BYTES","shape":[-1]}])"));
  EXPECT_EQ(described.json()["outputs"], nlohmann::json::parse(R"([{"name":"label","datatype":"BYTES","shape":[-1,3]},
      {"name":"score","datatype":"FP32","shape":[-1,3]}])"));
  const Answer answer = ask(binary_request({text_of(files[0]), text_of(files[1])}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::vector<float> best;
  for (size_t row = 0; row < 2; ++row) {
    const std::span<const float> of_row = std::span(scores).subspan(row * 10, 10);
    for (const uint32_t place : top_scores(of_row, 3)) best.push_back(of_row[place]);
  }
  EXPECT_EQ(answer.json()["outputs"][1]["data"].get<std::vector<float>>(), best) << "the same to the bit";
  EXPECT_EQ(answer.json()["outputs"][0]["data"].size(), 6u);

  // One output alone, as binary data: three labels, each behind its length.
  const Answer labels = ask(
      binary_request({text_of(files[0])}, R"(,"outputs":[{"name":"label"}],"parameters":{"binary_data_output":true})"));
  ASSERT_EQ(labels.status, 200) << labels.body;
  const size_t end = labels.body.find("}}]}") + 4;
  const auto texts = take_strings(as_bytes(std::string_view(labels.body).substr(end)), 3);
  ASSERT_OK(texts);
  EXPECT_EQ((*texts)[0], answer.json()["outputs"][0]["data"][0].get<std::string>());
}

TEST_F(StepsService, TakesBase64InJson) {
  const Bytes file = test::png_file({.height = 1, .width = 2, .left = {9}, .right = {200}});
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < file.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = 0; j < 3; ++j) three = three << 8 | (i + j < file.size() ? file[i + j] : 0u);
    for (size_t j = 0; j < 4; ++j) text += i + j <= file.size() ? kDigits[three >> (18 - 6 * j) & 63] : '=';
  }
  const auto request = [](const std::string& data) {
    return post_of(
        "/v2/models/photos/infer",
        R"({"inputs":[{"name":"photo","shape":[1],"datatype":"BYTES","parameters":{"content_type":"base64"},)"
        R"("data":[")" +
            data + R"("]}]})");
  };
  const Answer answer = ask(request(text));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["outputs"], ask(binary_request({text_of(file)})).json()["outputs"]);
  EXPECT_THAT(ask(request("@@@@")).error(), HasSubstr("input \"photo\": a string is no base64"));
}

TEST_F(StepsService, SaysWhoseFaultAPictureIs) {
  const std::string good = text_of(test::png_file({.height = 9, .width = 9, .left = {9}, .right = {200}}));
  auto bad = std::async(std::launch::async, [&] { return ask(binary_request({good, "GIF89a"})); });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(binary_request({good})).status, 200);
  const Answer refused = bad.get();
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.error(), "example 2: step \"picture\": is neither a JPEG nor a PNG file");
  EXPECT_EQ(ask(post_of("/v2/models/photos/infer", json_request(example(1)))).error(),
            "input \"input\": the model has no such input; it takes \"photo\"");
}

TEST_F(StepsService, RefuseAVersionTheyDoNotFit) {
  const auto steps = test::parse_steps(kPhotoSteps);
  const Bytes other = *make_model(ModelKind::cnn, {12, 12, 1}, 10, 1);
  EXPECT_ERROR(server_->publish("photos", other, 2, Standing::latest, kDefaultTenant, *steps),
               ErrorCode::invalid_argument,
               "steps: the model's input \"input\": \"pixels\": is FP32 [8,8,1], expected FP32 [12,12,1]");
  EXPECT_ERROR(server_->publish("photos", digits_model(2), 2), ErrorCode::invalid_argument, "has other inputs");
  EXPECT_EQ(ask(head_of("GET", "/v2/models/photos")).json()["versions"], nlohmann::json({"1"}));
}

TEST_F(StepsService, AnswersARowOfATableAsPredictDoes) {
  const std::string csv = "age,work,income\n39,State-gov,low\n?,Private,high\n50.1,Private,low\n28,,high\n";
  const auto rows = CsvRows::parse(csv);
  const CsvOptions options{.target = "income"};
  const std::vector<uint32_t> all{0, 1, 2, 3};
  const auto contract = fit_csv(*rows, options, {*csv_target(*rows, options)}, all);
  ASSERT_OK(contract);
  std::vector<std::string> notes;
  const auto table = encode_csv(*rows, *contract, notes);
  const Bytes model = *make_model(ModelKind::logistic, contract->inputs[0].shape, 2, 1);
  const auto loaded = Model::load(model);
  const std::string output = loaded->graph().tensors[loaded->graph().output].name;
  const std::vector<float> scores = predicted(model, *table, 2);
  const auto steps = test::parse_steps(
      R"({"schema":"coterie.serving_steps.v1","inputs":[{"name":"age","datatype":"BYTES","shape":[]},)"
      R"({"name":"work","datatype":"BYTES","shape":[]}],"before":[)"
      R"({"name":"row","step":"columns","contract":"c.json"}],"model":{"input":"row.features"},)"
      R"("after":[{"name":"class","step":"argmax","from":")" +
          output + R"(","labels_from":"c.json"}],"outputs":{"scores":")" + output + R"(","income":"class"}})",
      {{"c.json", to_json_text(*contract)}});
  ASSERT_OK(steps);
  ASSERT_OK(server_->publish("income", model, 1, Standing::latest, kDefaultTenant, *steps));
  const Answer answer =
      ask(post_of("/v2/models/income/infer",
                  R"({"inputs":[{"name":"age","shape":[4],"datatype":"BYTES","data":["39","?","50.1","28"]},)"
                  R"({"name":"work","shape":[4],"datatype":"BYTES","data":["State-gov","Private","Private",""]}]})"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const nlohmann::json outputs = answer.json()["outputs"];
  EXPECT_EQ(outputs[1]["data"].get<std::vector<float>>(), scores) << "the same to the bit";
  for (size_t row = 0; row < 4; ++row)
    EXPECT_EQ(outputs[0]["data"][row], scores[2 * row] >= scores[2 * row + 1] ? "high" : "low");
}

TEST_F(StepsService, HoldNoMoreThanTheyMay) {
  ServingMetrics metrics;
  InferenceWorkers workers(1, {{1}, 16}, metrics, 600);
  const auto version = *server_->models().find("photos", {});
  const auto refused = [&](uint64_t rows, size_t bytes) {
    InferRequest request{.id = {}, .rows = rows, .inputs = {{.shape = {}, .texts = std::vector<std::string>(rows)}}};
    request.inputs[0].texts[0].resize(bytes);
    std::promise<ErrorCode> told;
    workers.submit(version, std::move(request), Instant::max(),
                   [&](const InferenceWorkers::Outcome& outcome) { told.set_value(outcome.error().code()); });
    return told.get_future().get();
  };
  EXPECT_EQ(refused(3, 0), ErrorCode::too_large) << "three examples become 768 bytes";
  EXPECT_EQ(refused(2, 0), ErrorCode::malformed) << "two are decoded";
}

// Workers that do nothing: what waits holds its share until it goes.
TEST_F(StepsService, HoldNoMoreInSumThanTheyMay) {
  ServingMetrics metrics;
  InferenceWorkers workers(0, {{1}, 16}, metrics, 600);
  const auto version = *server_->models().find("photos", {});
  std::vector<std::optional<ErrorCode>> told(3);
  const auto submit = [&](size_t i, uint64_t rows) {
    workers.submit(version,
                   {.id = {}, .rows = rows, .inputs = {{.shape = {}, .texts = std::vector<std::string>(rows)}}},
                   Instant::max(), [&told, i](const InferenceWorkers::Outcome& outcome) {
                     told[i] = outcome ? ErrorCode::internal : outcome.error().code();
                   });
  };
  submit(0, 1);
  submit(1, 2);
  submit(2, 1);
  EXPECT_EQ(told[0], std::nullopt) << "256 bytes and what was sent";
  EXPECT_EQ(told[1], ErrorCode::overloaded) << "512 more";
  EXPECT_EQ(told[2], std::nullopt) << "whoever is refused gives its share back";
  workers.stop();
  EXPECT_EQ(told[0], ErrorCode::timed_out);
  EXPECT_EQ(told[2], ErrorCode::timed_out);
}

}  // namespace
}  // namespace coterie
