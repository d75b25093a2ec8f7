#include "tools/vertical/party_journal.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/os/file.h"
#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

JournalTerms terms(uint8_t table = 1) {
  JournalTerms made{.job = {7}, .manifest = {}, .inputs = {}};
  made.inputs.bytes[0] = table;
  return made;
}

JournalCheckpoint checkpoint(uint32_t unit) {
  JournalCheckpoint made{.unit = unit, .state = {}, .bytes = {1, static_cast<uint8_t>(unit), 0xff}};
  made.state.bytes[0] = static_cast<uint8_t>(unit);
  return made;
}

Digest peer() {
  Digest made;
  made.bytes[31] = 5;
  return made;
}

class PartyJournalTest : public ::testing::Test {
 protected:
  Result<PartyJournal> open(uint8_t table = 1) const { return PartyJournal::open(folder_, terms(table)); }

  test::TemporaryDirectory directory_{test::memory_disk()};
  const std::string folder_ = directory_ / "journal";
};

TEST_F(PartyJournalTest, KnowsAgainWhatItKept) {
  vertical::RunPosition position;
  Secret<32> seed;
  {
    Result<PartyJournal> journal = open();
    ASSERT_OK(journal);
    EXPECT_FALSE(journal->peer() || journal->matching() || journal->model());
    seed = journal->seed("matching");
    EXPECT_FALSE(std::ranges::equal(seed.reveal(), journal->seed("training").reveal()));
    ASSERT_OK(journal->put_peer(peer()));
    ASSERT_OK(journal->put_bucket({.matched = {.buckets = 1, .rows = {4}}, .heard = 3}));
    ASSERT_OK(journal->put_matching({.peer_ids = 99, .root = peer(), .rows = {4, 0, 3}}));
    for (const uint32_t steps : {16, 32, 48}) ASSERT_OK(journal->put_checkpoint(checkpoint(steps)));
    ASSERT_OK(journal->put_checkpoint(checkpoint(48))) << "once more, as a replay does";
    ASSERT_OK(journal->put_grown(0, Bytes{5, 6}));
    ASSERT_OK(journal->put_model({1, 2, 3}));
    ASSERT_OK(journal->put_predicted());
    position = journal->position();
    ASSERT_EQ(position.buckets.size(), 1u);
    ASSERT_EQ(position.units.size(), 2u);
    EXPECT_EQ(position.units[0].unit, 32u);
    EXPECT_EQ(position.units[1], (vertical::CommittedUnit{.unit = 48, .state = checkpoint(48).state}));
  }
  const Result<PartyJournal> again = open();
  ASSERT_OK(again);
  EXPECT_EQ(again->position(), position);
  EXPECT_TRUE(std::ranges::equal(seed.reveal(), again->seed("matching").reveal()));
  EXPECT_EQ(again->peer(), peer());
  EXPECT_EQ(again->matching()->rows, (std::vector<uint32_t>{4, 0, 3}));
  EXPECT_EQ(again->matching()->peer_ids, 99u);
  ASSERT_NE(again->checkpoint(32), nullptr);
  EXPECT_EQ(*again->checkpoint(32), checkpoint(32));
  EXPECT_EQ(*again->checkpoint(48), checkpoint(48));
  EXPECT_EQ(again->checkpoint(0), nullptr);
  EXPECT_EQ(again->grown()->at(0), (Bytes{5, 6}));
  EXPECT_EQ(again->model(), (Bytes{1, 2, 3}));
}

TEST_F(PartyJournalTest, KnowsHowManyIdsEachOfMoreThanTwoPartiesHas) {
  {
    Result<PartyJournal> journal = open();
    ASSERT_OK(journal);
    ASSERT_OK(journal->put_peer(peer()));
    ASSERT_OK(journal->put_matching({.party_ids = {5, 6, 7}, .root = peer(), .rows = {4, 0}}));
  }
  const Result<PartyJournal> again = open();
  ASSERT_OK(again);
  EXPECT_EQ(again->matching()->party_ids, (std::vector<uint64_t>{5, 6, 7}));
  EXPECT_EQ(again->matching()->peer_ids, 0u);
  EXPECT_EQ(again->matching()->rows, (std::vector<uint32_t>{4, 0}));
}

