#include "vertical/coordinator/matching_frames.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/matchers.h"
#include "tests/unit/vertical/ring_net.h"

namespace coterie::vertical {
namespace {

using ::coterie::test::numbered_ids;
using ::coterie::test::psi_seed;
using ::coterie::test::psi_settings;

Bytes frame_of(const Message& message, uint64_t sequence) {
  const auto header = write_frame_header({.stage = StageId::matching,
                                          .kind = message.kind,
                                          .length = static_cast<uint32_t>(message.payload.size()),
                                          .sequence = sequence});
  Bytes frame(header.begin(), header.end());
  frame.insert(frame.end(), message.payload.begin(), message.payload.end());
  return frame;
}

TEST(MatchingFrames, ServesARingWhateverThePiecesOfItsBytes) {
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{1} << 20}) {
    std::vector<std::unique_ptr<RingMatching>> parties;
    for (PartyIndex self = 0; self < 3; ++self) {
      IdSet ids = *IdSet::make(numbered_ids(10 + self), Duplicates::refuse);
      parties.push_back(
          *start_ring_matching(std::move(ids), psi_settings(4), self, 3, psi_seed(static_cast<uint8_t>(self + 1))));
    }
    MatchingFrames frames(3, 1000);
    std::map<PartyIndex, uint64_t> said, heard;
    const auto say = [&](PartyIndex from, const Message& message) {
      const Bytes frame = frame_of(message, said[from]++);
      for (size_t at = 0; at < frame.size(); at += piece) {
        EXPECT_OK(frames.take(from, ByteView(frame).subspan(at, std::min(piece, frame.size() - at))));
      }
      while (frames.has_work()) EXPECT_OK(frames.work());
    };
    // A whole frame of the frames, which has been asked for it.
    const auto hear = [&](PartyIndex to) {
      Message message{.peer = kMatcher, .kind = 0, .payload = {}};
      const ByteView bytes = frames.waiting(to);
      std::array<uint8_t, kFrameHeaderBytes> header;
      std::ranges::copy(bytes.first(kFrameHeaderBytes), header.begin());
      const Result<FrameHeader> read = read_frame_header(header, StageId::matching, heard[to]++);
      EXPECT_OK(read);
      message.kind = read->kind;
      const ByteView payload = bytes.subspan(kFrameHeaderBytes, read->length);
      message.payload.assign(payload.begin(), payload.end());
      frames.sent(to, kFrameHeaderBytes + read->length);
      return message;
    };
    std::map<std::pair<PartyIndex, PartyIndex>, std::deque<Message>> wires;
    for (int turn = 0; turn < 10'000; ++turn) {
      const PartyIndex self = static_cast<PartyIndex>(turn % 3);
      RingMatching& party = *parties[self];
      while (std::optional<Message> message = party.next()) {
        const PartyIndex to = message->peer;
        message->peer = self;
        if (to == kMatcher) say(self, *message);
        else wires[{self, to}].push_back(std::move(*message));
      }
      if (party.done()) continue;
      const PartyIndex from = party.awaits();
      if (from == kMatcher) {
        if (!frames.waiting(self).empty()) EXPECT_OK(party.receive(hear(self)));
      } else if (auto& wire = wires[{from, self}]; !wire.empty()) {
        EXPECT_OK(party.receive(wire.front()));
        wire.pop_front();
      }
    }
    for (const auto& party : parties) {
      ASSERT_TRUE(party->done());
      EXPECT_EQ(party->matched_rows().size(), 10u);
    }
    EXPECT_TRUE(frames.is_over());
  }
}

// A desk, and the tags 0, 1, ... of one bucket.
Bytes words_of(PartyIndex party, uint32_t entries) {
  const PsiDesk desk{.parties = 3, .buckets = 1, .tag_bytes = 12, .items_max = entries};
  Bytes words = frame_of(psi_message(party, desk), 0);
  SliceWriter writer(PsiKind::tags, 0, entries, 12);
  const Bytes tags =
      frame_of(writer.next(party, [](uint32_t entry, std::span<uint8_t> bytes) { write_u32(bytes, entry); }), 1);
  words.insert(words.end(), tags.begin(), tags.end());
  return words;
}

TEST(MatchingFrames, ComparesInStepsOfItsOwn) {
  MatchingFrames frames(3, 1'000'000);
  constexpr uint32_t kEntries = 3 * BlindMatcher::kStepEntries;
  for (PartyIndex party = 0; party < 3; ++party) {
    EXPECT_FALSE(frames.has_work());
    EXPECT_OK(frames.take(party, words_of(party, kEntries)));
  }
  size_t steps = 0;
  for (; frames.has_work(); ++steps) {
    EXPECT_FALSE(frames.is_over());
    EXPECT_OK(frames.work());
  }
  EXPECT_GE(steps, 3 * kEntries / (BlindMatcher::kStepEntries + 2) + 3) << "and a message for each party";
  for (PartyIndex party = 0; party < 3; ++party) EXPECT_GT(frames.waiting(party).size(), 4 * kEntries);
}

TEST(MatchingFrames, HearsNobodyMoreWhoLeavesTooMuchUnread) {
  constexpr size_t kUnreadMax = 100;
  MatchingFrames frames(3, 1000, kUnreadMax);
  for (PartyIndex party = 0; party < 3; ++party) EXPECT_OK(frames.take(party, words_of(party, 50)));
  for (PartyIndex party = 0; party < 3; ++party) EXPECT_TRUE(frames.may_say(party));
  while (frames.has_work()) EXPECT_OK(frames.work());
  // 50 places have 200 bytes.
  for (PartyIndex party = 0; party < 3; ++party) EXPECT_FALSE(frames.may_say(party));
  frames.sent(1, frames.waiting(1).size() - kUnreadMax - 1);
  EXPECT_FALSE(frames.may_say(1));
  frames.sent(1, 1);
  EXPECT_TRUE(frames.may_say(1));
  EXPECT_FALSE(frames.may_say(0)) << "each for itself";
}

TEST(MatchingFrames, RefusesFramesOutOfOrderAndOtherWords) {
  MatchingFrames frames(3, 1000);
  const Message message = psi_message(0, PsiDesk{.parties = 3, .buckets = 1, .tag_bytes = 12, .items_max = 5});
  EXPECT_ERROR(frames.take(0, frame_of(message, 1)), ErrorCode::malformed, "");
  MatchingFrames other(3, 1000);
  EXPECT_ERROR(other.take(1, frame_of(psi_message(1, PsiOutcome{}), 0)), ErrorCode::malformed, "party 1");
  EXPECT_FALSE(other.is_over());
}

}  // namespace
}  // namespace coterie::vertical
