// The audit log as a client checks it: by the records that the server sends, not by what it says of them.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "fl_server/records/audit_chain.h"

namespace coterie {

// A member of "records" of GET /admin/v1/audit; malformed if one of its fields is missing or of another type.
Result<AuditRecord> audit_record_from(const nlohmann::json& json);

// What was checked: the records behind `begin` up to `head`. `begin` is a seal where the server has no older records.
struct VerifiedAudit {
  AuditHead begin, head;
  friend bool operator==(const VerifiedAudit&, const VerifiedAudit&) = default;
};

// Reads all pages with `get` (a target below /admin/v1/ to the answer) and checks the chain from the first record
// that the server still has. data_loss names the first record that is wrong, or says that the log does not reach
// `noted` or begins behind it.
Result<VerifiedAudit> verify_audit(const std::function<Result<nlohmann::json>(const std::string& target)>& get,
                                   const std::optional<AuditHead>& noted);

}  // namespace coterie
