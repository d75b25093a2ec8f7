#include "tools/admin/audit_records.h"

#include <nlohmann/json.hpp>

namespace coterie {
namespace {

constexpr uint64_t kPage = 1000;

Error foreign() {
  return Error(ErrorCode::malformed, "the server's audit log is not what was expected; is it of another version?");
}

}  // namespace

Result<AuditRecord> audit_record_from(const nlohmann::json& json) {
  AuditRecord record;
  AuditEntry& entry = record.entry;
  if (!json.is_object()) return foreign();
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_integer() && *found >= 0 ? std::optional(found->get<uint64_t>())
                                                                            : std::nullopt;
  };
  const auto seq = number("seq"), time = number("unix_ms"), outcome = number("outcome");
  if (!seq || !time || *time > INT64_MAX || !outcome || *outcome > UINT32_MAX) return foreign();
  entry.seq = *seq;
  entry.time = wall_time_from_unix_ms(static_cast<int64_t>(*time));
  entry.outcome = static_cast<uint32_t>(*outcome);
  std::string digest;
  for (const auto& [key, text] :
       {std::pair("who", &entry.who), std::pair("roles", &entry.roles), std::pair("action", &entry.action),
        std::pair("target", &entry.target), std::pair("request", &entry.request), std::pair("digest", &digest)}) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_string()) return foreign();
    *text = found->get<std::string>();
  }
  COT_ASSIGN(record.digest, Digest::from_hex(digest));
  return record;
}

namespace {

// Where the server's records begin: behind a seal, if it has none of before that.
Result<AuditHead> begin_of(const nlohmann::json& answer) {
  const auto seal = answer.find("begins_after");
  if (seal == answer.end()) return AuditHead{};
  const nlohmann::json seq = seal->is_object() ? seal->value("seq", nlohmann::json()) : nlohmann::json();
  const nlohmann::json digest = seal->is_object() ? seal->value("digest", nlohmann::json()) : nlohmann::json();
  if (!seq.is_number_unsigned() || !digest.is_string()) return foreign();
  COT_ASSIGN(const Digest parsed, Digest::from_hex(digest.get<std::string>()));
  return AuditHead{seq.get<uint64_t>(), parsed};
}

}  // namespace

Result<VerifiedAudit> verify_audit(const std::function<Result<nlohmann::json>(const std::string& target)>& get,
                                   const std::optional<AuditHead>& noted) {
  AuditVerifier verifier(noted);
  AuditHead begin;
  for (bool is_first = true;; is_first = false) {
    const std::string page = "audit?limit=" + std::to_string(kPage) + "&after=" + std::to_string(verifier.head().seq);
    COT_ASSIGN(const nlohmann::json answer, get(page));
    if (is_first) {
      COT_ASSIGN(begin, begin_of(answer));
      verifier = AuditVerifier(noted, begin);
    }
    const auto records = answer.find("records");
    if (records == answer.end() || !records->is_array()) return foreign();
    for (const nlohmann::json& json : *records) {
      COT_ASSIGN(const AuditRecord record, audit_record_from(json));
      COT_TRY(verifier.append(record));
    }
    if (records->size() < kPage) break;
  }
  COT_TRY(verifier.finish());
  return VerifiedAudit{begin, verifier.head()};
}

}  // namespace coterie
