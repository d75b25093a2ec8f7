// What the stream of a tenant's jobs says, piece by piece, without a server.
#include "fl_server/events/tenant_event_stream.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const JobId kOurs("j1"), kTheirs("j2"), kNobodys("j3");
const std::string kEpoch = "00000000000000aa";

class TenantStream : public ::testing::Test {
 protected:
  TenantStream() {
    hub_.belongs_to(kOurs, "acme");
    hub_.belongs_to(kTheirs, "other");
  }
  TenantEventStream open(std::optional<EventId> read = {}, const std::string& tenant = "acme") {
    return TenantEventStream(hub_, {.of = OfTenant{tenant}, .read = std::move(read)});
  }
  void add(const JobId& job, size_t count = 1) {
    for (size_t i = 0; i < count; ++i) hub_.add(job, event::JobFailed{job.value()});
  }
  static std::string id(uint64_t seq) { return "id: " + kEpoch + "-" + std::to_string(seq) + "\n"; }
  static size_t count(const std::string& text, std::string_view what) {
    size_t found = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
    return found;
  }

  EventHub hub_{kEpoch};
};

TEST_F(TenantStream, BeginsWithAnIdAndNothingThatIsPast) {
  add(kOurs, 3);
  TenantEventStream stream = open();
  EXPECT_EQ(*stream.next(), id(3) + "event: begin\ndata: {}\n\n");
  EXPECT_EQ(*stream.next(), "");
  add(kOurs);
  EXPECT_THAT(*stream.next(), StartsWith(id(4) + "event: job_failed\n"));
  EXPECT_EQ(*stream.next(), "");
}

TEST_F(TenantStream, TellsOfNoOtherTenantAndOfNoJobThatNobodyHasNamedTheTenantOf) {
  TenantEventStream stream = open(EventId{kEpoch, 0}), all = open(EventId{kEpoch, 0}, "*");
  add(kTheirs);
  add(kNobodys);
  hub_.add(event::NodesChanged{3});
  add(kOurs);
  const std::string told = *stream.next();
  EXPECT_THAT(told, StartsWith(id(4) + "event: job_failed\n"));
  EXPECT_EQ(count(told, "event: "), 1u) << told;
  EXPECT_THAT(told, HasSubstr("\"job\":\"j1\""));
  EXPECT_THAT(told, Not(HasSubstr("tenant")));
  EXPECT_EQ(count(*all.next(), "event: "), 4u) << "who sees every tenant hears of the server, too";
}

TEST_F(TenantStream, TellsOfAJobAsItsTenantWasWhenItHappened) {
  TenantEventStream stream = open(EventId{kEpoch, 0});
  add(kNobodys);
  hub_.belongs_to(kNobodys, "acme");
  EXPECT_EQ(*stream.next(), "") << "nobody had said it";
  add(kNobodys);
  EXPECT_THAT(*stream.next(), StartsWith(id(2)));
}

TEST_F(TenantStream, GoesOnBehindTheLastEventIdWithoutAGap) {
  for (size_t i = 0; i < 250; ++i) {
    add(kOurs);
    add(kTheirs);
  }
  size_t told = 0;
  EventId read{kEpoch, 0};
  // Each piece to a reader of its own: nothing is kept of the one before.
  for (;;) {
    TenantEventStream stream = open(read);
    const std::string piece = *stream.next();
    if (piece.empty()) break;
    told += count(piece, "event: job_failed\n");
    const size_t last = piece.rfind("id: ") + 4;
    const Result<EventId> id = EventId::parse(std::string_view(piece).substr(last, piece.find('\n', last) - last));
    ASSERT_TRUE(id);
    EXPECT_GT(id->seq, read.seq);
    read = *id;
  }
  EXPECT_EQ(told, 250u);
}

TEST_F(TenantStream, SaysThatEventsWereMissedBehindTheLogAndOfAnotherLife) {
  add(kOurs, kEventsMax + 2);
  TenantEventStream late = open(EventId{kEpoch, 1});
  EXPECT_EQ(*late.next(), id(kEventsMax + 2) + "event: events_missed\ndata: {}\n\n");
  EXPECT_EQ(*late.next(), "");
  TenantEventStream other = open(EventId{"00000000000000bb", 7});
  EXPECT_EQ(*other.next(), id(kEventsMax + 2) + "event: events_missed\ndata: {}\n\n");
  add(kOurs);
  EXPECT_THAT(*other.next(), StartsWith(id(kEventsMax + 3) + "event: job_failed\n"));
}

// Otherwise a reader that is told nothing for long would come back with an id that the log has no more.
TEST_F(TenantStream, TellsAnIdNowAndThenWhileOnlyOthersHaveEvents) {
  TenantEventStream stream = open();
  (void)stream.next();
  add(kTheirs, TenantEventStream::kPassedOverMax - 1);
  EXPECT_EQ(*stream.next(), "");
  add(kTheirs);
  EXPECT_EQ(*stream.next(), id(TenantEventStream::kPassedOverMax) + "\n") << "no event";
  EXPECT_EQ(*stream.next(), "");
  add(kTheirs, TenantEventStream::kPassedOverMax - 1);
  add(kOurs);
  EXPECT_THAT(*stream.next(), HasSubstr("event: job_failed\n"));
  add(kTheirs, TenantEventStream::kPassedOverMax - 1);
  EXPECT_EQ(*stream.next(), "") << "counted from what was told last";
}

TEST_F(TenantStream, IsWokenByWhatHappens) {
  TenantEventStream stream = open();
  int woken = 0;
  stream.when_ready([&] { ++woken; });
  add(kOurs);
  EXPECT_EQ(woken, 1);
}

TEST_F(TenantStream, HasMoreUntilAllIsTold) {
  add(kOurs, EventPieces::kEventsPerPiece + 1);
  TenantEventStream stream = open(EventId{kEpoch, 0});
  EXPECT_EQ(count(*stream.next(), "event: "), EventPieces::kEventsPerPiece);
  EXPECT_TRUE(stream.has_more());
  EXPECT_EQ(count(*stream.next(), "event: "), 1u);
  EXPECT_FALSE(stream.has_more());
}

}  // namespace
}  // namespace coterie
