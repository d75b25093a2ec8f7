// A server in this process, and requests to its admin plane over a real connection.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/transport/https_client.h"
#include "fl_server/app/server.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {

using nlohmann::json;

struct Answer {
  int status = 0;
  TransportResponse head;
  std::string body;
  json document() const { return json::parse(body, nullptr, false); }
};

class AdminServerTest : public testing::Test {
 protected:
  void SetUp() override {
    ServerConfig config;
    config.data_dir = directory_ / "data";
    config.device = {.address = "127.0.0.1", .port = 0, .limits = {}};
    config.admin.port = 0;
    config.threads = 1;
    configure(config);
    auto server = Server::start(config, [](const std::string&) {});
    ASSERT_OK(server);
    server_ = std::move(*server);
    token_ = read(server_->admin_token_file());
    while (!token_.empty() && token_.back() == '\n') token_.pop_back();
    auto client = HttpsClient::make({.url = server_->admin_url(), .ca_pem = read(server_->ca_file())});
    ASSERT_OK(client);
    client_ = std::move(*client);
  }

  virtual void configure(ServerConfig&) {}

  static std::string read(const std::string& path) {
    return std::string(as_text(os::read_file(path, 1 << 20).value_or(Bytes())));
  }

  Answer ask(std::string_view method, const std::string& target, std::string_view body = {}) {
    return ask_as("Bearer " + token_, method, target, body);
  }
  Answer ask_as(const std::string& authorization, std::string_view method, const std::string& target,
                std::string_view body = {}) {
    Answer answer;
    TransportRequest request{
        .method = method, .target = target, .headers = {}, .content_type = "application/json", .body = as_bytes(body)};
    if (!authorization.empty()) request.headers = {{"Authorization", authorization}};
    if (!idempotency_key_.empty()) request.headers.emplace_back("Idempotency-Key", idempotency_key_);
    request.headers.insert(request.headers.end(), headers_.begin(), headers_.end());
    const auto response = client_->send(request, [&](const TransportResponse&, ByteView piece) {
      answer.body.append(as_text(piece));
      return Status();
    });
    EXPECT_OK(response) << method << " " << target;
    if (response) answer.head = *response;
    answer.status = answer.head.status;
    return answer;
  }

  // Creates a job with a small model, and gives its id. `spec` lacks "model".
  std::string create_job(json spec, const std::string& query = {}) {
    ModelBuilder build("small", {2}, 1);
    const Bytes model = build.finish(build.dense(build.input(), 3)).value();
    spec["model"] = ask("POST", "/admin/v1/models", as_text(model)).document()["digest"];
    const Answer made = ask("POST", "/admin/v1/jobs" + query, spec.dump());
    EXPECT_EQ(made.status, 201) << made.body;
    return made.document().value("id", "");
  }

  TemporaryDirectory directory_{memory_disk()};
  std::unique_ptr<Server> server_;
  std::string token_;
  std::vector<std::pair<std::string, std::string>> headers_;  // sent with each request
  std::string idempotency_key_;                               // sent with each request unless it is empty
  std::unique_ptr<HttpsClient> client_;
};

}  // namespace coterie::test
