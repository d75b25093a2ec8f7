// The audit log's chain: what it is, and that whatever is done to a log is found, where it was done.
#include "fl_server/records/audit_chain.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

AuditRecord paused() {
  return {{1, wall_time_from_unix_ms(1'700'000'000'000), "admin-token", "viewer, operator", "job.pause",
           "/admin/v1/jobs/j1:pause", 0, "00ff00ff00ff00ff"},
          *Digest::from_hex("2bf911331e58a97574525b593cccbed38dfcc1b270d91ff9a664a69ffae77fdc")};
}
AuditRecord refused() {
  return {{2, wall_time_from_unix_ms(1'700'000'000'001), "-", "", "job.pause", "/admin/v1/jobs/{job}:pause", 401, ""},
          *Digest::from_hex("7becba76f3cf8ba3fca9233bd6cfaee21f2b47b399a2dc676424978e94f1ab03")};
}

// Python: sha256 of the fields, each as its length (4 bytes, big-endian) and its bytes, numbers as 8 bytes.
TEST(AuditChain, HasTheDigestsOfAnIndependentProgram) {
  EXPECT_EQ(audit_digest({}, paused().entry), paused().digest);
  EXPECT_EQ(audit_digest(paused().digest, refused().entry), refused().digest);
  AuditVerifier verifier;
  EXPECT_OK(verifier.append(paused()));
  EXPECT_OK(verifier.append(refused()));
  EXPECT_OK(verifier.finish());
  EXPECT_EQ(verifier.head(), (AuditHead{2, refused().digest}));
}

TEST(AuditChain, TellsARecordThatIsGoneFromOneThatWasChanged) {
  AuditVerifier verifier;
  EXPECT_ERROR(verifier.append(refused()), ErrorCode::data_loss, "record 1 is not there; in its place is 2");
  AuditRecord changed = paused();
  changed.entry.who = "somebody";
  EXPECT_ERROR(verifier.append(changed), ErrorCode::data_loss, "record 1 is not what was written");
  EXPECT_OK(verifier.append(paused())) << "what was refused left no trace";
}

TEST(AuditChain, KnowsByANotedHeadThatItWasWrittenAnewOrCutOff) {
  const AuditHead noted{2, refused().digest};
  AuditVerifier cut(noted);
  EXPECT_OK(cut.append(paused()));
  EXPECT_ERROR(cut.finish(), ErrorCode::data_loss, "ends with record 1, but record 2 was noted");

  AuditRecord other = paused(), next = refused();
  other.entry.who = "somebody";
  other.digest = audit_digest({}, other.entry);
  next.digest = audit_digest(other.digest, next.entry);
  AuditVerifier anew(noted);
  EXPECT_OK(anew.append(other)) << "a chain of its own";
  EXPECT_ERROR(anew.append(next), ErrorCode::data_loss, "was noted: it, or one before it, was written anew");
}

TEST(AuditHead, IsReadAsItIsWritten) {
  const AuditHead head{17, refused().digest};
  const Result<AuditHead> read = AuditHead::parse(head.text());
  ASSERT_OK(read);
  EXPECT_EQ(*read, head);
  for (const std::string& text :
       {std::string(), std::string("17"), std::string("17:"), "x" + head.text(), "-" + head.text(), head.text() + "0",
        head.text().substr(1 + 2), "99999999999999999999:" + head.digest.hex()}) {
    EXPECT_ERROR(AuditHead::parse(text), ErrorCode::malformed, "NUMBER:DIGEST") << text;
  }
}

TEST(AuditText, IsPrintableAsciiOfBoundedSize) {
  EXPECT_EQ(audit_text("/admin/v1/jobs/j1:pause ~"), "/admin/v1/jobs/j1:pause ~");
  EXPECT_EQ(audit_text("a\n\x1b[2J\x7f\xc3\xa4"), "a??[2J???");
  EXPECT_EQ(audit_text(std::string(1000, 'x')).size(), kAuditTextCharsMax);
}

// ---- 10,000 times something is done to a log of some dozen records

