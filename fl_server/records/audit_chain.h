// The audit log's records and the chain that ties them: h_i = SHA-256(domain || h_(i-1) || entry_i), h_0 = 32
// zero bytes. Pure.
//
// Whoever checks the chain finds every record that was changed, taken out, put in or moved, unless all
// records from there on were written anew; and a log whose end was cut off is a chain, too. Both are seen
// only by who has noted a head (number and digest of the last record) before: `coterie audit verify --head`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

inline constexpr size_t kAuditTextCharsMax = 256;  // of each text of a record

struct AuditEntry {
  uint64_t seq = 0;  // 1, 2, ...
  WallTime time;
  std::string who;       // id of the token; "-" if it was none of ours
  std::string roles;     // that it had: "viewer, operator"; empty if it was none of ours
  std::string action;    // of the route: "job.create"
  std::string target;    // what it was done to: a path, or a pattern if nobody known asked
  uint32_t outcome = 0;  // HTTP status of the answer; 0: begun, the answer's record follows with the same request id
  std::string request;   // id of the request, also in the answer's Coterie-Request-Id
  friend bool operator==(const AuditEntry&, const AuditEntry&) = default;
};

struct AuditRecord {
  AuditEntry entry;
  Digest digest;  // h_seq
  friend bool operator==(const AuditRecord&, const AuditRecord&) = default;
};

// The last record of a log; 0 and zeros: it is empty.
struct AuditHead {
  uint64_t seq = 0;
  Digest digest;

  std::string text() const { return std::to_string(seq) + ":" + digest.hex(); }
  static Result<AuditHead> parse(std::string_view text);  // "17:<64 hexadecimal digits>"; malformed
  friend bool operator==(const AuditHead&, const AuditHead&) = default;
};

// SHA-256 of DomainFields "coterie/v1/audit": the digest before, then the entry's fields in the order above,
// numbers as 64 bits.
Digest audit_digest(const Digest& previous, const AuditEntry& entry);

// `text` as a record may hold it: printable ASCII ('?' for other bytes), at most kAuditTextCharsMax, so that
// it is the same bytes in the database, in JSON and on a terminal.
std::string audit_text(std::string_view text);

// Reads a log from its first record on, or from the one behind `begin`. Not thread-safe.
class AuditVerifier {
 public:
  explicit AuditVerifier(std::optional<AuditHead> noted = {}, AuditHead begin = {})
      : noted_(std::move(noted)), begin_(begin), head_(begin) {}

  // data_loss if this is not the record that was written behind the ones before; then head().seq + 1 is the
  // first bad one.
  Status append(const AuditRecord& record);
  // data_loss if the log ends before the noted head, or begins behind it: then nothing is known of that one.
  Status finish() const;

  const AuditHead& head() const { return head_; }

 private:
  std::optional<AuditHead> noted_;
  AuditHead begin_, head_;
};

}  // namespace coterie
