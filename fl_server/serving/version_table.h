// VersionTable: the versions of one served model by number and digest, and which of them a name means. Pure.
//
// A name is "latest" (the largest number), "promoted" (whichever was promoted last), a number, or a digest of 64
// hexadecimal digits. No name means "promoted". Where no version was ever promoted, or none is any more, it means
// "latest". While a version is promoted that is not here, no name means nothing: applications never get what nobody has
// released. The newest kept_max versions stay, and the promoted one with them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

// What a version is to applications, which name none.
enum class Standing : uint8_t {
  latest,     // as far as this says, none is promoted: theirs, while it is the latest
  promoted,   // theirs
  candidate,  // not theirs: another is promoted, which need not be here
};

class VersionTable {
 public:
  // kept_max: at least 1.
  explicit VersionTable(size_t kept_max) : kept_max_(kept_max) {}

  // A version that is ready to answer: one that is older than those that are kept stays only if it is promoted. Gives
  // the numbers of those that go for it. conflict if the number has another digest already; the same again changes
  // nothing but the standing.
  Result<std::vector<uint64_t>> add(uint64_t number, const Digest& digest, Standing standing = Standing::latest);
  // Applications should use this one; none: no version any more, so that they get the latest. Gives those that go.
  // not_found.
  Result<std::vector<uint64_t>> promote(std::optional<uint64_t> number);
  // A version is promoted that is not here. Which of those here was promoted before goes on; nothing else is
  // applications' from now on, until the next promote.
  void withhold() { is_released_ = true; }
  // This one answers no more. Where it was promoted, no version is applications'. Whether it was there.
  bool remove(uint64_t number);
  // Those that are neither the latest nor promoted answer no more; which they were.
  std::vector<uint64_t> drop_spares();
  // not_found, saying which there are; unavailable (the promoted version is not here).
  Result<uint64_t> resolve(std::string_view name) const;

  // For those who name no version: what "" means; but where the promoted version is not the latest, canary_percent of a
  // hundred hashes are for the latest.
  Result<uint64_t> choose(uint64_t hash, uint32_t canary_percent) const;
  // The latest version, where another is promoted: what answers can be compared with. None otherwise.
  std::optional<uint64_t> candidate() const;

  std::optional<uint64_t> promoted() const { return promoted_; }
  // Applications get a promoted version, or nothing.
  bool is_released() const { return is_released_; }
  const std::map<uint64_t, Digest>& versions() const { return versions_; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  std::vector<uint64_t> let_go();
  std::vector<uint64_t> after(std::vector<uint64_t> gone);
  Error unknown(std::string_view name) const;

  size_t kept_max_;
  std::map<uint64_t, Digest> versions_;
  std::optional<uint64_t> promoted_;
  bool is_released_ = false;
  StepCheck step_check_;
};

}  // namespace coterie