TEST_F(PartyJournalTest, RefusesWhatDoesNotBelongToIt) {
  {
    Result<PartyJournal> journal = open();
    ASSERT_OK(journal);
    EXPECT_EQ(open().error().reason(), "journal_in_use");
    ASSERT_OK(journal->put_matching({.peer_ids = 2, .root = peer(), .rows = {1}}));
    EXPECT_ERROR(journal->put_matching({.peer_ids = 2, .root = peer(), .rows = {2}}), ErrorCode::data_loss,
                 "otherwise");
    ASSERT_OK(journal->put_model({1}));
    EXPECT_ERROR(journal->put_model({2}), ErrorCode::data_loss, "another model");
  }
  // Before it met anybody another table is no harm: it begins anew.
  ASSERT_OK(open(2));
  {
    Result<PartyJournal> journal = open(2);
    ASSERT_OK(journal);
    EXPECT_FALSE(journal->matching());
    ASSERT_OK(journal->put_peer(peer()));
  }
  EXPECT_EQ(open(1).error().reason(), "journal_differs");
}

TEST_F(PartyJournalTest, NamesTheFileThatIsDamaged) {
  ASSERT_OK(open()->put_peer(peer()));
  for (const char* name : {"peer", "run"}) {
    Result<Bytes> bytes = os::read_file(folder_ + "/" + name, 1 << 16);
    ASSERT_OK(bytes);
    (*bytes)[10] ^= 1;
    ASSERT_OK(os::write_file_atomically(folder_ + "/" + name, *bytes));
    EXPECT_ERROR(open(), ErrorCode::data_loss, name);
    bytes->resize(3);
    ASSERT_OK(os::write_file_atomically(folder_ + "/" + name, *bytes));
    EXPECT_ERROR(open(), ErrorCode::data_loss, name);
  }
}

// An erase() that was cut off has overwritten the file, and its name is still there.
TEST_F(PartyJournalTest, ARunFileOfZerosIsNoJournal) {
  ASSERT_OK(open()->put_peer(peer()));
  const Result<Bytes> bytes = os::read_file(folder_ + "/run", 1 << 16);
  ASSERT_OK(bytes);
  for (const size_t size : {bytes->size(), size_t{0}}) {
    ASSERT_OK(os::write_file_atomically(folder_ + "/run", Bytes(size)));
    const Result<PartyJournal> journal = open(2);
    ASSERT_OK(journal);
    EXPECT_FALSE(journal->peer()) << "what the erased one left is gone";
  }
}

// A process that was killed among the bytes, as seeds 1004 and 1551 of the simulated vertical jobs have it.
TEST_F(PartyJournalTest, ARunFileThatBeginsWithZerosIsNoJournal) {
  for (const size_t erased : {1, 2, 104}) {
    ASSERT_OK(open()->put_peer(peer()));
    Result<Bytes> bytes = os::read_file(folder_ + "/run", 1 << 16);
    ASSERT_OK(bytes);
    std::fill_n(bytes->begin(), erased, uint8_t{0});
    ASSERT_OK(os::write_file_atomically(folder_ + "/run", *bytes));
    const Result<PartyJournal> journal = open();
    ASSERT_OK(journal);
    EXPECT_FALSE(journal->peer()) << erased;
  }
}

TEST_F(PartyJournalTest, LeavesNothingWhenItIsErased) {
  Result<PartyJournal> journal = open();
  ASSERT_OK(journal);
  ASSERT_OK(journal->put_peer(peer()));
  ASSERT_OK(journal->put_meeting());
  ASSERT_OK(journal->put_checkpoint(checkpoint(16)));
  ASSERT_OK(journal->hear({.stage = vertical::StageId::matching}, Bytes{1}));
  for (const char* name : {"run.unfinished.0", "training.1.unfinished.3"}) {
    ASSERT_OK(os::write_file_atomically(folder_ + "/" + name, Bytes{1}));
  }
  ASSERT_OK(os::write_file_atomically(folder_ + "/somebody's", Bytes{1}));
  ASSERT_OK(journal->erase());
  EXPECT_EQ(*os::list_directory(folder_), std::vector<std::string>{"somebody's"});
}

