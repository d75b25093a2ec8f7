// What gets into the audit log, and how much of what strangers do.
#include "fl_server/admin/audit_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fl_server/admin_api/record_json.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/admin/memory_admin_store.h"
#include "tools/admin/audit_records.h"

namespace coterie {
namespace {

class AuditLogTest : public testing::Test {
 protected:
  void refuse(bool known) {
    if (log_.admits_refusal(known, now_.instant))
      ASSERT_OK(log_.write_refusal({.who = known ? "t" : "-", .target = "/x"}, known, now_.wall));
  }
  // GET /admin/v1/audit as AdminService answers it, a page of 1000 at most.
  Result<nlohmann::json> get(const std::string& target) {
    const size_t after = target.find("&after=");
    const auto records = store_.list_audit({.after = std::stoull(target.substr(after + 7)), .limit = 1000});
    nlohmann::json list = nlohmann::json::array();
    for (const AuditRecord& record : *records) list.push_back(to_json(record));
    ++pages_;
    return nlohmann::json{{"records", list}};
  }
  Result<VerifiedAudit> verify(const std::optional<AuditHead>& noted = {}) {
    return verify_audit([this](const std::string& target) { return get(target); }, noted);
  }

  test::MemoryAdminStore store_;
  AuditLog log_{store_};
  Now now_{Instant(Millis{9'000'000}), wall_time_from_unix_ms(1'700'000'000'000)};
  int pages_ = 0;
};

TEST_F(AuditLogTest, WritesCleanTextsAndTheTime) {
  ASSERT_OK(log_.write({.who = "t",
                        .roles = "viewer",
                        .action = "a.b",
                        .target = "/x\n" + std::string(999, 'y'),
                        .outcome = 201,
                        .request = "r"},
                       now_.wall));
  ASSERT_EQ(store_.records.size(), 1u);
  const AuditEntry& entry = store_.records[0].entry;
  EXPECT_EQ(entry.time, now_.wall);
  EXPECT_EQ(entry.target, "/x?" + std::string(kAuditTextCharsMax - 3, 'y'));
  EXPECT_EQ(entry.outcome, 201u);
}

TEST_F(AuditLogTest, WritesFewRefusalsOfStrangersAndCountsTheRest) {
  constexpr uint32_t kMax = AuditLog::kStrangerRefusalsPerMinuteMax;
  for (uint32_t i = 0; i < kMax + 25; ++i) refuse(false);
  EXPECT_EQ(store_.records.size(), kMax);
  refuse(true);
  EXPECT_EQ(store_.records.size(), kMax + 1) << "who has a token is not crowded out by strangers";
  EXPECT_EQ(store_.records.back().entry.target, "/x");
  now_.instant += Millis{60'000};
  refuse(false);
  refuse(false);
  ASSERT_EQ(store_.records.size(), kMax + 3);
  EXPECT_EQ(store_.records[kMax + 1].entry.target, "/x (25 refusals before this one were not written)");
  EXPECT_EQ(store_.records[kMax + 2].entry.target, "/x");
  for (uint32_t i = 0; i < 2 * AuditLog::kKnownRefusalsPerMinuteMax; ++i) refuse(true);
  EXPECT_EQ(store_.records.size(), kMax + 3 + AuditLog::kKnownRefusalsPerMinuteMax);
}

TEST_F(AuditLogTest, SaysThatItCannotWrite) {
  store_.failure = Error(ErrorCode::storage_full, "database: full");
  EXPECT_ERROR(log_.write({.who = "t"}, now_.wall), ErrorCode::storage_full, "full");
}

TEST_F(AuditLogTest, IsVerifiedByItsClientPageByPage) {
  const Result<VerifiedAudit> empty = verify();
  ASSERT_OK(empty);
  EXPECT_EQ(empty->head, AuditHead{});
  for (int i = 0; i < 2500; ++i) ASSERT_OK(log_.write({.who = std::to_string(i)}, now_.wall));
  pages_ = 0;
  const Result<VerifiedAudit> verified = verify();
  ASSERT_OK(verified);
  const AuditHead head = verified->head;
  EXPECT_EQ(pages_, 3);
  EXPECT_EQ(head, *store_.audit_head());
  EXPECT_OK(verify(AuditHead{1700, store_.records[1699].digest}));

  std::vector<AuditRecord> whole = store_.records;
  store_.records[1234].entry.outcome ^= 1;
  EXPECT_ERROR(verify(), ErrorCode::data_loss, "record 1235 is not what was written");
  store_.records = whole;
  store_.records.erase(store_.records.begin() + 1999);
  EXPECT_ERROR(verify(), ErrorCode::data_loss, "record 2000 is not there");
  store_.records = whole;
  store_.records.resize(2000);  // ends with a page
  EXPECT_OK(verify()) << "without a noted head nobody can see it";
  EXPECT_ERROR(verify(head), ErrorCode::data_loss, "ends with record 2000, but record 2500 was noted");
}

TEST(AuditRecordFromJson, TakesWhatTheServerSendsAndNothingElse) {
  AuditRecord record;
  record.entry = {3, wall_time_from_unix_ms(5), "w", "viewer", "a.b", "/t", 200, "r"};
  record.digest = audit_digest({}, record.entry);
  const nlohmann::json json = to_json(record);
  const Result<AuditRecord> read = audit_record_from(json);
  ASSERT_OK(read);
  EXPECT_EQ(*read, record);
  for (const char* key : {"seq", "unix_ms", "who", "roles", "action", "target", "outcome", "request", "digest"}) {
    for (const nlohmann::json& wrong :
         {nlohmann::json(), nlohmann::json(-1), nlohmann::json(1.5), nlohmann::json::object()}) {
      nlohmann::json other = json;
      other[key] = wrong;
      EXPECT_ERROR(audit_record_from(other), ErrorCode::malformed, "") << key;
      other.erase(key);
      EXPECT_ERROR(audit_record_from(other), ErrorCode::malformed, "") << key;
    }
  }
  EXPECT_ERROR(audit_record_from(nlohmann::json::array()), ErrorCode::malformed, "");
}

}  // namespace
}  // namespace coterie
