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

// Reads all pages with `get` (a target below /admin/v1/ to the answer) and checks the chain from its first
// record. The head that was reached, or data_loss naming the first record that is wrong, or that the log ends
// before `noted`.
Result<AuditHead> verify_audit(const std::function<Result<nlohmann::json>(const std::string& target)>& get,
                               const std::optional<AuditHead>& noted);

}  // namespace coterie
