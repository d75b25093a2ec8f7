// AdminStore in memory: the model that real back-ends are compared with. It counts what it is asked, fails when told
// to, and lets the test in between. Threads: what counts or claims may be used by several, the rest by one.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "fl_server/store/admin_store.h"

namespace coterie::test {

class MemoryAdminStore : public AdminStore {
 public:
  Status create_admin_token(const AdminTokenRecord& token, const AdminTokenRoom& room = {}) override {
    const std::lock_guard lock(mutex_);
    if (tokens.size() >= room.in_all) return Error(ErrorCode::conflict, "too many admin tokens");
    const auto own = static_cast<uint64_t>(
        std::ranges::count_if(tokens, [&](const auto& row) { return row.second.tenant == token.tenant; }));
    if (token.tenant != kEveryTenant && own >= room.of_tenant)
      return over_quota(Quota::admin_tokens, token.tenant, room.of_tenant, own + 1);
    if (!tokens.emplace(token.id, token).second) return Error(ErrorCode::conflict, "there is one of this id");
    return {};
  }
  Result<AdminTokenRecord> get_admin_token(const std::string& id) override {
    ++reads;
    if (failure) return *failure;
    const auto found = tokens.find(id);
    if (found == tokens.end()) return Error(ErrorCode::not_found, "no such admin token");
    if (after_read) after_read();
    return found->second;
  }
  Result<std::vector<AdminTokenRecord>> list_admin_tokens() override {
    std::vector<AdminTokenRecord> list;
    for (const auto& [id, token] : tokens) list.push_back(token);
    std::ranges::stable_sort(list, {}, &AdminTokenRecord::created);
    return list;
  }
  Status remove_admin_token(const std::string& id) override {
    if (tokens.erase(id) == 0) return Error(ErrorCode::not_found, "no such admin token");
    return {};
  }

  Result<std::string> claim_for_tenant(Owned kind, const std::string& name, const std::string& tenant) override {
    const std::lock_guard lock(mutex_);
    return owners[kind].try_emplace(name, tenant).first->second;
  }
  Result<std::string> owner_of(Owned kind, const std::string& name) override {
    const auto found = owners[kind].find(name);
    return found == owners[kind].end() ? std::string() : found->second;
  }
  Result<std::map<std::string, std::string>> list_owners(Owned kind) override { return owners[kind]; }

  // Knows no versions: the bytes are those of uploads.
  Status note_upload(const UploadRecord& upload, const UploadRoom& room) override {
    const std::lock_guard lock(mutex_);
    std::map<Digest, UploadRecord>& own = uploads[upload.tenant];
    if (const auto known = own.find(upload.digest); known != own.end()) {
      known->second.put = upload.put;
      return {};
    }
    uint64_t bytes = upload.bytes;
    for (const auto& [digest, other] : own) bytes += other.bytes;
    if (own.size() >= room.uploads) return over_quota(Quota::uploads, upload.tenant, room.uploads, own.size() + 1);
    if (bytes > room.bytes) return over_quota(Quota::blob_bytes, upload.tenant, room.bytes, bytes);
    own.emplace(upload.digest, upload);
    return {};
  }
  Result<uint64_t> forget_upload(const Digest& digest, WallTime put_before, const std::string& tenant = {}) override {
    uint64_t gone = 0;
    for (auto& [name, own] : uploads) {
      const auto found = own.find(digest);
      if (found == own.end() || found->second.put >= put_before || (!tenant.empty() && tenant != name)) continue;
      own.erase(found);
      ++gone;
    }
    return gone;
  }
  Result<std::vector<std::string>> list_uploaders(const Digest& digest) override {
    std::vector<std::string> tenants;
    for (const auto& [name, own] : uploads) {
      if (own.contains(digest)) tenants.push_back(name);
    }
    return tenants;
  }
  Result<std::vector<Digest>> list_uploads(const Digest& after, size_t limit) override {
    std::set<Digest> all;
    for (const auto& [tenant, own] : uploads) {
      for (const auto& [digest, upload] : own) {
        if (digest > after) all.insert(digest);
      }
    }
    std::vector<Digest> list(all.begin(), all.end());
    list.resize(std::min(list.size(), limit));
    return list;
  }
  Result<std::map<std::string, TenantUse>> list_use() override {
    std::map<std::string, TenantUse> use;
    for (const auto& [tenant, own] : uploads) {
      if (!own.empty()) use[tenant][Quota::uploads] = own.size();
      for (const auto& [digest, upload] : own) use[tenant][Quota::blob_bytes] += upload.bytes;
    }
    for (const auto& [id, token] : tokens) {
      if (token.tenant != kEveryTenant) ++use[token.tenant][Quota::admin_tokens];
    }
    for (const auto& [name, key] : keys) {
      if (key.tenant != kEveryTenant) ++use[key.tenant][Quota::idempotency_keys];
    }
    return use;
  }

