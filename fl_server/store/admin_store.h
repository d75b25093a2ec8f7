// AdminStore: what the admin plane keeps of itself. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "fl_server/records/admin_token.h"
#include "fl_server/records/audit_chain.h"
#include "fl_server/records/audit_segment.h"
#include "fl_server/records/idempotency.h"
#include "fl_server/records/quota.h"
#include "fl_server/records/upload.h"

namespace coterie {

// Which records of the audit log: `limit` of those behind `after` that have this who and action, if they are
// not empty, and were written at `since` or later and before `until`, if those are said.
struct AuditQuery {
  uint64_t after = 0;
  size_t limit = 100;
  std::string who;
  std::string action;
  std::optional<WallTime> since = {};
  std::optional<WallTime> until = {};
};

// How many admin tokens there may be; a token of every tenant counts in all alone.
struct AdminTokenRoom {
  uint64_t in_all = UINT64_MAX;
  uint64_t of_tenant = UINT64_MAX;
};

// What a tenant's uploads may come to; in bytes with the files of its jobs' versions, each file once.
struct UploadRoom {
  uint64_t uploads = UINT64_MAX;
  uint64_t bytes = UINT64_MAX;
};

class AdminStore {
 public:
  virtual ~AdminStore() = default;

  // conflict if there is one of this id, or there is no room in all; over_quota.
  virtual Status create_admin_token(const AdminTokenRecord& token, const AdminTokenRoom& room = {}) = 0;
  virtual Result<AdminTokenRecord> get_admin_token(const std::string& id) = 0;  // not_found
  virtual Result<std::vector<AdminTokenRecord>> list_admin_tokens() = 0;        // oldest first, expired ones, too
  virtual Status remove_admin_token(const std::string& id) = 0;                 // not_found

  // ---- Tenants (fl_server/records/tenant.h)
  // The owner from now on: `tenant`, if nobody had claimed it. One durable transaction.
  virtual Result<std::string> claim_for_tenant(Owned kind, const std::string& name, const std::string& tenant) = 0;
  // Empty: nobody has claimed it, and so it is the default tenant's.
  virtual Result<std::string> owner_of(Owned kind, const std::string& name) = 0;
  virtual Result<std::map<std::string, std::string>> list_owners(Owned kind) = 0;  // of all that were claimed

  // ---- Quotas (fl_server/records/quota.h)
  // Before the blob is put, so that what nobody has room for is never written. What the tenant has already gets the new
  // time, and room for it there is. over_quota.
  virtual Status note_upload(const UploadRecord& upload, const UploadRoom& room) = 0;
  // Whoever has uploaded it before then (of one tenant: if it is he) has it no more. How many had it.
  virtual Result<uint64_t> forget_upload(const Digest& digest, WallTime put_before, const std::string& tenant = {}) = 0;
  virtual Result<std::vector<std::string>> list_uploaders(const Digest& digest) = 0;  // tenants, by name
  // Which blobs were uploaded, by digest, `limit` of those behind `after`.
  virtual Result<std::vector<Digest>> list_uploads(const Digest& after, size_t limit) = 0;
  // What each tenant has of what is stored, of those that have anything.
  virtual Result<std::map<std::string, TenantUse>> list_use() = 0;

  // One durable transaction: gives the entry the next number, ties it to the record before. The new head.
  virtual Result<AuditHead> append_audit(AuditEntry entry) = 0;
  virtual Result<AuditHead> audit_head() = 0;
  virtual Result<std::vector<AuditRecord>> list_audit(const AuditQuery& query) = 0;  // in order; of rows alone

  // ---- Segments of the audit log: records that are in a file (fl_server/records/audit_segment.h)
  virtual Result<std::vector<AuditSegment>> list_audit_segments() = 0;  // in order, each behind the one before
  // From now on these records may be forgotten. One durable transaction. conflict unless it begins behind the last
  // segment, ends with a record that has this digest, and at least one record follows: the newest says where the chain
  // goes on. So of two servers that seal the same records one does.
  virtual Status seal_audit(const AuditSegment& segment) = 0;
  // Removes rows of sealed records, `limit` at most, the oldest first. Returns how many.
  virtual Result<uint64_t> forget_audit(size_t limit) = 0;
  // The files of segments that were sealed before are named no more. Returns those segments as they were.
  virtual Result<std::vector<AuditSegment>> drop_audit_segments(WallTime sealed_before) = 0;

  // One durable transaction each. A claimed key is kept for kIdempotencyKeptFor, also over a restart.
  // rate_limited: too many keys in all, or (over_quota) of the key's tenant. In all there may be a few more where
  // several servers are asked at once.
  virtual Result<KeyClaim> claim_key(const IdempotencyKey& key, WallTime now, uint64_t of_tenant_max = UINT64_MAX) = 0;
  virtual Status keep_answer(const IdempotencyKey& key,
                             const KeptAnswer& answer) = 0;   // of a key that is under way
  virtual Status release_key(const IdempotencyKey& key) = 0;  // likewise: nothing was done
  virtual Result<uint64_t> forget_keys(WallTime now) = 0;     // whose time is over; how many
};

}  // namespace coterie
