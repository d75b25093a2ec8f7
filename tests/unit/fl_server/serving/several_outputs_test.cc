// A model of several outputs, as its clients see it: which there are, which of them come and in which form, and that
// rows keep theirs however requests are batched.
#include <gmock/gmock.h>

#include <bit>
#include <chrono>
#include <future>

#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "fl_server/serving/output_places.h"
#include "tests/unit/fl_server/serving/serving_world.h"
#include "tests/unit/fl_server/serving/steps/steps_world.h"

namespace coterie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Answers = std::vector<std::vector<float>>;  // by output

// Its own output, ten scores; the ReLU's pre-activation that they are computed from; and whole numbers.
Bytes model_of_three(uint64_t seed) {
  ModelBuilder build("three", {8, 8, 1}, seed);
  const TensorId features = build.dense(build.flatten(build.input()), 6);
  const TensorId scores = build.dense(build.relu(features), 10);
  const TensorId zero = build.constant("zero", {1}, std::vector<float>{0});
  const TensorId is_active = build.op(OpKind::greater, {features, zero});
  return *build.finish(scores, std::vector{features, is_active});
}

class SeveralOutputs : public test::ServingWorld {
 protected:
  void serve_three(ServingServiceSettings service = {}) {
    serve({.workers = 1, .batch_max = 8, .service = std::move(service)});
    ASSERT_OK(server_->publish("three", model_of_three(1), 1));
    for (const ModelOutput& output : model_outputs(*Model::load(model_of_three(1)))) names_.push_back(output.name);
  }
  // By a Predictor, whose batches are others.
  static Answers expected(std::span<const float> input, uint64_t seed = 1) {
    const Model model = *Model::load(model_of_three(seed));
    const std::vector<ModelOutput> outputs = model_outputs(model);
    std::vector<uint32_t> tensors;
    Answers answers;
    const uint64_t rows = input.size() / 64;
    for (const ModelOutput& output : outputs) {
      tensors.push_back(output.tensor);
      answers.emplace_back(rows * elements(output.shape));
    }
    auto predictor = Predictor::create_of(model, tensors, 3);
    EXPECT_OK(predictor);
    EXPECT_OK(predictor->run({&input, 1}, rows, std::vector<std::span<float>>(answers.begin(), answers.end())));
    return answers;
  }
  static std::vector<float> examples(uint64_t rows, uint64_t seed = 0) {
    std::vector<float> input;
    for (uint64_t row = 0; row < rows; ++row) {
      const std::vector<float> one = example(seed * 1000 + row);
      input.insert(input.end(), one.begin(), one.end());
    }
    return input;
  }
  // A request with more members before its inputs.
  std::string request_of(std::span<const float> input, const std::string& members = {}) {
    std::string body = json_request(input);
    if (!members.empty()) body.insert(1, members + ",");
    return post_of("/v2/models/three/infer", body);
  }
  static std::vector<float> words_of(const nlohmann::json& output) {
    std::vector<float> words;
    for (const nlohmann::json& value : output["data"]) {
      if (output["datatype"] == "INT32") words.push_back(std::bit_cast<float>(value.get<int32_t>()));
      else words.push_back(value.get<float>());
    }
    return words;
  }
  static void expect_bits(std::span<const float> seen, std::span<const float> right) {
    ASSERT_EQ(seen.size(), right.size());
    EXPECT_EQ(std::memcmp(seen.data(), right.data(), right.size_bytes()), 0);
  }
  std::vector<std::string> names_of(const nlohmann::json& answer) {
    std::vector<std::string> names;
    for (const nlohmann::json& output : answer["outputs"]) names.push_back(output["name"]);
    return names;
  }

  std::vector<std::string> names_;
};

TEST_F(SeveralOutputs, AreDescribedAndAllAnsweredInTheModelsOrder) {
  serve_three();
  const nlohmann::json shown = ask(head_of("GET", "/v2/models/three")).json();
  EXPECT_EQ(names_of(shown), names_);
  EXPECT_EQ(shown["outputs"][0]["shape"], nlohmann::json({-1, 10}));
  EXPECT_EQ(shown["outputs"][1]["shape"], nlohmann::json({-1, 6}));
  EXPECT_EQ(shown["outputs"][1]["datatype"], "FP32");
  EXPECT_EQ(shown["outputs"][2]["datatype"], "INT32");
  auto client = this->client();
  for (const uint64_t rows : {1u, 3u, 29u}) {
    const std::vector<float> input = examples(rows);
    const Answer answer = ask(client, request_of(input));
    ASSERT_EQ(answer.status, 200) << answer.body;
    const nlohmann::json json = answer.json();
    ASSERT_EQ(names_of(json), names_);
    EXPECT_EQ(json["outputs"][2]["shape"], nlohmann::json({rows, 6}));
    const Answers right = expected(input);
    for (size_t i = 0; i < right.size(); ++i) expect_bits(words_of(json["outputs"][i]), right[i]);
    EXPECT_LT(*std::ranges::min_element(right[1]), 0) << "the pre-activation, not what the ReLU leaves of it";
  }
}

