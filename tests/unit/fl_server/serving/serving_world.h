// A listener with models behind it, and clients that ask them.
#pragma once

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "fl_server/serving/model_server.h"
#include "secure/identity/bearer_token.h"
#include "tests/unit/fl_server/net/http_world.h"
#include "tools/model/zoo.h"

namespace coterie::test {

inline constexpr const char* kServingToken = "cot_of_the_test";

class ServingWorld : public HttpWorld {
 protected:
  // A service that a world may own.
  struct Plane final : HttpService {
    Plane(ModelServerSettings settings, const Metrics& metrics) : server(std::move(settings), metrics) {}
    Awaitable<RoutedResponse> handle(Exchange& exchange) override { return server.service().handle(exchange); }
    HttpResponse refuse(const Error& error, int status) override { return server.service().refuse(error, status); }
    ModelServer server;
  };

  void serve(ModelServerSettings settings, const HttpLimits& limits = {}) {
    settings.service.version = "test";
    if (settings.service.access == nullptr) settings.service.token = token_digest(kServingToken);
    auto plane = std::make_unique<Plane>(std::move(settings), metrics_);
    server_ = &plane->server;
    start(limits, std::move(plane));
  }

  static Bytes digits_model(uint64_t seed) { return *make_model(ModelKind::cnn, {8, 8, 1}, 10, seed); }

  // The head of a request that may ask.
  static std::string head_of(const std::string& method, const std::string& path, const std::string& more = {}) {
    return method + " " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + kServingToken + "\r\n" + more +
           "\r\n";
  }
  static std::string post_of(const std::string& path, const std::string& body, const std::string& more = {}) {
    return head_of("POST", path, more + "Content-Length: " + std::to_string(body.size()) + "\r\n") + body;
  }

  struct Answer {
    int status = 0;
    std::string head, body;
    nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
    std::string error() const { return json().value("error", std::string("no error: ") + body); }
  };
  static Answer ask(integration::RawHttp& client, const std::string& request) {
    EXPECT_OK(client.send(request));
    const auto text = client.read_answer(kPatience);
    if (!text) return {0, {}, text.error().message()};
    const size_t end = text->find("\r\n\r\n");
    return {integration::status_of(*text), text->substr(0, end), end == std::string::npos ? "" : text->substr(end + 4)};
  }
  Answer ask(const std::string& request) {
    auto client = this->client();
    return ask(client, request);
  }

  // Rows of 64 numbers, another for each `which`.
  static std::vector<float> example(uint64_t which) {
    Prng prng(which);
    std::vector<float> values(64);
    for (float& value : values) value = static_cast<float>(prng.below(17)) / 16.0f;
    return values;
  }
  static std::string json_request(std::span<const float> values) {
    nlohmann::json input = {{"name", "input"}, {"shape", {values.size() / 64, 8, 8, 1}}, {"datatype", "FP32"}};
    input["data"] = std::vector<float>(values.begin(), values.end());
    return nlohmann::json{{"inputs", {input}}}.dump();
  }

  ModelServer* server_ = nullptr;
};

}  // namespace coterie::test
