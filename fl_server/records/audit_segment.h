// Segments of the audit log: old records in a file of their own, sealed by the heads before and behind them, so that
// the chain goes through it. Pure.
//
// The file is text, for `cut` and `grep`: a line "coterie-audit-segment 1 BEFORE HEAD" (heads as AuditHead::text()),
// then a line for each record: its fields in the order of AuditEntry and the digest, parted by tabs, which no text of a
// record has.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "fl_server/records/audit_chain.h"

namespace coterie {

inline constexpr size_t kAuditSegmentRecordsMax = 10'000;
inline constexpr uint64_t kAuditSegmentBytesMax = 16u << 20;  // of its file; as many records of the longest texts

// What the database keeps of it, for ever.
struct AuditSegment {
  AuditHead before;            // that its first record follows
  AuditHead head;              // of its last record
  std::optional<Digest> blob;  // its file; nothing: it was removed
  uint64_t bytes = 0;          // of the file
  WallTime sealed;
  friend bool operator==(const AuditSegment&, const AuditSegment&) = default;
};

// The file of `records`, which follow `before` as they were written; data_loss if they do not, invalid_argument if
// there is none, more than kAuditSegmentRecordsMax, or a text that audit_text() would change.
Result<Bytes> encode_audit_segment(const AuditHead& before, const std::vector<AuditRecord>& records);

// The records of this segment's file; data_loss unless each is as it was sealed.
Result<std::vector<AuditRecord>> decode_audit_segment(ByteView file, const AuditSegment& segment);

}  // namespace coterie
