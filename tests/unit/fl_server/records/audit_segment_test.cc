#include "fl_server/records/audit_segment.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

struct Sealed {
  std::vector<AuditRecord> records;
  AuditSegment segment;
};

Sealed sealed(uint64_t count, AuditHead before = {}) {
  Sealed made;
  made.segment.before = before;
  AuditHead head = before;
  for (uint64_t i = 0; i < count; ++i) {
    AuditRecord record{.entry = {.seq = head.seq + 1,
                                 .time = wall_time_from_unix_ms(static_cast<int64_t>(1'700'000'000'000 + i)),
                                 .who = i % 2 == 0 ? "anna" : "-",
                                 .roles = i % 2 == 0 ? "viewer, operator" : "",
                                 .action = "job.pause",
                                 .target = "/admin/v1/jobs/j1:pause",
                                 .outcome = 204,
                                 .request = "00ff"},
                       .digest = {}};
    record.digest = audit_digest(head.digest, record.entry);
    head = {record.entry.seq, record.digest};
    made.records.push_back(record);
  }
  made.segment.head = head;
  return made;
}

TEST(AuditSegment, HasItsRecordsBetweenTwoHeads) {
  Digest digest;
  digest.bytes.fill(7);
  const Sealed made = sealed(3, {40, digest});
  const Result<Bytes> file = encode_audit_segment(made.segment.before, made.records);
  ASSERT_OK(file);
  const std::string text(as_text(*file));
  EXPECT_TRUE(text.starts_with("coterie-audit-segment 1 40:" + digest.hex() + " 43:")) << text;
  EXPECT_NE(text.find("41\t1700000000000\tanna\tviewer, operator\tjob.pause\t/admin/v1/jobs/j1:pause\t204\t00ff\t"),
            std::string::npos);
  const auto read = decode_audit_segment(*file, made.segment);
  ASSERT_OK(read);
  EXPECT_EQ(*read, made.records);
}

TEST(AuditSegment, IsMadeOfAChainOfCleanTexts) {
  Sealed made = sealed(3);
  EXPECT_ERROR(encode_audit_segment({}, {}), ErrorCode::invalid_argument, "1 to 10000 records, not 0");
  EXPECT_ERROR(encode_audit_segment({1, Digest()}, made.records), ErrorCode::data_loss, "record 2 is not there");
  made.records[1].entry.target = "a\tb";
  EXPECT_ERROR(encode_audit_segment({}, made.records), ErrorCode::invalid_argument, "record 2");
  made.records[1].entry.target = "other";
  EXPECT_ERROR(encode_audit_segment({}, made.records), ErrorCode::data_loss, "record 2 is not what was written");
}

// Every byte of a file counts.
TEST(AuditSegment, WithAChangedByteIsDataLoss) {
  const Sealed made = sealed(4);
  const Bytes good = encode_audit_segment({}, made.records).value();
  for (size_t i = 0; i < good.size(); ++i) {
    for (const uint8_t flip : {0x01, 0x10, 0x80}) {
      Bytes bad = good;
      bad[i] ^= flip;
      const auto read = decode_audit_segment(bad, made.segment);
      // Hexadecimal digits of a record's digest may be written larger: they say the same.
      EXPECT_TRUE(!read || *read == made.records) << "byte " << i;
      if (!read) {
        EXPECT_EQ(read.error().code(), ErrorCode::data_loss) << "byte " << i;
      }
    }
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_ERROR(decode_audit_segment(cut, made.segment), ErrorCode::data_loss, "records 1 to 4") << "cut at " << i;
  }
  Bytes longer = good;
  longer.push_back('\n');
  EXPECT_ERROR(decode_audit_segment(longer, made.segment), ErrorCode::data_loss, "no record");
  EXPECT_ERROR(decode_audit_segment(good, sealed(3).segment), ErrorCode::data_loss, "first line");
}

}  // namespace
}  // namespace coterie
