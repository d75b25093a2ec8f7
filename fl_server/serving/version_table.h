// VersionTable: the versions of one served model by number and digest, and which of them a name means. Pure.
//
// A name is "latest" (the largest number), "promoted" (whichever was promoted last), a number, or a digest of 64
// hexadecimal digits. No name means "promoted" where a version is, else "latest". The newest kept_max versions stay,
// and the promoted one with them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

class VersionTable {
 public:
  // kept_max: at least 1.
  explicit VersionTable(size_t kept_max) : kept_max_(kept_max) {}

  // A version that is ready to answer, and whether applications should use it from now on: one that is older than those
  // that are kept stays only then. Gives the numbers of those that go for it. conflict if the number has another digest
  // already; the same again changes nothing.
  Result<std::vector<uint64_t>> add(uint64_t number, const Digest& digest, bool promotes = false);
  // Applications should use this one; none: no version any more. Gives those that go. not_found.
  Result<std::vector<uint64_t>> promote(std::optional<uint64_t> number);
  // This one answers no more: where it was promoted, none is. Whether it was there.
  bool remove(uint64_t number);
  // Those that are neither the latest nor promoted answer no more; which they were.
  std::vector<uint64_t> drop_spares();
  // not_found, saying which there are.
  Result<uint64_t> resolve(std::string_view name) const;

  // For those who name no version: what "" means; but where the promoted version is not the latest, canary_percent of a
  // hundred hashes are for the latest.
  Result<uint64_t> choose(uint64_t hash, uint32_t canary_percent) const;
  // The latest version, where another is promoted: what answers can be compared with. None otherwise.
  std::optional<uint64_t> candidate() const;

  std::optional<uint64_t> promoted() const { return promoted_; }
  const std::map<uint64_t, Digest>& versions() const { return versions_; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  std::vector<uint64_t> let_go();
  Error unknown(std::string_view name) const;

  size_t kept_max_;
  std::map<uint64_t, Digest> versions_;
  std::optional<uint64_t> promoted_;
};

}  // namespace coterie
