// The plane as a client sees it: the protocol's routes, and one JSON error for everything that is wrong.
#include "fl_server/serving/serving_service.h"

#include <gmock/gmock.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <future>
#include <thread>

#include "device_sdk/runtime/model_builder.h"
#include "fl_server/serving/at_once.h"
#include "tests/unit/fl_server/serving/scripted_access.h"
#include "tests/unit/fl_server/serving/serving_world.h"

namespace coterie {
namespace {

using ::testing::HasSubstr;

class ServingService : public test::ServingWorld {
 protected:
  void SetUp() override {
    serve({.workers = 2, .batch_max = 8});
    ASSERT_OK(server_->publish("digits", digits_model(1), 1));
  }
  std::vector<float> expected(std::span<const float> input, const std::string& version = {}) {
    const auto found = server_->models().find("digits", version);
    std::vector<float> output(input.size() / 64 * 10);
    const auto own = ServedVersion::load(digits_model((*found)->number()), 1, {});
    EXPECT_OK((*own)->run(0, {{input}}, input.size() / 64, output));
    return output;
  }
};

TEST_F(ServingService, SaysWhatItIsAndWhetherItLives) {
  for (const std::string path : {"/v2", "/v2/"}) {
    const Answer answer = ask("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(answer.json()["extensions"], nlohmann::json({"binary_tensor_data"})) << path << answer.body;
  }
  EXPECT_EQ(ask("GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
  EXPECT_EQ(ask("GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
  server_->models().remove("digits");
  EXPECT_EQ(ask("GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n").status, 503);
}

TEST_F(ServingService, DescribesAModel) {
  const Answer answer = ask(head_of("GET", "/v2/models/digits"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["versions"], nlohmann::json({"1"}));
  EXPECT_EQ(answer.json()["inputs"][0],
            nlohmann::json::parse(R"({"name":"input","datatype":"FP32","shape":[-1,8,8,1]})"));
  EXPECT_EQ(answer.json()["outputs"][0]["shape"], nlohmann::json({-1, 10}));
  const std::string digest = answer.json()["parameters"]["coterie_digest"];
  for (const std::string& name : {std::string("1"), std::string("latest"), digest}) {
    EXPECT_EQ(ask(head_of("GET", "/v2/models/digits/versions/" + name + "/ready")).status, 200) << name;
  }
  EXPECT_EQ(ask(head_of("GET", "/v2/models/digits/versions/promoted/ready")).status, 404);
  EXPECT_EQ(ask(head_of("GET", "/v2/models/other/ready")).status, 404);
}

TEST_F(ServingService, AnswersWithTheModelsOwnNumbers) {
  auto client = this->client();
  for (const uint64_t rows : {1u, 3u, 29u}) {
    std::vector<float> input;
    for (uint64_t row = 0; row < rows; ++row) {
      const std::vector<float> one = example(100 * rows + row);
      input.insert(input.end(), one.begin(), one.end());
    }
    const Answer answer = ask(client, post_of("/v2/models/digits/infer", json_request(input)));
    ASSERT_EQ(answer.status, 200) << answer.body;
    const nlohmann::json json = answer.json();
    EXPECT_EQ(json["model_version"], "1");
    EXPECT_EQ(json["outputs"][0]["shape"], nlohmann::json({rows, 10}));
    EXPECT_EQ(json["outputs"][0]["data"].get<std::vector<float>>(), expected(input));
  }
}

TEST_F(ServingService, SpeaksTheBinaryExtension) {
  const std::vector<float> input = example(4);
  std::string body =
      R"({"id":"b","parameters":{"binary_data_output":true},"inputs":[{"name":"input","shape":[1,8,8,1],)"
      R"("datatype":"FP32","parameters":{"binary_data_size":256}}]})";
  const std::string header = "Inference-Header-Content-Length: " + std::to_string(body.size()) + "\r\n";
  body.append(reinterpret_cast<const char*>(input.data()), 256);
  const Answer answer = ask(post_of("/v2/models/digits/versions/1/infer", body, header));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: application/octet-stream"));
  const size_t at = answer.head.find("Inference-Header-Content-Length: ");
  ASSERT_NE(at, std::string::npos);
  const size_t json_bytes = std::stoul(answer.head.substr(at + 33));
  ASSERT_EQ(answer.body.size(), json_bytes + 40);
  EXPECT_EQ(nlohmann::json::parse(answer.body.substr(0, json_bytes))["id"], "b");
  std::vector<float> output(10);
  std::memcpy(output.data(), answer.body.data() + json_bytes, 40);
  EXPECT_EQ(output, expected(input));
}

TEST_F(ServingService, TellsStrangersNothing) {
  for (const char* const path :
       {"/v2/models/digits", "/v2/models/none", "/metrics", "/nothing", "/v2/models/digits/infer"}) {
    const Answer answer =
        ask("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer cot_wrong\r\n\r\n");
    EXPECT_EQ(answer.status, 401) << path;
    EXPECT_THAT(answer.error(), HasSubstr("bearer token"));
    EXPECT_THAT(answer.head, HasSubstr("WWW-Authenticate: Bearer"));
  }
}

TEST_F(ServingService, SaysEveryMistakeInTheProtocolsForm) {
  const std::string infer = "/v2/models/digits/infer", good = json_request(example(1));
  EXPECT_EQ(ask(post_of("/v2/models/none/infer", good)).status, 404);
  EXPECT_THAT(ask(post_of("/v2/models/digits/versions/9/infer", good)).error(),
              HasSubstr("there is no version 9; there are 1"));
  EXPECT_EQ(ask(head_of("GET", infer)).status, 405);
  EXPECT_THAT(ask(head_of("GET", infer)).head, HasSubstr("Allow: POST"));
  EXPECT_EQ(ask(head_of("GET", "/v3")).status, 404);
  EXPECT_EQ(ask(post_of(infer, "{")).status, 400);
  EXPECT_EQ(ask(post_of(infer, good, "Inference-Header-Content-Length: x\r\n")).status, 400);
  const std::string length = "Inference-Header-Content-Length: " + std::to_string(good.size()) + "\r\n";
  EXPECT_THAT(ask(post_of(infer, good, length + length)).error(), HasSubstr("is given twice"));
  EXPECT_EQ(ask(post_of(infer, good, "Content-Encoding: gzip\r\n")).status, 415);
  EXPECT_EQ(ask(post_of(infer, good, "Content-Encoding: identity\r\n")).status, 200);
  EXPECT_THAT(
      ask(post_of(infer, R"({"inputs":[{"name":"input","shape":[1,8,8,1],"datatype":"FP32","data":[NaN]}]})")).error(),
      HasSubstr("fewer values"));
  const Answer unparsed = ask("GARBAGE\r\n\r\n");
  EXPECT_EQ(unparsed.status, 400);
  EXPECT_THAT(unparsed.json(), ::testing::Contains(::testing::_)) << unparsed.body;
}

TEST_F(ServingService, RefusesLargeBodiesBeforeTheyCome) {
  const Answer answer = ask(head_of("POST", "/v2/models/digits/infer", "Content-Length: 104857600\r\n"));
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(answer.error(), HasSubstr("104857600 bytes, at most 16777216"));
  // Many clients look for the answer when all is sent.
  auto blind = client();
  ASSERT_OK(blind.send(head_of("POST", "/v2/models/digits/infer", "Content-Length: 33554432\r\n")));
  for (int i = 0; i < 32; ++i) ASSERT_OK(blind.send(std::string(1 << 20, 'a'))) << "MiB " << i;
  EXPECT_EQ(integration::status_of(blind.read_answer(kPatience).value_or("")), 413);
}

TEST_F(ServingService, AnswersByThePromotedVersionAndByName) {
  ASSERT_OK(server_->publish("digits", digits_model(2), 2));
  const std::string body = json_request(example(1));
  const auto version_of = [&](const std::string& path) {
    return ask(post_of("/v2/models/digits" + path, body)).json()["model_version"];
  };
  EXPECT_EQ(version_of("/infer"), "2");
  ASSERT_OK(server_->models().promote("digits", 1));
  EXPECT_EQ(version_of("/infer"), "1");
  EXPECT_EQ(version_of("/versions/latest/infer"), "2");
  EXPECT_EQ(version_of("/versions/promoted/infer"), "1");
}

TEST_F(ServingService, ServesNoOtherModelUnderTheSameName) {
  const Status other = server_->publish("digits", *make_model(ModelKind::mlp, {4, 4, 1}, 10, 1), 2);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("other inputs"));
  EXPECT_FALSE(server_->publish("digits", digits_model(2), 1)) << "a version never changes";
  EXPECT_FALSE(server_->publish("../x", digits_model(2), 1));
}

TEST_F(ServingService, CountsWhatItDoes) {
  EXPECT_EQ(ask(post_of("/v2/models/digits/infer", json_request(example(1)))).status, 200);
  EXPECT_EQ(ask(post_of("/v2/models/digits/infer", "{")).status, 400);
  const std::string text = ask(head_of("GET", "/metrics")).body;
  EXPECT_THAT(text, HasSubstr("coterie_serving_examples_total 1"));
  EXPECT_THAT(text, HasSubstr("coterie_serving_examples_waiting 0\n")) << "a worker has taken what waited";
  EXPECT_THAT(text, HasSubstr("coterie_serving_requests_failed_total{code=\"malformed\"} 1"));
  EXPECT_THAT(text, HasSubstr("coterie_serving_version_info{"));
  EXPECT_THAT(text, HasSubstr("coterie_serving_batch_examples_bucket{le=\"1\"} 1"));
  EXPECT_THAT(text, HasSubstr("route=\"/v2/models/{model}/infer\""));
}

class ComparedServing : public test::ServingWorld {
 protected:
  void serve_two(ServingServiceSettings service) {
    service.router.at_once_max = std::chrono::hours(1);  // all but the first of each version
    serve({.workers = 1, .service = std::move(service)});
    ASSERT_OK(server_->publish("digits", digits_model(1), 1));
    ASSERT_OK(server_->publish("digits", digits_model(2), 2));
    ASSERT_OK(server_->models().promote("digits", 1));
  }
  Answer ask_as(integration::RawHttp& client, const std::string& id) {
    std::string body = json_request(example(1));
    body.insert(1, "\"id\":\"" + id + "\",");
    return ask(client, post_of("/v2/models/digits/infer", body));
  }
};

TEST_F(ComparedServing, GivesAShareToTheLatestAndTheSameIdTheSameVersion) {
  serve_two({.router = {.canary_percent = 40}});
  auto client = this->client();
  uint64_t latest = 0;
  constexpr int kIds = 100;
  for (int id = 0; id < kIds; ++id) {
    const auto version = ask_as(client, std::to_string(id)).json()["model_version"];
    EXPECT_EQ(ask_as(client, std::to_string(id)).json()["model_version"], version) << id;
    latest += version == "2";
  }
  EXPECT_GT(latest, 20u);
  EXPECT_LT(latest, 60u);
  const std::string one = post_of("/v2/models/digits/versions/promoted/infer", json_request(example(1)));
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(ask(client, one).json()["model_version"], "1") << "a named version is that one";
}

TEST_F(ComparedServing, ComparesTheLatestAndNeverReturnsIt) {
  serve_two({.router = {.has_shadow = true}});
  auto client = this->client();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask_as(client, std::to_string(i)).json()["model_version"], "1");
  const auto is_compared = [&] {
    return server_->metrics().exposition().find("coterie_serving_shadow_difference_count 5") != std::string::npos;
  };
  EXPECT_TRUE(comes_true(is_compared)) << server_->metrics().exposition();
}

class AtOnceServing : public test::ServingWorld {
 protected:
  void serve_digits(std::chrono::nanoseconds at_once_max) {
    serve({.workers = 2, .batch_max = 8, .service = {.router = {.at_once_max = at_once_max}}});
    ASSERT_OK(server_->publish("digits", digits_model(1), 1));
    const auto version = ServedVersion::load(digits_model(1), 1, {});
    ASSERT_OK(version);
    version_ = *version;
  }
  std::vector<float> expected(std::span<const float> input) {
    std::vector<float> output(input.size() / 64 * 10);
    EXPECT_OK(version_->run(0, {{input}}, input.size() / 64, output));
    return output;
  }
  static InferRequest request(uint64_t which) {
    return {.id = {}, .rows = 1, .inputs = {{.shape = {8, 8, 1}, .words = example(which)}}};
  }
  testing::AssertionResult has_computed_at_once(int count) {
    const std::string text = server_->metrics().exposition();
    if (text.find("coterie_serving_at_once_total " + std::to_string(count) + "\n") != std::string::npos)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << text;
  }

  std::shared_ptr<ServedVersion> version_;
};

TEST_F(AtOnceServing, ANetworkThreadComputesWhatIsKnownToBeSmall) {
  serve_digits(std::chrono::hours(1));
  auto client = this->client();
  int at_once = 0;
  for (const uint64_t rows : {1u, 1u, 3u, 29u}) {
    std::vector<float> input;
    for (uint64_t row = 0; row < rows; ++row) {
      const std::vector<float> one = example(100 * rows + row);
      input.insert(input.end(), one.begin(), one.end());
    }
    const Answer answer = ask(client, post_of("/v2/models/digits/infer", json_request(input)));
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json()["outputs"][0]["data"].get<std::vector<float>>(), expected(input));
    EXPECT_TRUE(has_computed_at_once(at_once++)) << "a worker measures the first";
  }
  std::string late = json_request(example(1));
  late.insert(1, R"("parameters":{"timeout":0},)");
  EXPECT_EQ(ask(client, post_of("/v2/models/digits/infer", late)).status, 504);
}

TEST_F(AtOnceServing, NoneComputesWhatMayTakeLongerThanOthersWait) {
  serve_digits(std::chrono::nanoseconds(0));
  auto client = this->client();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask(client, post_of("/v2/models/digits/infer", json_request(example(1)))).status, 200);
  EXPECT_TRUE(has_computed_at_once(0));
}

TEST_F(AtOnceServing, NobodyOvertakesWhoWaitsForAWorker) {
  serve_digits(std::chrono::nanoseconds(0));
  ServingMetrics metrics;
  InferenceWorkers workers(1, {{1}, 16}, metrics);
  const auto is_at_once = [&](Instant deadline) {
    auto outcome = workers.compute_at_once(*version_, request(1), deadline);
    if (outcome) EXPECT_OK(*outcome);
    return outcome.has_value();
  };
  EXPECT_TRUE(is_at_once(Instant::max()));
  EXPECT_FALSE(is_at_once(Instant::min())) << "its time is over";
  std::promise<void> is_told, go_on;
  workers.submit(version_, request(1), Instant::max(), [&](const InferenceWorkers::Outcome&) {
    is_told.set_value();
    go_on.get_future().wait();
  });
  is_told.get_future().wait();
  EXPECT_TRUE(is_at_once(Instant::max())) << "the only worker tells somebody something, and leaves its seat";
  std::promise<InferenceWorkers::Outcome> behind;
  workers.submit(version_, request(2), Instant::max(),
                 [&](InferenceWorkers::Outcome outcome) { behind.set_value(std::move(outcome)); });
  EXPECT_FALSE(is_at_once(Instant::max()));
  go_on.set_value();
  const InferenceWorkers::Outcome outcome = behind.get_future().get();
  ASSERT_OK(outcome);
  EXPECT_EQ(*outcome, expected(example(2)));
  workers.stop();
  EXPECT_FALSE(is_at_once(Instant::max()));
}

// Wrong rows end early, or are computed again alone.
TEST_F(AtOnceServing, WhatIsRefusedSaysNothingOfWhatIsComputed) {
  ModelBuilder build("table", {2}, 1, DataType::int32);
  const TensorId looked_up = build.flatten(build.embedding(build.input(), 4, 3));
  const auto file = build.finish(build.dense(looked_up, 2));
  ASSERT_OK(file);
  const auto version = ServedVersion::load(*file, 1, {});
  ASSERT_OK(version);
  ServingMetrics metrics;
  InferenceWorkers workers(1, {{1}, 16}, metrics);
  const auto ask_for = [&](int32_t row) {
    std::promise<InferenceWorkers::Outcome> answer;
    workers.submit(
        *version, {.id = {}, .rows = 1, .inputs = {{.shape = {2}, .words = std::vector(2, std::bit_cast<float>(row))}}},
        Instant::max(), [&](InferenceWorkers::Outcome got) { answer.set_value(std::move(got)); });
    return answer.get_future().get();
  };
  EXPECT_FALSE(ask_for(9)) << "the table has four rows";
  EXPECT_EQ((*version)->cost().expected(1), std::nullopt);
  EXPECT_OK(ask_for(3));
  EXPECT_NE((*version)->cost().expected(1), std::nullopt);
  workers.stop();
}

// Workers and others in turns: nobody computes on another's seat, and nobody who waits is forgotten.
TEST_F(AtOnceServing, ASeatIsOneThreadsAtATime) {
  serve_digits(std::chrono::nanoseconds(0));
  ServingMetrics metrics;
  InferenceWorkers workers(2, {{1}, 1'000}, metrics);
  const auto shared = ServedVersion::load(digits_model(1), 1, {.workers = 2});
  ASSERT_OK(shared);
  constexpr uint64_t kExamples = 4, kRequests = 100;
  std::vector<std::vector<float>> right;
  for (uint64_t i = 0; i < kExamples; ++i) right.push_back(expected(example(i)));
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kExamples; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kRequests; ++i) {
        std::optional<InferenceWorkers::Outcome> outcome;
        if (i % 4 != t) outcome = workers.compute_at_once(**shared, request(t), Instant::max());
        if (!outcome) {
          std::promise<InferenceWorkers::Outcome> answer;
          workers.submit(*shared, request(t), Instant::max(),
                         [&](InferenceWorkers::Outcome got) { answer.set_value(std::move(got)); });
          outcome = answer.get_future().get();
        }
        wrong += !*outcome || **outcome != right[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

class FullServing : public test::ServingWorld {};

TEST_F(FullServing, RefusesWhatItHasNoRoomForAndSaysWhenToComeAgain) {
  serve({.workers = 1, .batch_max = 1, .waiting_max = 1, .service = {.limits = {.rows_max = 512}}});
  ASSERT_OK(server_->publish("digits", digits_model(1), 1));
  std::vector<float> many;
  for (int i = 0; i < 512; ++i) {
    const std::vector<float> one = example(static_cast<uint64_t>(i));
    many.insert(many.end(), one.begin(), one.end());
  }
  // A large request has the only worker for a while; whoever comes behind it finds the queue full. On a busy machine no
  // small one may come in that while, or the small one is the first and the large one finds it full: then both are
  // sent again.
  auto large = client(), small = client();
  const std::string few = post_of("/v2/models/digits/infer", json_request(example(1)));
  const std::string lots = post_of("/v2/models/digits/infer", json_request(many));
  Answer refused;
  const auto is_refused = [&] {
    EXPECT_TRUE(large.send(lots));
    auto answer = std::async(std::launch::async, [&] { return integration::status_of(*large.read_answer(kPatience)); });
    while (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready && refused.status != 503)
      refused = ask(small, few);
    EXPECT_THAT(answer.get(), testing::AnyOf(200, 503));
    return refused.status == 503;
  };
  ASSERT_TRUE(comes_true(is_refused)) << refused.status;
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: "));
  EXPECT_THAT(refused.error(), HasSubstr("come back later"));
}

TEST_F(FullServing, AnswersThatTheTimeOfARequestIsOver) {
  serve({.workers = 1, .batch_max = 1, .service = {.limits = {.rows_max = 512}}});
  ASSERT_OK(server_->publish("digits", digits_model(1), 1));
  std::string body = json_request(example(1));
  body.insert(1, R"("parameters":{"timeout":0},)");
  const Answer late = ask(post_of("/v2/models/digits/infer", body));
  EXPECT_EQ(late.status, 504);
  EXPECT_THAT(late.error(), HasSubstr("its time was over"));
}

TEST_F(FullServing, ClosesOnHeadsAndBodiesThatDoNotComeAndOnNobodyElse) {
  serve({.workers = 1}, {.head_max = Millis(50), .body_grace = Millis(50), .body_bytes_per_second_min = 1'000'000});
  ASSERT_OK(server_->publish("digits", digits_model(1), 1));
  auto half_head = client(), half_body = client();
  ASSERT_OK(half_head.send("POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nX-Slow: "));
  const Answer late =
      ask(half_body, head_of("POST", "/v2/models/digits/infer", "Content-Length: 1000\r\n") + "{\"inputs\"");
  EXPECT_EQ(late.status, 408);
  EXPECT_THAT(late.error(), HasSubstr("did not come in time"));
  EXPECT_TRUE(half_head.is_closed_within(kPatience));
  EXPECT_TRUE(half_body.is_closed_within(kPatience));
  EXPECT_EQ(ask(post_of("/v2/models/digits/infer", json_request(example(1)))).status, 200);
}

class ServingOfTenants : public test::ServingWorld {
 protected:
  void SetUp() override {
    ModelServerSettings settings{.workers = 1, .batch_max = 1};
    settings.service.access = &access_;
    settings.service.router.canary_percent = 50;
    serve(std::move(settings));
    ASSERT_OK(server_->publish("digits", digits_model(1), 1, Standing::promoted, "acme"));
    server_->models().set_aliases({{"phones", "digits"}});
  }
  static std::string with(const std::string& token, std::string request) {
    const std::string own = std::string("Bearer ") + test::kServingToken;
    return request.replace(request.find(own), own.size(), "Bearer " + token);
  }
  test::ScriptedAccess access_;
};

TEST_F(ServingOfTenants, WhatIsAnotherTenantsDoesNotExist) {
  const std::string body = json_request(example(1));
  for (const std::string model : {"digits", "phones"}) {
    const std::string look = head_of("GET", "/v2/models/" + model);
    const std::string infer = post_of("/v2/models/" + model + "/infer", body);
    for (const char* const mine : {"of-acme", "of-all"}) {
      EXPECT_EQ(ask(with(mine, look)).status, 200) << mine;
      EXPECT_EQ(ask(with(mine, infer)).status, 200) << mine;
    }
    EXPECT_EQ(ask(with("of-other", look)).status, 404);
    EXPECT_EQ(ask(with("of-other", infer)).error(), "there is no model " + model);
    EXPECT_EQ(ask(with("of-other", head_of("GET", "/v2/models/" + model + "/ready"))).status, 404);
    EXPECT_EQ(ask(with("of-a-viewer", infer)).status, 403);
    EXPECT_EQ(ask(with("wrong", infer)).status, 401);
  }
  EXPECT_EQ(ask(with("of-acme", head_of("GET", "/metrics"))).status, 403) << "they name all tenants' models";
  EXPECT_EQ(ask(with("of-all", head_of("GET", "/metrics"))).status, 200);
}

TEST_F(ServingOfTenants, APopulationNamesItsVersionsByTheirDigests) {
  const nlohmann::json shown = ask(with("of-acme", head_of("GET", "/v2/models/phones"))).json();
  const std::string digest = shown["parameters"]["coterie_digest"];
  EXPECT_EQ(shown["versions"], nlohmann::json({digest}));
  const std::string path = "/v2/models/phones/versions/";
  EXPECT_EQ(ask(with("of-acme", head_of("GET", path + digest))).status, 200);
  EXPECT_THAT(ask(with("of-acme", head_of("GET", path + "1"))).error(), HasSubstr("by its digest"));
}

TEST_F(ServingService, VersionsHaveSoMuchMemoryAndNoMore) {
  const auto one = ServedVersion::load(digits_model(1), 1, {});
  ASSERT_OK(one);
  ModelServerSettings settings{.workers = 1, .batch_max = 1, .bytes_max = (*one)->bytes() * 5 / 2};
  ModelServer server(std::move(settings), metrics_);
  ASSERT_OK(server.publish("a", digits_model(1), 1, Standing::promoted));
  ASSERT_OK(server.publish("a", digits_model(2), 2));
  EXPECT_ERROR(server.publish("b", digits_model(3), 1), ErrorCode::too_large, "are left");
  EXPECT_FALSE(server.models().find("b", ""));
  ASSERT_OK(server.models().promote("a", 2));
  ASSERT_OK(server.publish("b", digits_model(3), 1)) << "version 1 is neither the latest nor promoted, and goes";
  EXPECT_FALSE(server.models().find("a", "1"));
  EXPECT_LE(server.models().bytes(), (*one)->bytes() * 5 / 2);
}

TEST_F(ServingService, APromotedVersionTakesTheRoomOfWhatIsNotPromoted) {
  const auto one = ServedVersion::load(digits_model(1), 1, {});
  ASSERT_OK(one);
  ModelServerSettings settings{.workers = 1, .batch_max = 1, .bytes_max = (*one)->bytes() * 5 / 2};
  ModelServer server(std::move(settings), metrics_);
  ASSERT_OK(server.publish("a", digits_model(1), 1, Standing::promoted));
  ASSERT_OK(server.publish("a", digits_model(2), 2, Standing::candidate));
  EXPECT_ERROR(server.publish("b", digits_model(3), 1, Standing::candidate), ErrorCode::too_large,
               "of serving.bytes_max");
  ASSERT_OK(server.publish("b", digits_model(3), 1, Standing::promoted));
  EXPECT_TRUE(server.models().find("a", "1")) << "applications use it";
  EXPECT_FALSE(server.models().find("a", "2"));
  EXPECT_ERROR(server.publish("c", digits_model(4), 1, Standing::promoted), ErrorCode::too_large, "are left");
  EXPECT_LE(server.models().bytes(), (*one)->bytes() * 5 / 2);
}

TEST_F(ServingService, IsNotReadyWhileItSaysSo) {
  const std::string ready = "GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n";
  server_->set_ready(false);
  EXPECT_EQ(ask(ready).status, 503);
  EXPECT_THAT(ask(ready).error(), HasSubstr("still being loaded"));
  server_->set_ready(true);
  EXPECT_EQ(ask(ready).status, 200);
}

}  // namespace
}  // namespace coterie
