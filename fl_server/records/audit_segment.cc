#include "fl_server/records/audit_segment.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace coterie {
namespace {

constexpr size_t kFields = 9;

std::string first_line(const AuditHead& before, const AuditHead& head) {
  return "coterie-audit-segment 1 " + before.text() + " " + head.text();
}

std::string line_of(const AuditRecord& record) {
  const AuditEntry& entry = record.entry;
  return std::to_string(entry.seq) + "\t" + std::to_string(unix_ms(entry.time)) + "\t" + entry.who + "\t" +
         entry.roles + "\t" + entry.action + "\t" + entry.target + "\t" + std::to_string(entry.outcome) + "\t" +
         entry.request + "\t" + record.digest.hex();
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<AuditRecord> record_of(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  for (size_t i = 0; i < kFields; ++i) {
    const size_t end = line.find('\t');
    if ((end == std::string_view::npos) != (i + 1 == kFields)) return std::nullopt;
    fields[i] = line.substr(0, end);
    line.remove_prefix(i + 1 == kFields ? line.size() : end + 1);
  }
  AuditRecord record;
  AuditEntry& entry = record.entry;
  int64_t time = 0;
  if (!read_number(fields[0], entry.seq) || !read_number(fields[1], time) || !read_number(fields[6], entry.outcome)) {
    return std::nullopt;
  }
  const Result<Digest> digest = Digest::from_hex(fields[8]);
  if (!digest) return std::nullopt;
  entry.time = wall_time_from_unix_ms(time);
  entry.who = fields[2];
  entry.roles = fields[3];
  entry.action = fields[4];
  entry.target = fields[5];
  entry.request = fields[7];
  record.digest = *digest;
  return record;
}

Error damaged(const AuditSegment& segment, const std::string& what) {
  return Error(ErrorCode::data_loss, "the file of the audit log's records " + std::to_string(segment.before.seq + 1) +
                                         " to " + std::to_string(segment.head.seq) + ": " + what);
}

}  // namespace

Result<Bytes> encode_audit_segment(const AuditHead& before, const std::vector<AuditRecord>& records) {
  if (records.empty() || records.size() > kAuditSegmentRecordsMax) {
    return Error(ErrorCode::invalid_argument, "a segment of the audit log has 1 to " +
                                                  std::to_string(kAuditSegmentRecordsMax) + " records, not " +
                                                  std::to_string(records.size()));
  }
  AuditVerifier verifier({}, before);
  std::string text = first_line(before, {records.back().entry.seq, records.back().digest}) + "\n";
  for (const AuditRecord& record : records) {
    const AuditEntry& entry = record.entry;
    for (const std::string* field : {&entry.who, &entry.roles, &entry.action, &entry.target, &entry.request}) {
      if (audit_text(*field) != *field) {
        return Error(
            ErrorCode::invalid_argument,
            "record " + std::to_string(entry.seq) + " of the audit log has a text that is not printable, or too long");
      }
    }
    COT_TRY(verifier.append(record));
    text += line_of(record) + "\n";
  }
  const ByteView bytes = as_bytes(text);
  return Bytes(bytes.begin(), bytes.end());
}

Result<std::vector<AuditRecord>> decode_audit_segment(ByteView file, const AuditSegment& segment) {
  std::string_view rest = as_text(file);
  const auto next_line = [&rest]() -> std::optional<std::string_view> {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
  };
  if (next_line() != first_line(segment.before, segment.head)) {
    return damaged(segment, "its first line is not that of this segment");
  }
  AuditVerifier verifier({}, segment.before);
  std::vector<AuditRecord> records;
  while (!rest.empty() && records.size() < kAuditSegmentRecordsMax) {
    const std::optional<std::string_view> line = next_line();
    const std::optional<AuditRecord> record = line ? record_of(*line) : std::nullopt;
    if (!record) return damaged(segment, "line " + std::to_string(records.size() + 2) + " is no record");
    const Status fits = verifier.append(*record);
    if (!fits) return damaged(segment, fits.error().message());
    records.push_back(*record);
  }
  if (!rest.empty() || verifier.head() != segment.head) return damaged(segment, "it does not end with its last record");
  return records;
}

}  // namespace coterie