class TamperedLog : public testing::Test {
 protected:
  static std::string text_from(Prng& prng) {
    std::string text;
    for (uint64_t i = prng.below(20); i > 0; --i) text += static_cast<char>(' ' + prng.below(95));
    return text;
  }
  static std::vector<AuditRecord> log_from(Prng& prng) {
    std::vector<AuditRecord> log(2 + prng.below(20));
    Digest previous;
    for (size_t i = 0; i < log.size(); ++i) {
      AuditEntry& entry = log[i].entry;
      entry = {i + 1,
               wall_time_from_unix_ms(static_cast<int64_t>(prng.below(1ull << 42))),
               text_from(prng),
               text_from(prng),
               text_from(prng),
               text_from(prng),
               static_cast<uint32_t>(prng.below(600)),
               text_from(prng)};
      previous = log[i].digest = audit_digest(previous, entry);
    }
    return log;
  }
  static void flip_bit(std::string& text, Prng& prng) {
    if (text.empty()) text.push_back('\0');  // a text that was empty gets a character: as good as a flip
    else text[prng.below(text.size())] ^= static_cast<char>(1 << prng.below(8));
  }
  // One bit of one field.
  static void flip(AuditRecord& record, Prng& prng) {
    AuditEntry& entry = record.entry;
    switch (prng.below(9)) {
      case 0: entry.seq ^= uint64_t{1} << prng.below(64); break;
      case 1:
        entry.time = wall_time_from_unix_ms(unix_ms(entry.time) ^ static_cast<int64_t>(uint64_t{1} << prng.below(62)));
        break;
      case 2: flip_bit(entry.who, prng); break;
      case 3: flip_bit(entry.roles, prng); break;
      case 4: flip_bit(entry.action, prng); break;
      case 5: flip_bit(entry.target, prng); break;
      case 6: entry.outcome ^= uint32_t{1} << prng.below(32); break;
      case 7: flip_bit(entry.request, prng); break;
      default: record.digest.bytes[prng.below(32)] ^= static_cast<uint8_t>(1 << prng.below(8));
    }
  }
  // The number of the first record that is wrong; 0 if none is; one behind the last if the log ends too
  // early.
  static uint64_t found_at(const std::vector<AuditRecord>& log, const AuditHead& noted) {
    AuditVerifier verifier(noted);
    for (const AuditRecord& record : log) {
      if (!verifier.append(record)) return verifier.head().seq + 1;
    }
    return verifier.finish() ? 0 : verifier.head().seq + 1;
  }
};

TEST_F(TamperedLog, IsFoundWithTheFirstRecordThatIsWrong) {
  Prng prng(20'261'123);
  constexpr int kTimes = 10'000;
  int done[5] = {};
  std::vector<AuditRecord> whole;
  for (int time = 0; time < kTimes; ++time) {
    if (time % 50 == 0) {
      whole = log_from(prng);
      ASSERT_EQ(found_at(whole, {whole.size(), whole.back().digest}), 0u);
    }
    std::vector<AuditRecord> log = whole;
    const AuditHead noted{log.size(), log.back().digest};
    const size_t at = prng.below(log.size());
    const uint64_t kind = prng.below(5);
    uint64_t expected = at + 1;
    switch (kind) {
      case 0: flip(log[at], prng); break;
      case 1: log.erase(log.begin() + static_cast<ptrdiff_t>(at)); break;  // of the last one: found by the noted head
      case 2: {                                                            // two change places
        const size_t other = (at + 1 + prng.below(log.size() - 1)) % log.size();
        std::swap(log[at], log[other]);
        expected = std::min(at, other) + 1;
        break;
      }
      case 3: log.resize(at); break;  // found by the noted head
      default:
        log.insert(log.begin() + static_cast<ptrdiff_t>(at), log[prng.below(log.size())]);  // one comes twice
        // A copy of record at + 1 in front of it takes its place, which is then found behind it.
        if (log[at] == log[at + 1]) ++expected;
    }
    ASSERT_EQ(found_at(log, noted), expected) << "time " << time << ", kind " << kind << ", of " << noted.seq;
    ++done[kind];
  }
  for (const int count : done) EXPECT_GT(count, kTimes / 10);
}

// Who can write the whole chain anew from some record on is found by the noted head alone: at the record that
// was noted.
TEST_F(TamperedLog, WrittenAnewIsFoundByTheNotedHead) {
  Prng prng(7);
  for (int time = 0; time < 200; ++time) {
    std::vector<AuditRecord> log = log_from(prng);
    const size_t at = prng.below(log.size()), mark = at + prng.below(log.size() - at);
    const AuditHead noted{mark + 1, log[mark].digest};
    do flip_bit(log[at].entry.who, prng);
    while (audit_digest(at == 0 ? Digest{} : log[at - 1].digest, log[at].entry) == log[at].digest);
    for (size_t i = at; i < log.size(); ++i)
      log[i].digest = audit_digest(i == 0 ? Digest{} : log[i - 1].digest, log[i].entry);
    ASSERT_EQ(found_at(log, noted), mark + 1);
    ASSERT_EQ(found_at(log, {}), 0u) << "without a noted head it is a log like any other";
  }
}

}  // namespace
}  // namespace coterie
