// coterie serve as its user has it: a file that is written anew, a mistake in it, a stop under load.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

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

  std::unique_ptr<RawHttp> connect(const DemoProcess& serve) const {
    return std::make_unique<RawHttp>(url_of(serve), text_of("state/ca.pem"));
  }
  // The answer's body; none: the connection has ended.
  std::optional<std::string> ask(RawHttp& client, const std::string& method, const std::string& path,
                                 const std::string& body = {}) const {
    std::string token = text_of("state/token");
    token.resize(std::min(token.size(), token.find('\n')));
    const Status sent = client.send(method + " " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token +
                                    "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    const auto answer = sent ? client.read_answer(kPatience) : Result<std::string>(sent.error());
    if (!answer || answer->empty()) return {};
    return answer->substr(answer->find("\r\n\r\n") + 4);
  }
  std::optional<std::string> infer(RawHttp& client, const std::string& model) const {
    std::string zeros = "0";
    for (int i = 1; i < 64; ++i) zeros += ",0";
    return ask(client, "POST", "/v2/models/" + model + "/infer",
               R"({"inputs":[{"name":"input","shape":[1,8,8,1],"datatype":"FP32","data":[)" + zeros + "]}]}");
  }
  nlohmann::json ask(const DemoProcess& serve, const std::string& model) const {
    const auto answer = infer(*connect(serve), model);
    EXPECT_TRUE(answer);
    return answer ? nlohmann::json::parse(*answer, nullptr, false) : nlohmann::json();
  }
  // 0: the text has no such words.
  static int number_behind(const std::string& text, const std::string& words) {
    const size_t at = text.find(words);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + words.size()));
  }
  static int connections_of(const std::string& process, const std::string& metrics) {
    return number_behind(metrics, "coterie_http_connections{process=\"" + process + "\",plane=\"serving\"} ");
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
  ASSERT_TRUE(serve.wait_for("coterie serve: digits: what came is no model file; `coterie model convert`"))
      << serve.errors();
  EXPECT_EQ(ask(serve, "digits"), first) << "a file that is no model changes nothing";

  write(2);
  ASSERT_TRUE(serve.wait_for("serving digits version 3")) << serve.errors();
  const nlohmann::json next = ask(serve, "digits");
  EXPECT_EQ(next["model_version"], "3");
  EXPECT_NE(next["parameters"], first["parameters"]);
  serve.signal(SIGTERM);
  EXPECT_EQ(serve.wait(), 130) << serve.errors();
}

