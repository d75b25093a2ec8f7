// EventLooks: which streams of a thread go on, and when. The test is the thread: it says what time it is.
#include "fl_server/net/event_looks.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <thread>

namespace coterie {
namespace {

constexpr Millis kRest{50};

class EventLooksTest : public ::testing::Test {
 protected:
  struct Reader {
    std::shared_ptr<EventMark> mark;
    int looks = 0;
    std::function<void()> at_look = [] {};
  };

  // A stream that looks when it begins, and again as often as it is let.
  Reader& open() {
    Reader& reader = *readers_.emplace_back(std::make_unique<Reader>(Reader{.mark = looks_.make_mark()}));
    asio::co_spawn(context_, go_on_for_ever(looks_, reader), asio::detached);
    context_.poll();
    return reader;
  }
  // What the thread does at `ms`.
  void look(int64_t ms) {
    looks_.look(Instant(Millis(ms)), kRest);
    context_.restart();
    context_.poll();
  }

  std::vector<std::unique_ptr<Reader>> readers_;
  asio::io_context context_{1};
  EventLooks looks_{context_};

 private:
  static Awaitable<void> go_on_for_ever(EventLooks& looks, Reader& reader) {
    for (;;) {
      reader.mark->clear();
      ++reader.looks;
      reader.at_look();
      co_await looks.wait(*reader.mark);
    }
  }
};

TEST_F(EventLooksTest, LetThoseGoOnThatAreMarkedAndNobodyElse) {
  Reader &marked = open(), &quiet = open();
  look(0);
  EXPECT_EQ(marked.looks, 1);
  marked.mark->set();
  marked.mark->set();
  look(20);
  EXPECT_EQ(marked.looks, 2);
  EXPECT_EQ(quiet.looks, 1);
  look(20 + kRest.count());
  EXPECT_EQ(marked.looks, 2) << "it was marked before it looked last";
}

TEST_F(EventLooksTest, RestTogether) {
  Reader &first = open(), &second = open();
  first.mark->set();
  look(0);
  first.mark->set();
  second.mark->set();
  look(kRest.count() - 1);
  EXPECT_EQ(first.looks + second.looks, 3);
  look(kRest.count());
  EXPECT_EQ(first.looks, 3);
  EXPECT_EQ(second.looks, 2);
}

TEST_F(EventLooksTest, RestBehindNoLookThatLetNobodyGoOn) {
  Reader& reader = open();
  look(0);
  reader.mark->set();
  look(1);
  EXPECT_EQ(reader.looks, 2);
}

TEST_F(EventLooksTest, LoseNoMarkThatIsSetWhileItsStreamLooks) {
  Reader& reader = open();
  reader.at_look = [&reader] {
    if (reader.looks == 2) reader.mark->set();
  };
  reader.mark->set();
  look(0);
  EXPECT_EQ(reader.looks, 2);
  look(kRest.count());
  EXPECT_EQ(reader.looks, 3);
}

// As one whose reader takes nothing: it waits for its socket, and the others are let go on meanwhile.
TEST_F(EventLooksTest, LoseNoMarkOfAStreamThatDoesNotWaitYet) {
  Reader& reader = open();
  const auto late = looks_.make_mark();
  late->set();
  look(0);
  const auto wait = [](EventLooks& looks, EventMark& mark, bool& has_looked) -> Awaitable<void> {
    co_await looks.wait(mark);
    has_looked = true;
  };
  bool has_looked = false;
  asio::co_spawn(context_, wait(looks_, *late, has_looked), asio::detached);
  look(0);
  EXPECT_FALSE(has_looked) << "it waits from here on";
  look(0);
  EXPECT_TRUE(has_looked);
  EXPECT_EQ(reader.looks, 1);
}

TEST_F(EventLooksTest, LetOthersHaveTheThreadBetweenTwoHandfuls) {
  for (size_t i = 0; i < 2 * EventLooks::kStreamsAtOnce + 1; ++i) open().mark->set();
  std::vector<size_t> seen;  // streams that had looked when somebody else had the thread
  const auto looked = [&] {
    return static_cast<size_t>(std::ranges::count_if(readers_, [](const auto& reader) { return reader->looks == 2; }));
  };
  looks_.look(Instant(Millis(0)), kRest);
  context_.restart();
  while (context_.poll_one() > 0) seen.push_back(looked());
  EXPECT_EQ(seen, (std::vector<size_t>{EventLooks::kStreamsAtOnce, 2 * EventLooks::kStreamsAtOnce, readers_.size()}));
}

TEST_F(EventLooksTest, HaveMarksForAnyThreadAndForWhoeverOutlivesThem) {
  Reader& reader = open();
  std::thread([mark = reader.mark] { mark->set(); }).join();
  look(0);
  EXPECT_EQ(reader.looks, 2);
  std::shared_ptr<EventMark> left;
  {
    asio::io_context context{1};
    left = EventLooks(context).make_mark();
  }
  left->set();
}

}  // namespace
}  // namespace coterie
