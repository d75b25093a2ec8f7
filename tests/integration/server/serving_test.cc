// A server that answers with what its rounds make: each model from the moment its round is done.
#include <gtest/gtest.h>

#include "base/os/file.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/raw_http.h"

namespace coterie::integration {
namespace {

constexpr Millis kHold{20'000};

class ServingServer : public ServerTest {
 protected:
  void SetUp() override {
    start(R"("serving": {"port": 0, "workers": 2})");
    const auto text = os::read_file(directory_ / "data/endpoints.json", 1 << 16);
    ASSERT_TRUE(test::is_ok(text));
    const nlohmann::json endpoints = nlohmann::json::parse(as_text(*text));
    url_ = endpoints["serving_url"];
    const auto token = os::read_file(endpoints["serving_token_file"], 1 << 16);
    ASSERT_TRUE(test::is_ok(token));
    serving_token_ = std::string(as_text(*token)).substr(0, as_text(*token).find('\n'));
  }
  nlohmann::json ask(const std::string& method, const std::string& path, const std::string& body = {}) {
    RawHttp client(url_, server_->ca_pem());
    EXPECT_OK(client.send(method + " " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + serving_token_ +
                          "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
    const auto answer = client.read_answer(kPatience);
    EXPECT_TRUE(test::is_ok(answer));
    return answer ? nlohmann::json::parse(answer->substr(answer->find("\r\n\r\n") + 4), nullptr, false)
                  : nlohmann::json();
  }
  bool is_served(const std::string& job, uint64_t version) {
    return server_->wait_for_log(
        "\"model_served\",\"model\":\"" + job + "\",\"version\":\"" + std::to_string(version) + "\"", kHold);
  }
  // One example of zeros, by this model's own words.
  std::string example_for(const std::string& job) {
    const nlohmann::json input = ask("GET", "/v2/models/" + job)["inputs"][0];
    nlohmann::json given = {{"name", input["name"]}, {"datatype", input["datatype"]}, {"shape", input["shape"]}};
    given["shape"][0] = 1;
    size_t size = 1;
    for (const nlohmann::json& dimension : given["shape"]) size *= dimension.get<size_t>();
    given["data"] = std::vector<int>(size);
    return nlohmann::json{{"inputs", {given}}}.dump();
  }

  std::string url_, serving_token_;
};

TEST_F(ServingServer, AnswersWithEachRoundsModelAndWithThePromotedOne) {
  const auto job = admin_->create_job(flat_model(16), spec_for(1, 2));
  ASSERT_TRUE(test::is_ok(job));
  ASSERT_TRUE(is_served(*job, 0)) << server_->log();
  const std::string body = example_for(*job), infer = "/v2/models/" + *job + "/infer";
  EXPECT_EQ(ask("POST", infer, body)["model_version"], "0");

  const auto device = enrolled_device();
  for (uint64_t round = 1; round <= 2; ++round) {
    const auto assignment = device->wait_for_assignment(kHold);
    ASSERT_TRUE(test::is_ok(assignment));
    const auto outcome = device->upload_until_decided(*assignment, one_hot(16, 1));
    ASSERT_TRUE(std::holds_alternative<Receipt>(outcome)) << std::get<Failure>(outcome).error.message();
    ASSERT_TRUE(is_served(*job, round)) << server_->log();
    const nlohmann::json answer = ask("POST", infer, body);
    EXPECT_EQ(answer["model_version"], std::to_string(round)) << answer;
    const auto stored = admin_->ask("GET", "/admin/v1/jobs/" + *job + "/models/" + std::to_string(round));
    ASSERT_TRUE(test::is_ok(stored));
    EXPECT_EQ(answer["parameters"]["coterie_digest"], (*stored)["digest"]);
  }

  ASSERT_TRUE(test::is_ok(admin_->ask("POST", "/admin/v1/jobs/" + *job + "/models/0:promote")));
  ASSERT_TRUE(server_->wait_for_log("\"served_model_promoted\"", kHold));
  EXPECT_EQ(ask("POST", infer, body)["model_version"], "0");
  EXPECT_EQ(ask("POST", "/v2/models/" + *job + "/versions/latest/infer", body)["model_version"], "2");
}

}  // namespace
}  // namespace coterie::integration
