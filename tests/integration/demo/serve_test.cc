// coterie serve as its user has it: a file that is written anew, a mistake in it, a stop under load.
#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/integration/support/raw_http.h"
#include "tests/support/matchers.h"
#include "tools/model/zoo.h"

namespace coterie::integration {
namespace {

using ::testing::HasSubstr;

constexpr Millis kPatience{60'000};

class Serve : public DemoTest {
 protected:
  void SetUp() override { write(1); }
  void write(uint64_t seed) {
    ASSERT_OK(os::write_file_atomically(directory_ / "digits.cotf", *make_model(ModelKind::mlp, {8, 8, 1}, 10, seed)));
  }
  std::string text_of(const std::string& name) const {
    const auto bytes = os::read_file(directory_ / name, 1 << 16);
    return bytes ? std::string(as_text(*bytes)) : std::string();
  }
  // What the process prints first: where it listens.
  static std::string url_of(const DemoProcess& serve) { return serve.output().substr(0, serve.output().find('\n')); }

  nlohmann::json ask(const DemoProcess& serve, const std::string& model) {
    std::string token = text_of("state/token");
    token.resize(std::min(token.size(), token.find('\n')));
    std::string zeros = "0";
    for (int i = 1; i < 64; ++i) zeros += ",0";
    const std::string body =
        R"({"inputs":[{"name":"input","shape":[1,8,8,1],"datatype":"FP32","data":[)" + zeros + "]}]}";
    RawHttp client(url_of(serve), text_of("state/ca.pem"));
    EXPECT_OK(client.send("POST /v2/models/" + model + "/infer HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token +
                          "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
    const auto answer = client.read_answer(kPatience);
    EXPECT_OK(answer);
    return answer ? nlohmann::json::parse(answer->substr(answer->find("\r\n\r\n") + 4), nullptr, false)
                  : nlohmann::json();
  }
};

TEST_F(Serve, AnswersWithAFileAndWithWhatItIsWrittenAnewBy) {
  DemoProcess serve(directory_.path(),
                    {"serve", "digits.cotf", "--port", "0", "--state-dir", "state", "--workers", "1"});
  ASSERT_TRUE(serve.wait_for("/v2/models/digits")) << serve.errors();
  EXPECT_THAT(url_of(serve), ::testing::StartsWith("https://127.0.0.1:"));
  const nlohmann::json first = ask(serve, "digits");
  EXPECT_EQ(first["model_version"], "1") << first;

  ASSERT_OK(os::write_file_atomically(directory_ / "digits.cotf", as_bytes("no model")));
  ASSERT_TRUE(serve.wait_for("coterie serve: ")) << serve.errors();
  EXPECT_EQ(ask(serve, "digits"), first) << "a file that is no model changes nothing";

  write(2);
  ASSERT_TRUE(serve.wait_for("serving digits version 3")) << serve.errors();
  const nlohmann::json next = ask(serve, "digits");
  EXPECT_EQ(next["model_version"], "3");
  EXPECT_NE(next["parameters"], first["parameters"]);
  serve.signal(SIGTERM);
  EXPECT_EQ(serve.wait(), 130) << serve.errors();
}

TEST_F(Serve, KeepsItsTokenAndItsAuthority) {
  for (int run = 0; run < 2; ++run) {
    DemoProcess serve(directory_.path(),
                      {"serve", "digits.cotf", "--port", "0", "--state-dir", "state", "--name", "x"});
    ASSERT_TRUE(serve.wait_for("/v2/models/x")) << serve.errors();
    static std::string token, authority;
    if (run == 1) {
      EXPECT_EQ(text_of("state/token"), token);
      EXPECT_EQ(text_of("state/ca.pem"), authority);
    }
    token = text_of("state/token");
    authority = text_of("state/ca.pem");
    EXPECT_EQ(ask(serve, "x")["model_name"], "x");
    EXPECT_THAT(serve.errors(), ::testing::Not(HasSubstr(token.substr(0, token.find('\n')))));
  }
}

TEST_F(Serve, IsInTheClearOnLoopbackAloneAndSaysSo) {
  DemoProcess open(directory_.path(), {"serve", "digits.cotf", "--port", "0", "--insecure-loopback"});
  ASSERT_TRUE(open.wait_for("INSECURE")) << open.errors();
  ASSERT_TRUE(open.wait_for("curl http://127.0.0.1:")) << open.errors();
  EXPECT_FALSE(os::exists(directory_ / "coterie-serving"));
  DemoProcess wide(directory_.path(),
                   {"serve", "digits.cotf", "--port", "0", "--insecure-loopback", "--address", "0.0.0.0"});
  EXPECT_EQ(wide.wait(), 2);
  EXPECT_THAT(wide.errors(), HasSubstr("without TLS: that is for 127.0.0.1 and ::1 alone"));
}

TEST_F(Serve, SaysWhatIsMissing) {
  DemoProcess none(directory_.path(), {"serve", "none.cotf"});
  EXPECT_EQ(none.wait(), 2);
  EXPECT_THAT(none.errors(), HasSubstr("none.cotf"));
  DemoProcess neither(directory_.path(), {"serve"});
  EXPECT_EQ(neither.wait(), 2);
  EXPECT_THAT(neither.errors(), HasSubstr("MODEL or --job"));
  DemoProcess steps(directory_.path(), {"serve", "digits.cotf", "--steps", "none.json"});
  EXPECT_EQ(steps.wait(), 2);
  EXPECT_THAT(steps.errors(), HasSubstr("none.json"));
}

}  // namespace
}  // namespace coterie::integration
