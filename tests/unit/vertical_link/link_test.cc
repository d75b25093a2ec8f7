#include "vertical/link/link.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <utility>

#include "tests/support/matchers.h"
#include "tests/unit/vertical_link/socket_pair.h"
#include "vertical/link/link_pulses.h"

namespace coterie::vertical {
namespace {

using test::StreamPair;

// Wants one message, and keeps it.
class Listener : public Stage {
 public:
  std::optional<Message> next() override { return std::nullopt; }
  Status receive(const Message& message) override {
    heard = message;
    return {};
  }
  bool done() const override { return heard.has_value(); }

  std::optional<Message> heard;
};

// What becomes of these bytes where the first frame of a stage is expected.
Status receive(const Bytes& bytes, StageId stage = StageId::matching) {
  StreamPair pair;
  EXPECT_TRUE(pair.right->write_all(bytes));
  pair.right.reset();
  Link link(std::move(pair.left));
  Listener listener;
  return link.run(listener, stage, 1);
}

Bytes frame(const FrameHeader& header, size_t payload) {
  const auto bytes = write_frame_header(header);
  Bytes all(bytes.begin(), bytes.end());
  all.resize(all.size() + payload, 7);
  return all;
}

FrameHeader header(uint32_t length) { return {.stage = StageId::matching, .kind = 3, .length = length, .sequence = 0}; }

TEST(Link, CarriesAMessageAndCountsIt) {
  EXPECT_OK(receive(frame(header(5), 5)));
  EXPECT_OK(receive(frame(header(0), 0)));
  StreamPair pair;
  ASSERT_TRUE(pair.right->write_all(frame(header(5), 5)));
  Link link(std::move(pair.left));
  Listener listener;
  ASSERT_OK(link.run(listener, StageId::matching, 1));
  EXPECT_EQ(listener.heard->peer, 1u);
  EXPECT_EQ(listener.heard->kind, 3);
  EXPECT_EQ(listener.heard->payload, Bytes(5, 7));
  EXPECT_EQ(link.bytes().received, kFrameHeaderBytes + 5);
  EXPECT_EQ(link.bytes().sent, 0u);
}

TEST(Link, RefusesALengthBeforeItReadsOn) {
  const Status status = receive(frame(header(kMessageBytesMax + 1), 0));
  EXPECT_ERROR(status, ErrorCode::malformed, "1048577 bytes");
  EXPECT_EQ(status.error().reason(), "frame_length");
  EXPECT_EQ(receive(frame(header(UINT32_MAX), 0)).error().reason(), "frame_length");
}

TEST(Link, RefusesFramesThatAreNotNext) {
  FrameHeader late = header(0);
  late.sequence = 1;
  EXPECT_EQ(receive(frame(late, 0)).error().reason(), "frame_sequence");
  EXPECT_EQ(receive(frame(header(0), 0), StageId::training).error().reason(), "frame_stage");
  FrameHeader unknown = header(0);
  unknown.stage = static_cast<StageId>(99);
  EXPECT_EQ(receive(frame(unknown, 0)).error().reason(), "frame_stage");
}

TEST(Link, TellsAFrameThatEndsEarlyFromOne) {
  const Bytes whole = frame(header(40), 40);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_ERROR(receive(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))), ErrorCode::unavailable,
                 "matching");
  }
}

struct Agreed {
  Status left, right;
};

FrameHeader alive(uint64_t sequence, uint32_t length = 0) {
  return {.stage = StageId::alive, .kind = 0, .length = length, .sequence = sequence};
}

Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(Link, PassesOverWhatSaysAlive) {
  FrameHeader behind = header(5);
  behind.sequence = 2;
  const Bytes two = joined(frame(alive(0), 0), frame(alive(1), 0));
  EXPECT_OK(receive(joined(two, frame(behind, 5))));
  EXPECT_EQ(receive(joined(two, frame(header(5), 5))).error().reason(), "frame_sequence");
  EXPECT_EQ(receive(frame(alive(0, 1), 1)).error().reason(), "frame_length");
  EXPECT_EQ(receive(frame(alive(1), 0)).error().reason(), "frame_sequence");
}

