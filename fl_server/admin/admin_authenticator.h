// AdminAuthenticator: whose token a request shows. Thread-safe.
//
// The token of the data directory is compared with its digest: it is 256 random bits, made here. Named tokens
// are in the store as slow hashes, which cost tens of milliseconds each. So a token that was right is
// remembered for kRememberedFor, by a digest under a key of this process alone; and hashes that come to nothing
// are limited: of one token id from one address, then of an address, so that who has an expired token holds up
// nobody but themselves. Beyond kFailedHashesPerSecondMax, of all, everybody who is not remembered has to wait:
// that takes many addresses. What has not the form of a token costs nothing and is not limited. An id that does not
// exist costs a look into the store: it is remembered for kUnknownFor, and an address may show so many of them and no
// more.
//
// Tokens of an identity provider are not in the store: who verifies them says at once who they are.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "fl_server/core/token_buckets.h"
#include "fl_server/store/admin_store.h"
#include "secure/crypto/mac.h"

namespace coterie {

class AdminAuthenticator {
 public:
  static constexpr Millis kRememberedFor{60'000};
  static constexpr size_t kRememberedMax = 1024;
  static constexpr uint32_t kFailedHashesPerSecondMax = 32;
  static constexpr Millis kUnknownFor{10'000};
  static constexpr size_t kUnknownMax = 1024;  // ids
  static constexpr TokenBucketSettings kUnknownOfAddress{.per_second = 8, .burst = 32, .callers_max = 10'000};
  static constexpr TokenBucketSettings kWrongOfToken{.per_second = 2, .burst = 4, .callers_max = 10'000};
  static constexpr TokenBucketSettings kWrongOfAddress{.per_second = 8, .burst = 8, .callers_max = 10'000};

  // Says who an identity provider's token is; empty: no provider's tokens are taken. Fast; thread-safe.
  using VerifyForeign = std::function<Result<AdminCaller>(std::string_view token, WallTime now)>;

  // `digest`: token_digest of the data directory's token.
  AdminAuthenticator(AdminStore& store, const Digest& digest, VerifyForeign verify_foreign = {});

  // Another token of the data directory: that before is nobody's from now on.
  void replace_data_directory_digest(const Digest& digest);

  // The caller that this token is remembered to stand for. Fast.
  std::optional<AdminCaller> recall(std::string_view token, Now now);

  // Who this is, or that it is nobody, where that can be said without the store; none: verify() says it. Fast.
  std::optional<Result<AdminCaller>> answer_at_once(std::string_view token, Now now);

  // As the store says. Blocks, and computes a hash if there is a token of this id. unauthenticated: unknown,
  // wrong or expired; rate_limited: see above. `address`: where it was shown.
  Result<AdminCaller> verify(std::string_view token, Now now, const CallerKey& address = {});

  // False from when the token of this id is removed, or another is that of the data directory. A token that was
  // removed before this was called is not noticed: look into the store afterwards.
  std::shared_ptr<const std::atomic<bool>> watch(const std::string& id);

  // After the token of this id was removed from the store: it is not remembered any more, nor by a verify
  // that is under way.
  void forget(const std::string& id);

 private:
  struct Remembered {
    AdminCaller caller;
    Instant until;
    WallTime expires;  // the token's own
  };
  struct DigestHash {
    size_t operator()(const Digest& digest) const;
  };
  Digest name_of(std::string_view token) const;
  // Error: this id is nobody's, or this address has shown too many that are.
  Status admit_look(const std::string& id, const CallerKey& address, Instant now);
  void was_there(const std::string& id);
  void was_unknown(const std::string& id, const CallerKey& address, Instant now);
  Status admit_hash(const CallerKey& token, const CallerKey& address, Instant now);
  void hash_was_right();
  void hash_was_wrong(const CallerKey& token, const CallerKey& address, Instant now);
  void end_watches(const std::string& id);
  void remember(std::string_view token, const AdminTokenRecord& record, Instant now, uint64_t changes);

  AdminStore& store_;
  const VerifyForeign verify_foreign_;
  MacKey key_;  // fresh in each process

  std::mutex mutex_;
  Digest data_directory_digest_;
  std::unordered_map<Digest, Remembered, DigestHash> remembered_;
  uint64_t changes_ = 0;  // calls of forget(): a row that was read before one of them may be gone
  Instant second_began_;
  uint32_t failed_hashes_ = 0;  // in that second, and those under way
  TokenBuckets wrong_of_token_, wrong_of_address_, unknown_of_address_;
  std::unordered_set<std::string> there_;             // ids that the store had, at most kUnknownMax
  std::unordered_map<std::string, Instant> unknown_;  // ids that the store does not have, and until when that counts
  std::map<std::string, std::weak_ptr<std::atomic<bool>>> watched_;  // by id of the token
};

}  // namespace coterie
