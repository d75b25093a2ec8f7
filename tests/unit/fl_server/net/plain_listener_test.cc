// A listener without TLS: on loopback alone, and otherwise as any.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include "tests/unit/fl_server/net/http_world.h"

namespace coterie {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PlainListener : public test::HttpWorld {
 protected:
  void start_plain(const HttpLimits& limits = {}) {
    service_ = std::make_unique<test::BodyReader>(1 << 20);
    const auto port = http_.listen({"plain", "127.0.0.1", 0, limits}, nullptr, *service_);
    ASSERT_OK(port);
    port_ = *port;
    http_.start();
  }
  static void send(const chaos::Socket& socket, std::string_view text) {
    ASSERT_EQ(::send(socket.fd(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Everything until the server closes.
  static std::string read_to_end(const chaos::Socket& socket) {
    std::string all;
    char piece[4096];
    for (ssize_t count = 0; (count = ::recv(socket.fd(), piece, sizeof(piece), 0)) > 0;)
      all.append(piece, static_cast<size_t>(count));
    return all;
  }
};

TEST_F(PlainListener, AnswersInTheClear) {
  start_plain();
  const chaos::Socket socket = silent();
  send(socket, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  send(socket, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nab");
  send(socket, "cde");
  const std::string answers = read_to_end(socket);
  EXPECT_THAT(answers, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(answers, HasSubstr("\r\n\r\n3HTTP/1.1 200 OK"));
  EXPECT_THAT(answers, EndsWith("\r\n\r\n5"));
}

TEST_F(PlainListener, ReadsALargeBodyWhole) {
  start_plain();
  const chaos::Socket socket = silent();
  send(socket, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n" +
                   std::string(1'000'000, 'x'));
  EXPECT_THAT(read_to_end(socket), EndsWith("\r\n\r\n1000000"));
}

TEST_F(PlainListener, ClosesWhoSendsNothingInTime) {
  start_plain({.head_max = Millis(1), .stranger_idle_max = Millis(1)});
  const chaos::Socket socket = silent();
  send(socket, "G");
  EXPECT_EQ(read_to_end(socket), "");
}

TEST_F(PlainListener, IsForLoopbackAlone) {
  test::BodyReader service(1);
  for (const char* const address : {"0.0.0.0", "::", "192.0.2.1"}) {
    const auto port = http_.listen({"plain", address, 0, {}}, nullptr, service);
    ASSERT_FALSE(port) << address;
    EXPECT_EQ(port.error().code(), ErrorCode::invalid_argument);
    EXPECT_THAT(port.error().message(), HasSubstr("without TLS"));
  }
  http_.start();
}

}  // namespace
}  // namespace coterie