HeardName heard_step(uint32_t number) { return {.stage = vertical::StageId::training, .part = 4, .unit = number}; }

TEST_F(PartyJournalTest, APeerThatSaysSomethingElseTheSecondTimeIsRefused) {
  {
    Result<PartyJournal> journal = open();
    ASSERT_OK(journal);
    ASSERT_OK(journal->put_peer(peer()));
    ASSERT_OK(journal->hear({.stage = vertical::StageId::matching, .part = 0, .unit = 3}, Bytes{1, 2}));
    for (const uint32_t unit : {16, 32, 48}) {
      for (uint32_t number = unit - 16; number < unit; ++number) {
        ASSERT_OK(journal->hear_step(heard_step(number), Bytes{1}));
      }
      ASSERT_OK(journal->put_checkpoint(checkpoint(unit)));
    }
    ASSERT_OK(journal->hear_step(heard_step(48), Bytes{1}));
  }
  // From the earlier of the two that are kept, and with the later one written once more.
  Result<PartyJournal> again = open();
  ASSERT_OK(again);
  EXPECT_OK(again->hear({.stage = vertical::StageId::matching, .part = 0, .unit = 3}, Bytes{1, 2}));
  for (uint32_t number = 32; number < 48; ++number) EXPECT_OK(again->hear_step(heard_step(number), Bytes{1}));
  ASSERT_OK(again->put_checkpoint(checkpoint(48)));
  for (const Status& differs :
       {again->hear({.stage = vertical::StageId::matching, .part = 0, .unit = 3}, Bytes{1}),
        again->hear_step(heard_step(40), Bytes{2}), again->hear_step(heard_step(48), Bytes{2})}) {
    EXPECT_ERROR(differs, ErrorCode::refused, "submit another job");
    EXPECT_EQ(differs.error().reason(), "replay_differs");
  }
  EXPECT_OK(again->hear_step(heard_step(49), Bytes{2})) << "that is new";
}

TEST_F(PartyJournalTest, WhatWasHeardAndNotYetDurableWasNotAnswered) {
  const HeardName first = heard_step(0), second = heard_step(1);
  ASSERT_OK(open()->hear(first, Bytes{1}));
  const std::string file = folder_ + "/heard";
  const Result<Bytes> whole = os::read_file(file, 1 << 10);
  ASSERT_OK(whole);
  for (const Bytes& tail : {Bytes(whole->size()), Bytes{3, 0, 4}}) {
    Bytes cut = *whole;
    cut.insert(cut.end(), tail.begin(), tail.end());
    ASSERT_OK(os::write_file_atomically(file, cut));
    Result<PartyJournal> journal = open();
    ASSERT_OK(journal);
    EXPECT_EQ(journal->hear(first, Bytes{2}).error().reason(), "replay_differs");
    EXPECT_EQ(*os::read_file(file, 1 << 10), *whole);
  }
  ASSERT_OK(open()->hear(second, Bytes{1}));
  EXPECT_EQ(open()->hear(second, Bytes{2}).error().reason(), "replay_differs");
}

TEST_F(PartyJournalTest, CountsMeetings) {
  ASSERT_OK(open()->put_peer(peer()));
  // Most of them at once: the file says how many there were.
  Bytes bytes{'C', 'V', 'J', '2', static_cast<uint8_t>((kMeetingsMax - 1) & 0xff), (kMeetingsMax - 1) >> 8, 0, 0};
  const Digest digest = sha256(bytes);
  bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.end());
  ASSERT_OK(os::write_file_atomically(folder_ + "/meetings", bytes));
  ASSERT_OK(open()->put_meeting());
  EXPECT_EQ(open()->put_meeting().error().reason(), "meetings_full");
}

TEST_F(PartyJournalTest, WithoutAFolderKeepsNothing) {
  Result<PartyJournal> journal = PartyJournal::open("", terms());
  ASSERT_OK(journal);
  ASSERT_OK(journal->put_peer(peer()));
  ASSERT_OK(journal->put_model({1}));
  EXPECT_EQ(journal->model(), Bytes{1});
  ASSERT_OK(journal->erase());
  EXPECT_FALSE(os::exists(folder_));
}

}  // namespace
}  // namespace coterie
