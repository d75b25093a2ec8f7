// The fault proxy itself: what it promises of each fault, on plain sockets.
#include "tests/chaos/fault_proxy.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

#include "base/os/clock.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::chaos {
namespace {

using enum Direction;

constexpr Millis kPatience{20'000};

// Both ends of connections through a proxy; TCP or files.
class Proxy : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Endpoint listen, server;
    if (GetParam()) {
      listen.path = directory_ / "proxy";
      server.path = directory_ / "server";
    }
    auto door = listen_at(server);
    ASSERT_OK(door);
    door_ = std::move(*door);
    auto proxy = FaultProxy::start(listen, server);
    ASSERT_OK(proxy);
    proxy_ = std::move(*proxy);
  }
  static Socket with_patience(Socket socket) {
    const timeval patience{.tv_sec = kPatience.count() / 1000, .tv_usec = 0};
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return socket;
  }
  void connect() {
    auto client = connect_to(proxy_->endpoint());
    ASSERT_OK(client);
    client_ = with_patience(std::move(*client));
    pollfd arrival{.fd = door_.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&arrival, 1, static_cast<int>(kPatience.count())), 1);
    server_ = with_patience(Socket(::accept(door_.fd(), nullptr, nullptr)));
    ASSERT_TRUE(server_.is_open());
  }
  static void say(const Socket& socket, std::string_view text) {
    EXPECT_EQ(::send(socket.fd(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Exactly so many bytes, fewer at the stream's end; then "!" in place of those that a reset kept away.
  static std::string hear(const Socket& socket, size_t size) {
    std::string heard(size, '\0');
    size_t at = 0;
    while (at < size) {
      const ssize_t count = ::recv(socket.fd(), heard.data() + at, size - at, 0);
      if (count <= 0) return heard.substr(0, at) + (count < 0 ? errno == ECONNRESET ? "!" : "?" : "");
      at += static_cast<size_t>(count);
    }
    return heard;
  }
  static bool hears_nothing(const Socket& socket) {
    char byte;
    return ::recv(socket.fd(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }
  // Files have no resets: their readers see the end.
  std::string reset_mark() const { return GetParam() ? "" : "!"; }

  test::TemporaryDirectory directory_{test::memory_disk()};
  Socket door_, client_, server_;
  std::unique_ptr<FaultProxy> proxy_;
};
INSTANTIATE_TEST_SUITE_P(, Proxy, testing::Bool(), [](const auto& info) { return info.param ? "Files" : "Tcp"; });

TEST_P(Proxy, PassesBothDirectionsAndTheirEnds) {
  connect();
  say(client_, "question");
  EXPECT_EQ(hear(server_, 8), "question");
  ::shutdown(client_.fd(), SHUT_WR);
  EXPECT_EQ(hear(server_, 1), "");
  say(server_, "answer");
  server_.close();
  EXPECT_EQ(hear(client_, 100), "answer");
  EXPECT_EQ(proxy_->bytes(to_server), 8u);
  EXPECT_EQ(proxy_->bytes(to_client), 6u);
  EXPECT_EQ(proxy_->connections(), 1u);
}

TEST_P(Proxy, PassesMegabytesThatWaitForTheirReader) {
  connect();
  std::string large(3'000'000, 'x');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 23);
  std::thread sender([&] {
    say(server_, large);
    server_.close();
  });
  EXPECT_EQ(hear(client_, large.size()), large);
  sender.join();
}

TEST_P(Proxy, ResetsInFrontOfAnyByte) {
  const std::string text = "abcdef";
  for (uint64_t cut = 0; cut < text.size(); ++cut) {
    connect();
    proxy_->arm({.kind = FaultKind::reset, .direction = to_server, .after_bytes = cut});
    say(client_, text);
    EXPECT_EQ(hear(server_, text.size()), text.substr(0, cut) + reset_mark());
    EXPECT_EQ(hear(client_, 1), reset_mark());
  }
  connect();
  proxy_->arm({.kind = FaultKind::reset, .direction = to_server, .after_bytes = text.size()});
  say(client_, text);
  EXPECT_EQ(hear(server_, text.size()), text);
  EXPECT_FALSE(proxy_->has_struck());
}

TEST_P(Proxy, TruncatesInOrder) {
  connect();
  proxy_->arm({.kind = FaultKind::truncate, .direction = to_client, .after_bytes = 4});
  say(server_, "answer");
  EXPECT_EQ(hear(client_, 6), "answ");
  EXPECT_EQ(hear(server_, 1), "");
  EXPECT_TRUE(proxy_->has_struck());
  connect();
  say(server_, "once");
  EXPECT_EQ(hear(client_, 4), "once") << "a fault strikes once";
}

// Also where it comes in pieces, and where something like it comes first.
TEST_P(Proxy, StrikesInFrontOfAPattern) {
  connect();
  proxy_->arm({.kind = FaultKind::truncate, .direction = to_server, .pattern = "COMMIT", .occurrence = 2});
  say(client_, "COCOMMIT");
  EXPECT_EQ(hear(server_, 8), "COCOMMIT");
  say(client_, "xCOM");
  EXPECT_EQ(hear(server_, 1), "x") << "what may become the pattern is held back";
  say(client_, "COM");
  EXPECT_EQ(hear(server_, 3), "COM");
  EXPECT_FALSE(proxy_->has_struck());
  say(client_, "MITs");
  EXPECT_EQ(hear(server_, 1), "");
  EXPECT_TRUE(proxy_->has_struck());
}

TEST_P(Proxy, LetsGoOfWhatItHeldBack) {
  connect();
  proxy_->arm({.direction = to_server, .pattern = "COMMIT"});
  say(client_, "COM");
  ASSERT_TRUE(proxy_->wait_for_bytes(to_server, 3, kPatience));
  EXPECT_TRUE(hears_nothing(server_));
  proxy_->clear();
  EXPECT_EQ(hear(server_, 3), "COM");
}

TEST_P(Proxy, HalfOpenIsOneDirectionAndNotItsEnd) {
  connect();
  proxy_->arm({.kind = FaultKind::half_open, .direction = to_client, .after_bytes = 2});
  say(server_, "answer");
  EXPECT_EQ(hear(client_, 2), "an");
  say(client_, "are you there?");
  EXPECT_EQ(hear(server_, 14), "are you there?");
  server_.close();
  say(client_, "hello?");
  ASSERT_TRUE(proxy_->wait_for_bytes(to_server, 20, kPatience));
  EXPECT_TRUE(hears_nothing(client_));
}

TEST_P(Proxy, ABlackHoleSwallowsOldAndNewConnectionsUntilItIsCleared) {
  connect();
  proxy_->arm({.kind = FaultKind::blackhole, .direction = to_server, .after_bytes = 1});
  say(client_, "question");
  EXPECT_EQ(hear(server_, 1), "q");
  say(server_, "answer");
  ASSERT_TRUE(proxy_->wait_for_bytes(to_client, 6, kPatience));
  EXPECT_TRUE(hears_nothing(client_));
  auto other = connect_to(proxy_->endpoint());
  ASSERT_OK(other);
  say(*other, "hello?");
  ASSERT_TRUE(proxy_->wait_for_bytes(to_server, 14, kPatience));
  EXPECT_TRUE(hears_nothing(*other));
  proxy_->clear();
  const Socket lost_client = std::move(client_), lost_server = std::move(server_);
  connect();
  say(client_, "back");
  EXPECT_EQ(hear(server_, 4), "back");
  EXPECT_TRUE(hears_nothing(lost_client));
  EXPECT_TRUE(hears_nothing(lost_server));
}

TEST_P(Proxy, AStallKeepsEverythingForLater) {
  connect();
  proxy_->arm({.kind = FaultKind::stall, .direction = to_server, .after_bytes = 4});
  say(client_, "question");
  EXPECT_EQ(hear(server_, 4), "ques");
  ASSERT_TRUE(proxy_->wait_until_struck(kPatience));
  say(server_, "answer");
  server_.close();
  EXPECT_TRUE(hears_nothing(client_));
  proxy_->clear();
  EXPECT_EQ(hear(client_, 7), "answer");
}

TEST_P(Proxy, DelaysAndThrottles) {
  connect();
  const Instant begin = os::monotonic_now();
  proxy_->arm({.kind = FaultKind::delay, .direction = to_server, .delay = Millis(30)});
  say(client_, "late");
  EXPECT_EQ(hear(server_, 4), "late");
  EXPECT_GE(os::monotonic_now() - begin, Millis(30));
  proxy_->clear();
  const Instant slow = os::monotonic_now();
  proxy_->arm({.kind = FaultKind::bandwidth, .direction = to_client, .bytes_per_second = 1'000});
  say(server_, std::string(60, 'x'));
  EXPECT_EQ(hear(client_, 60), std::string(60, 'x'));
  EXPECT_GE(os::monotonic_now() - slow, Millis(60));
}

TEST_P(Proxy, RefusesUntilToldOtherwise) {
  connect();
  proxy_->refuse(true);
  const auto refused = connect_to(proxy_->endpoint());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), testing::HasSubstr(GetParam() ? "No such file" : "Connection refused"));
  say(client_, "still here");
  EXPECT_EQ(hear(server_, 10), "still here");
  proxy_->refuse(false);
  connect();
  say(client_, "again");
  EXPECT_EQ(hear(server_, 5), "again");
}

TEST_P(Proxy, ResetsEverythingAtOnce) {
  connect();
  proxy_->reset_all();
  EXPECT_EQ(hear(client_, 1), reset_mark());
  EXPECT_EQ(hear(server_, 1), reset_mark());
}

TEST_P(Proxy, ResetsClientsOfAServerThatIsNotThere) {
  door_.close();
  if (GetParam()) std::filesystem::remove(directory_ / "server");
  auto client = connect_to(proxy_->endpoint());
  ASSERT_OK(client);
  EXPECT_EQ(hear(with_patience(std::move(*client)), 1), reset_mark());
}

}  // namespace
}  // namespace coterie::chaos
