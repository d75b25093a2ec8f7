// ServingClient: what asks a server's models in an integration test: one connection, the protocol's JSON.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/os/file.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/raw_http.h"

namespace coterie::integration {

// Where a server answers with models, as its data directory says.
struct ServingPlace {
  std::string url, token, ca_pem;
  std::string grpc;  // HOST:PORT; empty: not over gRPC

  static ServingPlace of(const ServerProcess& server, const std::string& data_dir) {
    const auto text = os::read_file(data_dir + "/endpoints.json", 1 << 16);
    EXPECT_TRUE(test::is_ok(text));
    if (!text) return {};
    const nlohmann::json endpoints = nlohmann::json::parse(as_text(*text), nullptr, false);
    const auto token = os::read_file(endpoints.value("serving_token_file", std::string()), 1 << 16);
    EXPECT_TRUE(test::is_ok(token));
    if (!token) return {};
    const std::string_view line = as_text(*token);
    return {endpoints.value("serving_url", std::string()), std::string(line.substr(0, line.find('\n'))),
            server.ca_pem(), endpoints.value("serving_grpc", std::string())};
  }
};

class ServingClient {
 public:
  struct Answer {
    int status = 0;
    nlohmann::json body;
  };

  explicit ServingClient(const ServingPlace& place) : token_(place.token), http_(place.url, place.ca_pem) {}

  // With the data directory's token, unless another is shown.
  Answer ask(const std::string& method, const std::string& path, const std::string& body = {},
             const std::string& token = {}) {
    EXPECT_OK(http_.send(method + " " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
                         (token.empty() ? token_ : token) + "\r\nContent-Length: " + std::to_string(body.size()) +
                         "\r\n\r\n" + body));
    const auto answer = http_.read_answer(kPatience);
    EXPECT_TRUE(test::is_ok(answer));
    if (!answer) return {};
    return {status_of(*answer), nlohmann::json::parse(answer->substr(answer->find("\r\n\r\n") + 4), nullptr, false)};
  }
  // One example of ones, by this model's own words.
  std::string example_for(const std::string& model) {
    const nlohmann::json input = ask("GET", "/v2/models/" + model).body["inputs"][0];
    nlohmann::json given = {{"name", input["name"]}, {"datatype", input["datatype"]}, {"shape", input["shape"]}};
    given["shape"][0] = 1;
    size_t size = 1;
    for (const nlohmann::json& dimension : given["shape"]) size *= dimension.get<size_t>();
    given["data"] = std::vector<int>(size, 1);
    return nlohmann::json{{"inputs", {given}}}.dump();
  }

 private:
  const std::string token_;
  RawHttp http_;
};

// Asks until it is so, at most kPatience.
template <typename Condition>
bool is_so_in_time(Condition condition) {
  const Instant until = os::monotonic_now() + kPatience;
  while (os::monotonic_now() < until) {
    if (condition()) return true;
  }
  return false;
}

inline bool serves(ServerProcess& server, const std::string& job, uint64_t version) {
  return server.wait_for_log(
      "\"model_served\",\"model\":\"" + job + "\",\"version\":\"" + std::to_string(version) + "\"", kPatience);
}

}  // namespace coterie::integration