TEST_F(SeveralOutputs, ComeByNameEachInItsForm) {
  serve_three();
  const std::vector<float> input = examples(3);
  const Answers right = expected(input);
  const auto named = [&](size_t output, const std::string& more = {}) {
    return R"({"name":")" + names_[output] + "\"" + more + "}";
  };
  const nlohmann::json own = ask(request_of(input, "\"outputs\":[" + named(0) + "]")).json();
  EXPECT_EQ(names_of(own), std::vector<std::string>{names_[0]});
  expect_bits(words_of(own["outputs"][0]), right[0]);
  const nlohmann::json two = ask(request_of(input, "\"outputs\":[" + named(2) + "," + named(1) + "]")).json();
  EXPECT_THAT(names_of(two), ElementsAre(names_[1], names_[2])) << "in the model's order";
  expect_bits(words_of(two["outputs"][1]), right[2]);

  // One in JSON between two behind it.
  const std::string text = R"(,"parameters":{"binary_data":false})";
  const Answer answer = ask(request_of(input, R"("parameters":{"binary_data_output":true},"outputs":[)" + named(0) +
                                                  "," + named(1, text) + "," + named(2) + "]"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: application/octet-stream"));
  const size_t at = answer.head.find("Inference-Header-Content-Length: ");
  ASSERT_NE(at, std::string::npos);
  const size_t json_bytes = std::stoul(answer.head.substr(at + 33));
  const nlohmann::json json = nlohmann::json::parse(answer.body.substr(0, json_bytes));
  EXPECT_EQ(json["outputs"][0]["parameters"]["binary_data_size"], 120);
  EXPECT_FALSE(json["outputs"][1].contains("parameters"));
  expect_bits(words_of(json["outputs"][1]), right[1]);
  EXPECT_EQ(json["outputs"][2]["parameters"]["binary_data_size"], 72);
  ASSERT_EQ(answer.body.size(), json_bytes + 120 + 72);
  EXPECT_EQ(std::memcmp(answer.body.data() + json_bytes, right[0].data(), 120), 0);
  EXPECT_EQ(std::memcmp(answer.body.data() + json_bytes + 120, right[2].data(), 72), 0);
}

TEST_F(SeveralOutputs, OfOtherNamesAreErrorsOfTheProtocol) {
  serve_three();
  const std::vector<float> input = examples(1);
  const auto error_of = [&](const std::string& outputs) {
    const Answer answer = ask(request_of(input, "\"outputs\":[" + outputs + "]"));
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.error();
  };
  EXPECT_THAT(error_of(R"({"name":"other"})"), HasSubstr("output \"other\": the model has \"" + names_[0] + "\", \""));
  const std::string own = R"({"name":")" + names_[0] + "\"}";
  EXPECT_THAT(error_of(own + "," + own), HasSubstr("is asked for twice"));
  EXPECT_THAT(error_of(R"({"name":"\n\u0001\u001b[2J"})"), HasSubstr(R"(output "\u000a\u0001\u001b[2J")"));
  std::string thousand = own;
  for (int i = 0; i < 1'000; ++i) thousand += R"(,{"name":")" + std::to_string(i) + "\"}";
  EXPECT_THAT(error_of(thousand), HasSubstr("output \"0\": the model has"));
}

TEST_F(SeveralOutputs, ANetworkThreadAnswersThemToo) {
  serve_three({.router = {.at_once_max = std::chrono::hours(1)}});
  auto client = this->client();
  for (const uint64_t rows : {1u, 2u, 11u}) {
    const std::vector<float> input = examples(rows, rows);
    const nlohmann::json json = ask(client, request_of(input)).json();
    const Answers right = expected(input);
    ASSERT_EQ(json["outputs"].size(), right.size());
    for (size_t i = 0; i < right.size(); ++i) expect_bits(words_of(json["outputs"][i]), right[i]);
  }
  EXPECT_THAT(server_->metrics().exposition(), HasSubstr("coterie_serving_at_once_total 2\n")) << "behind the first";
}

// Requests of several sizes wait together, so that a batch has rows of several and a request rows of several batches.
TEST_F(SeveralOutputs, KeepTheirRowsInBatches) {
  const auto version = ServedVersion::load(model_of_three(1), 1, {.workers = 1, .batch_sizes = {1, 2, 4, 8}});
  ASSERT_OK(version);
  ServingMetrics metrics;
  InferenceWorkers workers(1, {{1, 2, 4, 8}, 1'000}, metrics);
  const auto submit = [&](std::span<const float> input, InferenceWorkers::Done done) {
    workers.submit(
        *version,
        {.id = {}, .rows = input.size() / 64, .inputs = {{.shape = {8, 8, 1}, .words = {input.begin(), input.end()}}}},
        Instant::max(), std::move(done));
  };
  std::promise<void> is_told, go_on;
  submit(examples(1), [&](const InferenceWorkers::Outcome&) {
    is_told.set_value();
    go_on.get_future().wait();
  });
  is_told.get_future().wait();
  constexpr uint64_t kRows[] = {3, 1, 13, 2, 7, 5};
  std::vector<std::promise<InferenceWorkers::Outcome>> answers(std::size(kRows));
  for (size_t i = 0; i < answers.size(); ++i) {
    submit(examples(kRows[i], i + 1),
           [&, i](InferenceWorkers::Outcome outcome) { answers[i].set_value(std::move(outcome)); });
  }
  go_on.set_value();
  for (size_t i = 0; i < answers.size(); ++i) {
    const InferenceWorkers::Outcome outcome = answers[i].get_future().get();
    ASSERT_OK(outcome);
    ASSERT_EQ(outcome->size(), kRows[i] * 22);
    const OutputPlaces<const float> places((*version)->interface(), *outcome, kRows[i]);
    const Answers right = expected(examples(kRows[i], i + 1));
    for (size_t k = 0; k < right.size(); ++k) expect_bits(places[k], right[k]);
  }
  workers.stop();
  EXPECT_THAT(metrics.exposition(), HasSubstr("coterie_serving_batch_examples_count 7\n"))
      << "31 rows behind the first are three batches of 8 and those of 4, 2 and 1";
}

TEST_F(SeveralOutputs, AreThoseOfTheVersionThatAnswers) {
  serve_three({.router = {.canary_percent = 50, .has_shadow = true}});
  ASSERT_OK(server_->publish("three", model_of_three(2), 2));
  ASSERT_OK(server_->models().promote("three", 1));
  const std::vector<float> input = examples(2);
  const Answers right[] = {expected(input, 1), expected(input, 2)};
  auto client = this->client();
  uint64_t latest = 0, promoted = 0;
  for (int id = 0; id < 40; ++id) {
    const nlohmann::json json = ask(client, request_of(input, "\"id\":\"" + std::to_string(id) + "\"")).json();
    const bool is_latest = json["model_version"] == "2";
    (is_latest ? latest : promoted) += 1;
    ASSERT_EQ(json["outputs"].size(), 3u);
    for (size_t i = 0; i < 3; ++i) expect_bits(words_of(json["outputs"][i]), right[is_latest ? 1 : 0][i]);
  }
  EXPECT_GT(latest, 5u);
  EXPECT_GT(promoted, 5u);
  // The shadow compares the model's own output alone: ten values a row.
  double difference = 0;
  for (size_t i = 0; i < right[0][0].size(); ++i)
    difference = std::max(difference, std::abs(double{right[0][0][i]} - double{right[1][0][i]}));
  const auto is_compared = [&] {
    return server_->metrics().exposition().find("coterie_serving_shadow_difference_count " + std::to_string(promoted) +
                                                "\n") != std::string::npos;
  };
  EXPECT_TRUE(comes_true(is_compared)) << server_->metrics().exposition();
  const std::string text = server_->metrics().exposition();
  const size_t at = text.find("coterie_serving_shadow_difference_sum ");
  ASSERT_NE(at, std::string::npos);
  const double sum = std::stod(text.substr(at + 38));
  EXPECT_NEAR(sum, difference * static_cast<double>(promoted), 1e-3 * sum);
}

TEST_F(SeveralOutputs, AVersionWithOthersIsNoVersionOfTheSameModel) {
  serve_three();
  ModelBuilder build("three", {8, 8, 1}, 1);
  const TensorId features = build.dense(build.flatten(build.input()), 6);
  const Status other = server_->publish("three", *build.finish(build.dense(build.relu(features), 10)), 2);
  EXPECT_ERROR(other, ErrorCode::invalid_argument, "other inputs or outputs");
}

// Steps take any of the outputs, and need not take all.
TEST_F(SeveralOutputs, StandBehindSteps) {
  serve_three();
  const auto steps =
      test::parse_steps(test::after_of(R"({"name":"best","step":"argmax","from":")" + names_[0] +
                                           R"("},{"name":"odds","step":"sigmoid","from":")" + names_[1] + R"("})",
                                       R"({"class":"best","odds":"odds","active":")" + names_[2] + "\"}"));
  ASSERT_OK(steps);
  ASSERT_OK(server_->publish("named", model_of_three(1), 1, Standing::latest, kDefaultTenant, *steps));
  const std::vector<float> input = examples(3);
  const Answers right = expected(input);
  const nlohmann::json json = ask(post_of("/v2/models/named/infer", json_request(input))).json();
  ASSERT_THAT(names_of(json), ElementsAre("active", "class", "odds")) << json.dump();
  expect_bits(words_of(json["outputs"][0]), right[2]);
  const auto best = [&](size_t row) {
    const auto from = right[0].begin() + static_cast<ptrdiff_t>(row * 10);
    return std::max_element(from, from + 10) - from;
  };
  const std::vector<float> odds = words_of(json["outputs"][2]);
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(json["outputs"][1]["data"][row], best(row));
    for (size_t i = row * 6; i < row * 6 + 6; ++i) EXPECT_NEAR(odds[i], 1 / (1 + std::exp(-right[1][i])), 1e-6);
  }
}

}  // namespace
}  // namespace coterie
