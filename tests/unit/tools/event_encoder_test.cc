// Event files, byte for byte; the vectors were decoded by protoc.
#include "tools/tensorboard/event_encoder.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tools/admin/round_report.h"
#include "tools/tensorboard/round_scalars.h"
#include "tools/tensorboard/scalar_log.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

std::string hex_of(ByteView bytes) {
  std::string text;
  for (const uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

TEST(EventEncoder, MasksTheCheckValueOfCrc32c) { EXPECT_EQ(masked_crc32c(as_bytes("123456789")), 0xc78ab0e5u); }

TEST(EventEncoder, WritesTheFileOfTheVectorByteForByte) {
  Bytes file = file_version_record(1);
  const std::vector<Scalar> scalars = {{"loss", 0.5f}};
  const Bytes record = scalars_record(2, 7, scalars);
  file.insert(file.end(), record.begin(), record.end());
  EXPECT_EQ(file.size(), 82u);
  EXPECT_EQ(hex_of(file),
            "1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a3286bf577a"
            "1a00000000000000129bd82d09000000000000004010072a0d0a0b0a046c6f7373150000003fc33fc24a");
}

TEST(EventEncoder, WritesLongStepsTagsAndSeveralScalars) {
  const std::vector<Scalar> scalars = {{std::string(200, 'a'), -1.5f}, {"b", 2.0f}};
  const std::string event = hex_of(scalars_record(0, 300, scalars));
  EXPECT_NE(event.find("10ac02"), event.npos) << "300 as two bytes of seven bits";
  EXPECT_NE(event.find("0ad0010ac801616161"), event.npos) << "208 bytes of a value, 200 of its tag";
  EXPECT_NE(event.find("150000c0bf0a080a0162"
                       "1500000040"),
            event.npos);
}

TEST(EventEncoder, NamesFilesAsTensorBoardLooksForThem) {
  EXPECT_EQ(event_file_name(1700000000, "a/b host", 12, 3), "events.out.tfevents.1700000000.a_b_host.12.3");
}

class ScalarLogs : public testing::Test {
 protected:
  Bytes file(const std::string& path) const {
    const Result<Bytes> bytes = os::read_file(path, 1 << 20);
    EXPECT_OK(bytes);
    return bytes ? *bytes : Bytes();
  }
  test::TemporaryDirectory directory_;
};

TEST_F(ScalarLogs, WritesEachStepAtOnceAndLeavesOutWhatIsNoNumber) {
  Result<ScalarLog> log = ScalarLog::create(directory_ / "logs");
  ASSERT_OK(log);
  EXPECT_EQ(file(log->path()).size(), 40u) << "the version";
  log->note("a", 1.0);
  log->note("nan", std::numeric_limits<double>::quiet_NaN());
  log->note("inf", HUGE_VAL);
  log->note("none", std::nullopt);
  ASSERT_OK(log->add(1));
  const std::string text = hex_of(file(log->path()));
  EXPECT_NE(text.find("0a01611500"
                      "00803f"),
            text.npos);
  EXPECT_EQ(file(log->path()).size(), 40u + 16 + 9 + 2 + 2 + 2 + 8);
  ASSERT_OK(log->add(2));
  EXPECT_EQ(hex_of(file(log->path())), text) << "nothing was noted";
}

TEST_F(ScalarLogs, HasAFileOfItsOwn) {
  const Result<ScalarLog> one = ScalarLog::create(directory_.path()), two = ScalarLog::create(directory_.path());
  ASSERT_OK(one);
  ASSERT_OK(two);
  EXPECT_NE(one->path(), two->path());
  EXPECT_THAT(one->path(), StartsWith(directory_ / "events.out.tfevents."));
}

TEST_F(ScalarLogs, WithoutADirectoryWritesNothing) {
  Result<ScalarLog> log = ScalarLog::create("");
  ASSERT_OK(log);
  log->note("a", 1.0);
  EXPECT_OK(log->add(1));
  EXPECT_EQ(log->path(), "");
}

TEST_F(ScalarLogs, HaveTheWordsOfARoundThatIsDone) {
  Result<ScalarLog> log = ScalarLog::create(directory_.path());
  ASSERT_OK(log);
  RoundReport round{.number = 3, .attempt = 2, .state = "failed"};
  ASSERT_OK(log_round(*log, round, std::nullopt, 100));
  EXPECT_EQ(file(log->path()).size(), 40u) << "an attempt that failed is no step";
  round.state = "done";
  round.accepted = 5;
  round.evaluation_loss = 0.25;
  round.evaluation_heads = {{.output = "age", .mae = 2}};
  ASSERT_OK(log_round(*log, round, 1.5, 100));
  const Bytes all = file(log->path());
  const std::string text(all.begin(), all.end());
  for (const char* tag :
       {"evaluation/loss", "evaluation/mae.age", "privacy/epsilon", "round/seconds", "round/updates", "round/bytes"}) {
    EXPECT_NE(text.find(tag), text.npos) << tag;
  }
  EXPECT_EQ(text.find("evaluation/accuracy"), text.npos);
  EXPECT_NE(hex_of(all).find("0a0b726f756e642f6279746573"
                             "150000fa43"),
            std::string::npos)
      << "500 bytes";
}

}  // namespace
}  // namespace coterie
