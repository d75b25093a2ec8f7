// Revocations: the newest list of revoked certificates that the authority gave the operator, for devices to fetch and
// for this server's own look at who wants to be in a cohort. Thread-safe.
#pragma once

#include <memory>
#include <mutex>

#include "base/bytes.h"
#include "base/result.h"
#include "secure/identity/revocation_list.h"

namespace coterie {

class Revocations {
 public:
  struct Published {
    Bytes bytes;  // as the authority signed them
    RevocationList list;
  };

  explicit Revocations(Bytes authority_key) : authority_key_(std::move(authority_key)) {}

  // In the place of the one before. What read_revocation_list() refuses; conflict: its number is lower than that of
  // the one before, which devices may have seen.
  Status take(Bytes bytes);
  std::shared_ptr<const Published> newest() const;  // null: there was none

 private:
  const Bytes authority_key_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Published> newest_;
};

}  // namespace coterie