// Whatever happens to one process is the affair of its own connections.
TEST_F(Serve, AProcessThatIsKilledTakesNoOtherAlong) {
  DemoProcess serve(directory_.path(), {"serve", "digits.cotf", "--port", "0", "--state-dir", "state", "--workers", "1",
                                        "--processes", "2"});
  ASSERT_TRUE(serve.wait_for("/v2/models/digits")) << serve.errors();
  for (const std::string process : {"1", "2"})
    ASSERT_TRUE(serve.wait_for("process " + process + " serves, pid ")) << serve.errors();
  write(2);
  ASSERT_TRUE(serve.wait_for("serving digits version 2")) << serve.errors();
  std::vector<std::unique_ptr<RawHttp>> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(connect(serve));
  const auto right = infer(*clients[0], "digits");
  ASSERT_TRUE(right);
  EXPECT_THAT(*right, HasSubstr(R"("model_version":"2")"));
  for (const auto& client : clients) EXPECT_EQ(infer(*client, "digits"), right) << "each process has it";
  // A process says what it did once in a while, and which of them has a connection is the kernel's choice.
  const auto tells_of_both =
      testing::AllOf(HasSubstr("coterie_serving_processes 2\n"), HasSubstr("coterie_serving_models{process=\"1\"} 1\n"),
                     HasSubstr("coterie_serving_models{process=\"2\"} 1\n"));
  std::optional<std::string> metrics;
  do {
    metrics = ask(*clients[0], "GET", "/metrics");
    ASSERT_TRUE(metrics);
  } while (!testing::Matches(tells_of_both)(*metrics) ||
           connections_of("1", *metrics) + connections_of("2", *metrics) < static_cast<int>(clients.size()));
  const int of_second = connections_of("2", *metrics);

  // Those of the second process live through the end of the first, and end with it. No answer is wrong.
  std::atomic<bool> is_over{false};
  std::atomic<int> answers{0};
  std::vector<std::thread> threads;
  std::array<std::atomic<bool>, 6> lives{};
  for (size_t i = 0; i < clients.size(); ++i) {
    lives[i] = true;
    threads.emplace_back([&, i] {
      while (!is_over && lives[i]) {
        const auto answer = infer(*clients[i], "digits");
        lives[i] = answer.has_value();
        if (answer) EXPECT_EQ(answer, right);
        ++answers;
      }
    });
  }
  ::kill(number_behind(serve.errors(), "process 1 serves, pid "), SIGKILL);
  EXPECT_TRUE(serve.wait_for("process 1 serves again, pid ")) << serve.errors();
  EXPECT_THAT(serve.errors(), HasSubstr("was killed by signal 9; another takes its place in 100 ms"));
  const int before = answers;
  for (int i = 0; i < 4; ++i) {
    const auto client = connect(serve);
    EXPECT_EQ(infer(*client, "digits"), right) << "who comes later has the same number for the version";
  }
  const auto alive = [&lives] {
    return static_cast<int>(std::ranges::count_if(lives, [](const auto& one) { return one.load(); }));
  };
  while (alive() > of_second || (alive() > 0 && answers < before + 20)) std::this_thread::yield();
  EXPECT_EQ(alive(), of_second);
  ::kill(number_behind(serve.errors(), "process 2 serves, pid "), SIGKILL);
  EXPECT_TRUE(serve.wait_for("process 2 serves again, pid ")) << serve.errors();
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ask(serve, "digits"), nlohmann::json::parse(*right));
  serve.signal(SIGTERM);
  EXPECT_EQ(serve.wait(), 130) << serve.errors();
  EXPECT_THAT(serve.errors(), testing::Not(HasSubstr("is killed")));
}

TEST_F(Serve, AProcessThatHangsIsKilledAndAnotherTakesItsPlace) {
  DemoProcess serve(directory_.path(), {"serve", "digits.cotf", "--port", "0", "--state-dir", "state", "--workers", "1",
                                        "--processes", "2", "--hung-after-s", "5"});
  for (const std::string process : {"1", "2"})
    ASSERT_TRUE(serve.wait_for("process " + process + " serves, pid ")) << serve.errors();
  const std::string pid = std::to_string(number_behind(serve.errors(), "process 2 serves, pid "));
  ::kill(std::stoi(pid), SIGSTOP);
  EXPECT_TRUE(serve.wait_for("process 2, pid " + pid + ", shows no life for 5 s: it is killed")) << serve.errors();
  EXPECT_TRUE(serve.wait_for("process 2 serves again, pid ")) << serve.errors();
  EXPECT_EQ(ask(serve, "digits")["model_version"], "1");
  serve.signal(SIGTERM);
  EXPECT_EQ(serve.wait(), 130) << serve.errors();
}

TEST_F(Serve, ProcessesEndWithTheirMasterAndTheFirstSaysWhatIsWrong) {
  DemoProcess serve(directory_.path(),
                    {"serve", "digits.cotf", "--port", "0", "--insecure-loopback", "--processes", "2"});
  ASSERT_TRUE(serve.wait_for("process 2 serves, pid ")) << serve.errors();
  serve.signal(SIGKILL);
  EXPECT_EQ(serve.wait(), 128 + SIGKILL) << "behind the last that has its standard error";
  ASSERT_OK(os::write_file_atomically(directory_ / "digits.cotf", as_bytes("no model")));
  DemoProcess broken(directory_.path(),
                     {"serve", "digits.cotf", "--port", "0", "--insecure-loopback", "--processes", "2"});
  EXPECT_EQ(broken.wait(), 2);
  EXPECT_THAT(broken.errors(), testing::AllOf(HasSubstr("coterie serve: "), testing::Not(HasSubstr("process"))));
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
