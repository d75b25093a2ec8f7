#include "fl_server/admin/admin_authenticator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "secure/crypto/random.h"
#include "secure/crypto/slow_hash.h"
#include "secure/identity/bearer_token.h"

namespace coterie {
namespace {

constexpr Millis kSecond{1000};
constexpr std::string_view kDomain = "coterie/v1/remembered-admin-token";

constexpr ptrdiff_t kDotsOfJwt = 2;

}  // namespace

AdminAuthenticator::AdminAuthenticator(AdminStore& store, const Digest& digest, VerifyForeign verify_foreign)
    : store_(store),
      verify_foreign_(std::move(verify_foreign)),
      data_directory_digest_(digest),
      wrong_of_token_(kWrongOfToken, random_u64()),
      wrong_of_address_(kWrongOfAddress, random_u64()),
      unknown_of_address_(kUnknownOfAddress, random_u64()) {
  fill_random(key_.mutable_bytes());
}

void AdminAuthenticator::replace_data_directory_digest(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  data_directory_digest_ = digest;
  end_watches(std::string(kDataDirectoryTokenId));
}

size_t AdminAuthenticator::DigestHash::operator()(const Digest& digest) const {
  size_t hash;  // keyed: nobody outside can aim at a bucket
  std::memcpy(&hash, digest.bytes.data(), sizeof hash);
  return hash;
}

Digest AdminAuthenticator::name_of(std::string_view token) const { return mac(key_, kDomain, as_bytes(token)); }

std::optional<AdminCaller> AdminAuthenticator::recall(std::string_view token, Now now) {
  const Digest digest = token_digest(token);
  const Digest name = name_of(token);
  const std::lock_guard lock(mutex_);
  if (equal_in_constant_time(digest.view(), data_directory_digest_.view())) {
    return AdminCaller{std::string(kDataDirectoryTokenId), kEveryRoleOfPeople};
  }
  const auto found = remembered_.find(name);
  if (found == remembered_.end()) return std::nullopt;
  if (now.instant < found->second.until && now.wall < found->second.expires) return found->second.caller;
  remembered_.erase(found);
  return std::nullopt;
}

std::optional<Result<AdminCaller>> AdminAuthenticator::answer_at_once(std::string_view token, Now now) {
  if (std::optional<AdminCaller> known = recall(token, now)) return *std::move(known);
  if (admin_token_id(token)) return std::nullopt;
  if (!verify_foreign_ || std::ranges::count(token, '.') != kDotsOfJwt) return bearer_token_needed();
  return verify_foreign_(token, now.wall);
}

Result<AdminCaller> AdminAuthenticator::verify(std::string_view token, Now now, const CallerKey& address) {
  const std::optional<std::string> id = admin_token_id(token);
  if (!id) return bearer_token_needed();
  COT_TRY(admit_look(*id, address, now.instant));
  uint64_t changes = 0;
  {
    const std::lock_guard lock(mutex_);
    changes = changes_;
  }
  const Result<AdminTokenRecord> record = store_.get_admin_token(*id);
  if (!record && record.error().code() == ErrorCode::not_found) {
    was_unknown(*id, address, now.instant);
    return bearer_token_needed();
  }
  if (!record) return record.error();
  was_there(*id);
  const CallerKey token_there{std::hash<std::string>{}(*id), CallerHash{0}(address)};
  COT_TRY(admit_hash(token_there, address, now.instant));
  if (!slow_hash_matches(record->hash, token)) {
    hash_was_wrong(token_there, address, now.instant);
    return bearer_token_needed();
  }
  if (now.wall >= record->expires) {  // counts as wrong: else its holder could have us compute hashes without end
    hash_was_wrong(token_there, address, now.instant);
    return Error(ErrorCode::unauthenticated, "this token has expired; ask a security_admin for a new one");
  }
  hash_was_right();
  remember(token, *record, now.instant, changes);
  return AdminCaller{record->id, record->roles, record->tenant, record->expires};
}

Status AdminAuthenticator::admit_look(const std::string& id, const CallerKey& address, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = unknown_.find(id);
  if (found != unknown_.end() && now < found->second) return bearer_token_needed();
  // Strangers behind the same address keep nobody out whose token has been there.
  if (there_.contains(id)) return {};
  if (!unknown_of_address_.look(address, now)) return {};
  return Error(ErrorCode::rate_limited,
               "too many tokens that do not exist came from this address; try again in a second");
}

void AdminAuthenticator::was_there(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (there_.size() >= kUnknownMax) there_.clear();
  there_.insert(id);
}

void AdminAuthenticator::was_unknown(const std::string& id, const CallerKey& address, Instant now) {
  const std::lock_guard lock(mutex_);
  there_.erase(id);
  (void)unknown_of_address_.take(address, now);
  if (unknown_.size() >= kUnknownMax) unknown_.clear();
  unknown_[id] = now + kUnknownFor;
}

Status AdminAuthenticator::admit_hash(const CallerKey& token, const CallerKey& address, Instant now) {
  const std::lock_guard lock(mutex_);
  if (now >= second_began_ + kSecond) {
    second_began_ = now;
    failed_hashes_ = 0;
  }
  const bool asks_too_often = wrong_of_token_.look(token, now) || wrong_of_address_.look(address, now);
  if (asks_too_often || failed_hashes_ >= kFailedHashesPerSecondMax) {
    return Error(ErrorCode::rate_limited, "too many tokens were wrong within a second; try again in a second");
  }
  ++failed_hashes_;  // until it turns out to be right
  return {};
}

void AdminAuthenticator::hash_was_right() {
  const std::lock_guard lock(mutex_);
  if (failed_hashes_ > 0) --failed_hashes_;
}

void AdminAuthenticator::hash_was_wrong(const CallerKey& token, const CallerKey& address, Instant now) {
  const std::lock_guard lock(mutex_);
  (void)wrong_of_token_.take(token, now);
  (void)wrong_of_address_.take(address, now);
}

std::shared_ptr<const std::atomic<bool>> AdminAuthenticator::watch(const std::string& id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(watched_, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<std::atomic<bool>> stands = watched_[id].lock();
  if (!stands) {
    stands = std::make_shared<std::atomic<bool>>(true);
    watched_[id] = stands;
  }
  return stands;
}

// Under mutex_.
void AdminAuthenticator::end_watches(const std::string& id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  if (const auto stands = found->second.lock()) *stands = false;
  watched_.erase(found);
}

void AdminAuthenticator::remember(std::string_view token, const AdminTokenRecord& record, Instant now,
                                  uint64_t changes) {
  const Digest name = name_of(token);
  const std::lock_guard lock(mutex_);
  if (changes != changes_) return;
  if (remembered_.size() >= kRememberedMax) remembered_.clear();
  remembered_[name] = {{record.id, record.roles, record.tenant, record.expires}, now + kRememberedFor, record.expires};
}

void AdminAuthenticator::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  ++changes_;
  end_watches(id);
  std::erase_if(remembered_, [&](const auto& entry) { return entry.second.caller.id == id; });
}

}  // namespace coterie
