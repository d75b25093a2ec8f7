#include "fl_server/records/audit_chain.h"

#include <charconv>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

Error tampered(const std::string& what) { return Error(ErrorCode::data_loss, "audit log: " + what); }

}  // namespace

Result<AuditHead> AuditHead::parse(std::string_view text) {
  AuditHead head;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), head.seq);
  const auto taken = static_cast<size_t>(end - text.data());
  if (error == std::errc() && taken < text.size() && text[taken] == ':') {
    const Result<Digest> digest = Digest::from_hex(text.substr(taken + 1));
    if (digest) {
      head.digest = *digest;
      return head;
    }
  }
  return Error(ErrorCode::malformed,
               "a head of the audit log is NUMBER:DIGEST (64 hexadecimal digits), as `coterie audit verify` "
               "prints it");
}

Digest audit_digest(const Digest& previous, const AuditEntry& entry) {
  DomainFields fields("coterie/v1/audit");
  fields.add(previous.view())
      .add(entry.seq)
      .add(static_cast<uint64_t>(unix_ms(entry.time)))
      .add(entry.who)
      .add(entry.roles)
      .add(entry.action)
      .add(entry.target)
      .add(uint64_t{entry.outcome})
      .add(entry.request);
  return sha256(fields.view());
}

std::string audit_text(std::string_view text) {
  std::string clean(text.substr(0, kAuditTextCharsMax));
  for (char& c : clean) c = c >= ' ' && c <= '~' ? c : '?';
  return clean;
}

Status AuditVerifier::append(const AuditRecord& record) {
  const std::string number = std::to_string(head_.seq + 1);
  if (record.entry.seq != head_.seq + 1) {
    return tampered("record " + number + " is not there; in its place is " + std::to_string(record.entry.seq));
  }
  if (audit_digest(head_.digest, record.entry) != record.digest) {
    return tampered("record " + number + " is not what was written");
  }
  if (noted_ && noted_->seq == record.entry.seq && noted_->digest != record.digest) {
    return tampered("record " + number + " has digest " + record.digest.hex() + ", but " + noted_->digest.hex() +
                    " was noted: it, or one before it, was written anew");
  }
  head_ = {record.entry.seq, record.digest};
  return {};
}

Status AuditVerifier::finish() const {
  if (!noted_) return {};
  const std::string noted = std::to_string(noted_->seq);
  if (noted_->seq < begin_.seq) {
    return tampered("it begins behind record " + std::to_string(begin_.seq) + ", so that record " + noted +
                    ", which was noted, cannot be checked: look for it in the segment that was exported");
  }
  if (noted_->seq == begin_.seq && noted_->digest != begin_.digest) {
    return tampered("the seal of record " + noted + " is " + begin_.digest.hex() + ", but " + noted_->digest.hex() +
                    " was noted");
  }
  if (head_.seq >= noted_->seq) return {};
  return tampered("it ends with record " + std::to_string(head_.seq) + ", but record " + noted +
                  " was noted: the end was cut off, or an older copy was put back");
}

}  // namespace coterie