  Result<AuditHead> append_audit(AuditEntry entry) override {
    const std::lock_guard lock(mutex_);
    if (failure) return *failure;
    const AuditHead before = *audit_head();
    entry.seq = before.seq + 1;
    records.push_back({entry, audit_digest(before.digest, entry)});
    return audit_head();
  }
  Result<AuditHead> audit_head() override {
    return records.empty() ? AuditHead{} : AuditHead{records.back().entry.seq, records.back().digest};
  }
  Result<std::vector<AuditRecord>> list_audit(const AuditQuery& query) override {
    std::vector<AuditRecord> list;
    for (const AuditRecord& record : records) {
      const bool fits = (query.who.empty() || record.entry.who == query.who) &&
                        (query.action.empty() || record.entry.action == query.action);
      const bool in_time =
          (!query.since || record.entry.time >= *query.since) && (!query.until || record.entry.time < *query.until);
      if (fits && in_time && record.entry.seq > query.after && list.size() < query.limit) list.push_back(record);
    }
    return list;
  }

  Result<std::vector<AuditSegment>> list_audit_segments() override { return segments; }
  Status seal_audit(const AuditSegment& segment) override {
    const AuditHead sealed = segments.empty() ? AuditHead{} : segments.back().head;
    const bool is_there = std::ranges::any_of(records, [&](const AuditRecord& record) {
      return record.entry.seq == segment.head.seq && record.digest == segment.head.digest;
    });
    if (sealed != segment.before || !is_there || segment.head.seq >= audit_head()->seq)
      return Error(ErrorCode::conflict,
                   "sealed up to " + sealed.text() + ": a segment begins behind it and leaves the newest record");
    segments.push_back(segment);
    return {};
  }
  Result<uint64_t> forget_audit(size_t limit) override {
    const uint64_t sealed = segments.empty() ? 0 : segments.back().head.seq;
    uint64_t gone = 0;
    for (; gone < limit && !records.empty() && records.front().entry.seq <= sealed; ++gone)
      records.erase(records.begin());
    return gone;
  }
  Result<std::vector<AuditSegment>> drop_audit_segments(WallTime sealed_before) override {
    std::vector<AuditSegment> dropped;
    for (AuditSegment& segment : segments) {
      if (!segment.blob || segment.sealed >= sealed_before) continue;
      dropped.push_back(segment);
      segment.blob.reset();
      segment.bytes = 0;
    }
    return dropped;
  }

  Result<KeyClaim> claim_key(const IdempotencyKey& key, WallTime now, uint64_t of_tenant_max = UINT64_MAX) override {
    const std::lock_guard lock(mutex_);
    if (now != pruned_) std::erase_if(keys, [&](const auto& row) { return row.second.expires <= now; });
    pruned_ = now;
    const auto found = keys.find(key.name);
    if (found == keys.end()) {
      if (keys.size() >= kIdempotencyKeysMax) return Error(ErrorCode::rate_limited, "too many keys");
      const auto own = static_cast<uint64_t>(
          std::ranges::count_if(keys, [&](const auto& row) { return row.second.tenant == key.tenant; }));
      if (key.tenant != kEveryTenant && own >= of_tenant_max)
        return over_quota(Quota::idempotency_keys, key.tenant, of_tenant_max, own + 1);
      keys[key.name] = {key.body, {}, now + kIdempotencyKeptFor, key.tenant};
      return KeyClaim{};
    }
    if (found->second.body != key.body) return KeyClaim{KeyClaim::State::other_body, {}};
    if (found->second.answer.status == 0) return KeyClaim{KeyClaim::State::under_way, {}};
    return KeyClaim{KeyClaim::State::answered, found->second.answer};
  }
  Status keep_answer(const IdempotencyKey& key, const KeptAnswer& answer) override {
    const auto found = keys.find(key.name);
    if (found != keys.end() && found->second.answer.status == 0) found->second.answer = answer;
    return {};
  }
  Status release_key(const IdempotencyKey& key) override {
    const auto found = keys.find(key.name);
    if (found != keys.end() && found->second.answer.status == 0) keys.erase(found);
    return {};
  }
  Result<uint64_t> forget_keys(WallTime now) override {
    return std::erase_if(keys, [&](const auto& row) { return row.second.expires <= now; });
  }

  struct Key {
    Digest body;
    KeptAnswer answer;  // status 0: under way
    WallTime expires;
    std::string tenant;
  };
  std::map<std::string, AdminTokenRecord> tokens;
  std::map<Owned, std::map<std::string, std::string>> owners;
  std::vector<AuditRecord> records;
  std::vector<AuditSegment> segments;
  std::map<Digest, Key> keys;
  std::map<std::string, std::map<Digest, UploadRecord>> uploads;  // by tenant
  int reads = 0;
  std::optional<Error> failure;
  std::function<void()> after_read;

 private:
  std::mutex mutex_;
  WallTime pruned_;  // of keys
};

}  // namespace coterie::test
