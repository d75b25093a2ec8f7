// A stream of events on a connection: how often its source is asked, and what becomes of a reader that takes nothing.
#include <gtest/gtest.h>

#include "fl_server/net/event_pace.h"
#include "tests/unit/fl_server/net/http_world.h"

namespace coterie {
namespace {

// Says `piece` each time, or nothing if it is empty; counts how often it was asked.
class Teller final : public EventSource {
 public:
  struct Seen {
    std::atomic<uint64_t> looks{0};
    std::atomic<bool> is_ready{false}, is_gone{false};
  };
  Teller(std::string piece, std::shared_ptr<Seen> seen) : piece_(std::move(piece)), seen_(std::move(seen)) {}
  ~Teller() override { seen_->is_gone = true; }

  std::optional<std::string> next() override {
    ++seen_->looks;
    return piece_;
  }
  void when_ready(std::function<void()>) override { seen_->is_ready = true; }

 private:
  const std::string piece_;
  const std::shared_ptr<Seen> seen_;
};

class TellerService final : public HttpService {
 public:
  TellerService(std::string piece, std::shared_ptr<Teller::Seen> seen)
      : piece_(std::move(piece)), seen_(std::move(seen)) {}
  Awaitable<RoutedResponse> handle(Exchange&) override {
    HttpResponse response;
    response.content_type = "text/event-stream";
    response.events = std::make_shared<Teller>(piece_, seen_);
    co_return RoutedResponse{"test", std::move(response)};
  }
  HttpResponse refuse(const Error&, int) override { return {}; }

 private:
  const std::string piece_;
  const std::shared_ptr<Teller::Seen> seen_;
};

class EventStream : public test::HttpWorld {
 protected:
  integration::RawHttp open(const std::string& piece, const HttpLimits& limits = {}) {
    start(limits, std::make_unique<TellerService>(piece, seen_));
    integration::RawHttp reader = client();
    EXPECT_OK(reader.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_TRUE(comes_true([&] { return seen_->is_ready && seen_->looks > 0; }));
    return reader;
  }
  const std::shared_ptr<Teller::Seen> seen_ = std::make_shared<Teller::Seen>();
};

TEST_F(EventStream, IsCutOffWhenItsReaderTakesNothingAndKeepsLittleForIt) {
  HttpLimits limits;
  limits.answer_max = Millis(200);
  constexpr uint64_t kPieceBytes = 1 << 20, kKernelBytesMax = 64 << 20;
  const auto reader = open(std::string(kPieceBytes, 'x'), limits);
  EXPECT_TRUE(comes_true([&] { return seen_->is_gone.load(); }));
  EXPECT_LT(seen_->looks * kPieceBytes, kKernelBytesMax) << "a piece is asked for when the one before was taken";
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
