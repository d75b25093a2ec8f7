// The log of a session: what was written is read again; what was not written whole, or has changed since, ends it.
#include "device_sdk/agent/session_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/os/file.h"
#include "secure/crypto/digest.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {
namespace {

class SessionLogTest : public testing::Test {
 protected:
  std::string path() const { return directory_ / "secagg.log"; }
  Bytes stored() const { return *os::read_file(path(), 100'000); }
  Result<std::optional<SessionRecords>> loaded() const { return SessionLog(directory_.path()).load(context_, update_); }
  // A log with one record of each kind; the seed in it.
  Bytes write() {
    SessionLog log(directory_.path());
    const auto records = log.begin(context_, update_);
    EXPECT_OK(records);
    EXPECT_OK(log.append_signature(content_digest(Bytes{1}), Bytes{9, 8, 7}));
    EXPECT_OK(log.append_message(1, Bytes(300, 5)));
    EXPECT_OK(log.append_signature(content_digest(Bytes{2}), Bytes{6}));
    EXPECT_OK(log.sync());
    return Bytes(records->seed.reveal().begin(), records->seed.reveal().end());
  }

  TemporaryDirectory directory_{memory_disk()};
  const Digest context_ = content_digest(Bytes{1, 2}), update_ = content_digest(Bytes{3});
};

TEST_F(SessionLogTest, RemembersWhatWasAppendedInEachLife) {
  const Bytes seed = write();
  {
    SessionLog again(directory_.path());
    ASSERT_OK(again.load(context_, std::nullopt));
    ASSERT_OK(again.append_message(2, Bytes(7, 6)));
  }
  const auto records = loaded();
  ASSERT_OK(records);
  ASSERT_TRUE(*records);
  EXPECT_TRUE(std::ranges::equal((*records)->seed.reveal(), seed));
  EXPECT_EQ((*records)->messages, (std::map<uint8_t, Bytes>{{1, Bytes(300, 5)}, {2, Bytes(7, 6)}}));
  EXPECT_EQ((*records)->signatures, (std::map<Digest, Bytes>{{content_digest(Bytes{1}), Bytes{9, 8, 7}},
                                                             {content_digest(Bytes{2}), Bytes{6}}}));
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u) << "the owner's alone";
}

// What a thief finds later of a removed log is worth nothing without the key.
TEST_F(SessionLogTest, HasNoSeedInTheClearAndNoneWithoutTheKey) {
  const Bytes seed = write();
  const Bytes log = stored();
  EXPECT_TRUE(std::ranges::search(log, seed).empty());
  ASSERT_OK(RoundVault(directory_.path()).erase());
  EXPECT_ERROR(loaded(), ErrorCode::data_loss, "damaged");
}

// An app that is updated in the middle of a session goes on with it.
TEST_F(SessionLogTest, ReadsASeedThatAnSdkOfBeforeWroteInTheClear) {
  const Bytes seed(32, 7);
  Bytes record = {1, 96, 0, 0, 0};
  for (const ByteView part : {context_.view(), update_.view(), ByteView(seed)}) {
    record.insert(record.end(), part.begin(), part.end());
  }
  const Digest digest = content_digest(record);
  record.insert(record.end(), digest.bytes.begin(), digest.bytes.end());
  ASSERT_OK(os::write_file_atomically(path(), record));
  const auto records = loaded();
  ASSERT_OK(records);
  ASSERT_TRUE(*records);
  EXPECT_TRUE(std::ranges::equal((*records)->seed.reveal(), seed));
}

TEST_F(SessionLogTest, IsOfOneContextAndOneUpdate) {
  write();
  for (const auto& [context, update] : {std::pair(update_, update_), std::pair(context_, context_)}) {
    const auto records = SessionLog(directory_.path()).load(context, update);
    ASSERT_OK(records);
    EXPECT_FALSE(*records);
  }
}

TEST_F(SessionLogTest, BeginsAnewAndLeavesNothingBehind) {
  const Bytes first = write();
  ASSERT_OK(os::write_file_atomically(directory_ / "secagg-of-an-earlier-version", Bytes{1}));
  const Bytes second = write();
  EXPECT_NE(first, second);
  EXPECT_EQ(*os::list_directory(directory_.path()), (std::vector<std::string>{"round.key", "secagg.log"}));
  ASSERT_OK(SessionLog(directory_.path()).remove());
  const auto records = loaded();
  ASSERT_OK(records);
  EXPECT_FALSE(*records);
}

// A record that was acted upon must never be taken for one that was not there: damage is the end.
TEST_F(SessionLogTest, DamageAnywhereIsFound) {
  write();
  const Bytes whole = stored();
  for (size_t i = 0; i < whole.size(); ++i) {
    Bytes damaged = whole;
    damaged[i] ^= 1 << (i % 8);
    ASSERT_OK(os::write_file_atomically(path(), damaged));
    EXPECT_ERROR(loaded(), ErrorCode::data_loss, "damaged") << "byte " << i;
  }
}

TEST_F(SessionLogTest, ARecordThatIsNotWholeIsDamage) {
  write();
  const Bytes whole = stored();
  size_t between_records = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_OK(os::write_file_atomically(path(), ByteView(whole).first(size)));
    const auto records = loaded();
    if (records) ++between_records;
    else EXPECT_EQ(records.error().code(), ErrorCode::data_loss);
  }
  EXPECT_EQ(between_records, 4u) << "nothing, or the first three records, or fewer";
}

TEST_F(SessionLogTest, AMessageTwiceIsDamage) {
  write();
  SessionLog log(directory_.path());
  ASSERT_OK(log.load(context_, update_));
  ASSERT_OK(log.append_message(1, Bytes{1}));
  EXPECT_ERROR(loaded(), ErrorCode::data_loss, "damaged");
}

}  // namespace
}  // namespace coterie::test