// Messages count on: the peer sees one sequence.
TEST(LinkPulses, SayAliveUntilTheyGo) {
  StreamPair pair;
  Link link(std::move(pair.left));
  std::array<uint8_t, kFrameHeaderBytes> heard{};
  {
    const LinkPulses pulses({&link}, Millis(1));
    for (uint64_t i = 0; i < 3; ++i) {
      ASSERT_OK(pair.right->read_exact(heard));
      EXPECT_OK(read_frame_header(heard, StageId::alive, i));
    }
  }
  EXPECT_EQ(link.bytes().sent, 0u);
}

TEST(LinkPulses, SayNothingMoreBeforeTheLastMessage) {
  StreamPair pair;
  Link link(std::move(pair.left));
  link.say_alive();
  link.say_alive_no_more();
  link.say_alive();
  pair.right->shut();
  std::array<uint8_t, kFrameHeaderBytes> heard{};
  EXPECT_OK(pair.right->read_exact(heard));
  EXPECT_FALSE(pair.right->read_exact(heard));
}

TEST(LinkPulses, AStreamThatTheyFoundBrokenIsNotUsedAgain) {
  StreamPair pair;
  Link link(std::move(pair.left));
  pair.right.reset();
  link.say_alive();
  link.say_alive();
  Listener listener;
  EXPECT_ERROR(link.run(listener, StageId::matching, 1), ErrorCode::unavailable, "gone");
}

// Both say their hello before either reads: the socket holds it.
Agreed agree(const LinkHello& left, const LinkHello& right) {
  StreamPair pair;
  Link one(std::move(pair.left));
  auto other = std::move(pair.right);
  // The right one's hello as its link would send it, caught from a link of its own.
  StreamPair scratch;
  {
    auto caught = std::move(scratch.right);
    Link speaker(std::move(scratch.left));
    auto bytes = std::make_unique<std::array<uint8_t, kFrameHeaderBytes + 56>>();
    EXPECT_TRUE(caught->write_all(frame({.stage = StageId::hello, .kind = 1, .length = 0, .sequence = 0}, 0)));
    EXPECT_FALSE(speaker.agree(right, 0));
    EXPECT_TRUE(caught->read_exact(*bytes));
    EXPECT_TRUE(other->write_all(*bytes));
  }
  Agreed agreed;
  agreed.left = one.agree(left, 1);
  Link two(std::move(other));
  agreed.right = two.agree(right, 0);
  return agreed;
}

TEST(Link, BothLearnWhatTheyDoNotAgreeOn) {
  const LinkHello label{.job = {1}, .manifest = {}, .party = 0};
  LinkHello feature = label;
  feature.party = 1;
  EXPECT_OK(agree(label, feature).left);
  EXPECT_OK(agree(label, feature).right);

  LinkHello other_manifest = feature;
  other_manifest.manifest.bytes[0] = 1;
  const Agreed manifest = agree(label, other_manifest);
  EXPECT_ERROR(manifest.left, ErrorCode::refused, "0100000000");
  EXPECT_EQ(manifest.left.error().reason(), "manifest_differs");
  EXPECT_EQ(manifest.right.error().reason(), "manifest_differs");

  LinkHello other_job = feature;
  other_job.job[0] = 2;
  EXPECT_EQ(agree(label, other_job).left.error().reason(), "job_differs");
  EXPECT_EQ(agree(label, label).left.error().reason(), "party_differs");
}

TEST(Link, KnowsAnotherVersionAndWhatIsNoHello) {
  for (const auto& [first, code] :
       {std::pair(Bytes{'C', 'T', 'V', kLinkVersion + 1}, ErrorCode::unsupported_version),
        std::pair(Bytes{'C', 'T', 'V', kLinkVersion}, ErrorCode::malformed),
        std::pair(Bytes{'G', 'E', 'T', ' '}, ErrorCode::malformed), std::pair(Bytes{}, ErrorCode::malformed)}) {
    StreamPair pair;
    Bytes bytes =
        frame({.stage = StageId::hello, .kind = 1, .length = static_cast<uint32_t>(first.size()), .sequence = 0}, 0);
    bytes.insert(bytes.end(), first.begin(), first.end());
    ASSERT_TRUE(pair.right->write_all(bytes));
    Link link(std::move(pair.left));
    EXPECT_ERROR(link.agree({}, 1), code, "link");
  }
}

}  // namespace
}  // namespace coterie::vertical
