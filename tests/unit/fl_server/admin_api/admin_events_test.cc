// Server-sent events over a real connection: they come, they end with the job, the client and the server.
#include <gmock/gmock.h>

#include "base/os/clock.h"
#include "device_sdk/transport/tls_socket.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;
using testing::HasSubstr;
using testing::Not;

constexpr Millis kPatience{30'000};

class AdminEvents : public test::AdminServerTest {
 protected:
  // A connection on which `method` of the job's events was asked for.
  std::unique_ptr<TlsSocket> open(const std::string& job, const std::string& method = "GET") {
    const auto trust = TlsTrust::make(read(server_->ca_file()));
    EXPECT_OK(trust);
    const std::string url = server_->admin_url();
    const auto port = static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    auto socket = TlsSocket::connect("127.0.0.1", port, *trust, kPatience, nullptr);
    EXPECT_OK(socket);
    const std::string request = method + " /admin/v1/jobs/" + job +
                                "/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token_ + "\r\n\r\n";
    EXPECT_OK((*socket)->write_all(as_bytes(request), kPatience));
    return std::move(*socket);
  }
  // What comes until `text` has come, or the stream has ended.
  static std::string read_until(TlsSocket& socket, std::string_view text) {
    std::string all;
    std::array<uint8_t, 4096> piece;
    while (text.empty() || all.find(text) == std::string::npos) {
      const Result<size_t> count = socket.read_some(piece, kPatience);
      if (!count || *count == 0) break;
      all.append(as_text(ByteView(piece).first(*count)));
    }
    return all;
  }
  static std::string read_to_the_end(TlsSocket& socket) { return read_until(socket, {}); }
};

TEST_F(AdminEvents, TellHowRoundsGoUntilTheJobIsOver) {
  const std::string job = create_job({{"name", "n"}});
  const auto stream = open(job);
  const std::string begin = read_until(*stream, "\"round\"");
  EXPECT_THAT(begin, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(begin, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(begin, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(begin, Not(HasSubstr("Content-Length")));
  const size_t data = begin.find("event: round\ndata: {");
  ASSERT_NE(data, std::string::npos) << begin;
  EXPECT_THAT(begin, HasSubstr("\"job\":\"" + job + "\""));
  EXPECT_THAT(begin, HasSubstr("\"waiting\":0"));
  ASSERT_EQ(ask("POST", "/admin/v1/jobs/" + job + ":cancel").status, 200);
  EXPECT_THAT(read_to_the_end(*stream), HasSubstr("event: over\ndata: {\"job\":\"" + job + "\"}\n\n"));
}

TEST_F(AdminEvents, AreForAJobThatExistsAndTakeNoQuery) {
  EXPECT_EQ(ask("GET", "/admin/v1/jobs/none/events").status, 404);
  const std::string job = create_job({{"name", "n"}});
  EXPECT_EQ(ask("GET", "/admin/v1/jobs/" + job + "/events?x=1").status, 400);
  const std::string head = read_to_the_end(*open(job, "HEAD"));
  EXPECT_THAT(head, HasSubstr("text/event-stream"));
  EXPECT_THAT(head, Not(HasSubstr("event:")));
}

TEST_F(AdminEvents, HaveSoManyPlacesAndGiveThemBack) {
  constexpr size_t kPlaces = 16;
  const std::string job = create_job({{"name", "n"}});
  std::vector<std::unique_ptr<TlsSocket>> streams;
  for (size_t i = 0; i < kPlaces; ++i) {
    streams.push_back(open(job));
    EXPECT_THAT(read_until(*streams.back(), "event:"), HasSubstr("200 OK"));
  }
  const Answer refused = ask("GET", "/admin/v1/jobs/" + job + "/events");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("16 streams"));
  streams.clear();
  // Their ends are noticed at the next look.
  const Instant until = os::monotonic_now() + kPatience;
  std::string answer;
  while (answer.find("200 OK") == std::string::npos && os::monotonic_now() < until)
    answer = read_until(*open(job), "\r\n");
  EXPECT_THAT(answer, HasSubstr("200 OK"));
}

TEST_F(AdminEvents, EndWhenTheServerDrains) {
  const auto stream = open(create_job({{"name", "n"}}));
  EXPECT_THAT(read_until(*stream, "event:"), HasSubstr("200 OK"));
  server_->stop();
  std::array<uint8_t, 4096> piece;
  Result<size_t> count = stream->read_some(piece, kPatience);
  while (count && *count > 0) count = stream->read_some(piece, kPatience);
  EXPECT_OK(count) << "an end, not a break";
}

}  // namespace
}  // namespace coterie
