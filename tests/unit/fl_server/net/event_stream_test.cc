// A stream of events on a connection: how often its source is asked, and what becomes of a reader that takes nothing.
#include <gtest/gtest.h>

#include "fl_server/net/event_pace.h"
#include "tests/unit/fl_server/net/http_world.h"

namespace coterie {
namespace {

// Says `piece` each time; counts how often it was asked.
class Teller final : public EventSource {
 public:
  struct Seen {
    bool has_more = true;
    std::atomic<uint64_t> looks{0};
    std::atomic<bool> is_ready{false}, is_gone{false};
    std::function<void()> wake;  // while it is_ready and not is_gone
  };
  Teller(std::string piece, std::shared_ptr<Seen> seen) : piece_(std::move(piece)), seen_(std::move(seen)) {}
  ~Teller() override {
    seen_->wake = nullptr;
    seen_->is_gone = true;
  }

  std::optional<std::string> next() override {
    ++seen_->looks;
    return piece_;
  }
  bool has_more() const override { return seen_->has_more; }
  void when_ready(std::function<void()> wake) override {
    seen_->wake = std::move(wake);
    seen_->is_ready = true;
  }

 private:
  const std::string piece_;
  const std::shared_ptr<Seen> seen_;
};

// Tells at "/", and at "/other" another stream.
class TellerService final : public HttpService {
 public:
  TellerService(std::string piece, std::shared_ptr<Teller::Seen> seen, std::shared_ptr<Teller::Seen> other)
      : piece_(std::move(piece)), seen_(std::move(seen)), other_(std::move(other)) {}
  Awaitable<RoutedResponse> handle(Exchange& exchange) override {
    HttpResponse response;
    response.content_type = "text/event-stream";
    response.events = std::make_shared<Teller>(piece_, exchange.head().path == "/" ? seen_ : other_);
    co_return RoutedResponse{"test", std::move(response)};
  }
  HttpResponse refuse(const Error&, int) override { return {}; }

 private:
  const std::string piece_;
  const std::shared_ptr<Teller::Seen> seen_, other_;
};

class EventStream : public test::HttpWorld {
 protected:
  integration::RawHttp open(const std::string& piece, const HttpLimits& limits = {}) {
    start(limits, std::make_unique<TellerService>(piece, seen_, other_));
    return reader_of("/", *seen_);
  }
  integration::RawHttp reader_of(const std::string& path, const Teller::Seen& seen) {
    integration::RawHttp reader = client();
    EXPECT_OK(reader.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_TRUE(comes_true([&] { return seen.is_ready && seen.looks > 0; }));
    return reader;
  }
  const std::shared_ptr<Teller::Seen> seen_ = std::make_shared<Teller::Seen>(),
                                      other_ = std::make_shared<Teller::Seen>();
};

TEST_F(EventStream, IsCutOffWhenItsReaderTakesNothingAndKeepsLittleForIt) {
  HttpLimits limits;
  limits.answer_max = Millis(200);
  constexpr uint64_t kPieceBytes = 1 << 20, kKernelBytesMax = 64 << 20;
  const auto reader = open(std::string(kPieceBytes, 'x'), limits);
  EXPECT_TRUE(comes_true([&] { return seen_->is_gone.load(); }));
  EXPECT_LT(seen_->looks * kPieceBytes, kKernelBytesMax) << "a piece is asked for when the one before was taken";
}

// The other stream is the clock: it is asked at the same pace.
TEST_F(EventStream, IsAskedAgainWhileItHasMoreOrWhenItIsWokenAndNotBefore) {
  seen_->has_more = false;
  const auto reader = open("id: 1\n\n"), clock = reader_of("/other", *other_);
  EXPECT_TRUE(comes_true([&] { return other_->looks > 10; }));
  EXPECT_EQ(seen_->looks, 1u);
  seen_->wake();
  EXPECT_TRUE(comes_true([&] { return seen_->looks > 1; }));
}

TEST_F(EventStream, EndsWithItsReader) {
  seen_->has_more = false;
  { const auto reader = open("id: 1\n\n"); }
  EXPECT_TRUE(comes_true([&] { return seen_->is_gone.load(); }));
}

TEST_F(EventStream, IsAskedNoMoreWhenItHadToMakeRoom) {
  HttpLimits limits;
  limits.connections_max = 1;
  limits.stranger_grace = Millis(0);
  limits.trusted_addresses = {};
  seen_->has_more = false;
  const auto reader = open("id: 1\n\n", limits);
  const auto stranger = silent();
  EXPECT_TRUE(comes_true([&] { return seen_->is_gone.load(); }));
  EXPECT_EQ(seen_->looks, 1u);
}

TEST(EventsRest, BoundsTheLooksOfAllStreamsTogether) {
  EXPECT_EQ(events_rest(1), kEventsRest);
  EXPECT_EQ(events_rest(kLooksAtOnce), kEventsRest);
  EXPECT_EQ(events_rest(200), Millis(500));
  for (uint32_t streams = 1; streams < 800; ++streams) {
    // Rests are whole milliseconds, rounded down.
    ASSERT_LE(streams * 1000.0 / static_cast<double>(events_rest(streams).count()), kLooksPerSecondMax * 1.02)
        << streams;
    ASSERT_LE(events_rest(streams), events_rest(streams + 1));
  }
  EXPECT_EQ(events_rest(10'000), kEventsRestMax) << "and no reader's end is heard later";
}

TEST(HeartbeatDue, IsTheSameForStreamsThatWroteWithinASecond) {
  const Instant on_the_grid{Millis(1'000'000)};
  EXPECT_EQ(heartbeat_due(on_the_grid), on_the_grid + kHeartbeatEvery);
  EXPECT_EQ(heartbeat_due(on_the_grid + Millis(1)), heartbeat_due(on_the_grid + kHeartbeatGrid));
  for (const int late : {0, 1, 500, 999}) {
    EXPECT_GE(heartbeat_due(on_the_grid + Millis(late)), on_the_grid + Millis(late) + kHeartbeatEvery);
  }
}

}  // namespace
}  // namespace coterie
