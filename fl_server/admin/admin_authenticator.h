// AdminAuthenticator: whose token a request shows. Thread-safe.
//
// The token of the data directory is compared with its digest: it is 256 random bits, made here. Named tokens
// are in the store as slow hashes, which cost tens of milliseconds each. So a token that was right is
// remembered for kRememberedFor, by a digest under a key of this process alone; and of hashes that come to
// nothing at most kFailedHashesPerSecondMax are computed in a second, whoever asks: after that everybody who
// is not remembered has to wait. What has not the form of a token, or an id that does not exist, costs no
// hash and so is not limited.
#pragma once

#include <mutex>
#include <unordered_map>

#include "fl_server/store/admin_store.h"
#include "secure/crypto/mac.h"

namespace coterie {

class AdminAuthenticator {
 public:
  static constexpr Millis kRememberedFor{60'000};
  static constexpr size_t kRememberedMax = 1024;
  static constexpr uint32_t kFailedHashesPerSecondMax = 8;

  // `digest`: token_digest of the data directory's token.
  AdminAuthenticator(AdminStore& store, const Digest& digest);

  // Another token of the data directory: that before is nobody's from now on.
  void replace_data_directory_digest(const Digest& digest);

  // The caller that this token is remembered to stand for. Fast.
  std::optional<AdminCaller> recall(std::string_view token, Now now);

  // As the store says. Blocks, and computes a hash if there is a token of this id. unauthenticated: unknown,
  // wrong or expired; rate_limited: see above.
  Result<AdminCaller> verify(std::string_view token, Now now);

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
  Status admit_hash(Instant now);
  void hash_was_right();
  void remember(std::string_view token, const AdminTokenRecord& record, Instant now, uint64_t changes);

  AdminStore& store_;
  MacKey key_;  // fresh in each process

  std::mutex mutex_;
  Digest data_directory_digest_;
  std::unordered_map<Digest, Remembered, DigestHash> remembered_;
  uint64_t changes_ = 0;  // calls of forget(): a row that was read before one of them may be gone
  Instant second_began_;
  uint32_t failed_hashes_ = 0;  // in that second, and those under way
};

}  // namespace coterie
