#include "fl_server/serving/version_table.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace coterie {

// The newest stay, and the promoted one beside them.
std::vector<uint64_t> VersionTable::let_go() {
  std::vector<uint64_t> gone;
  size_t newer = versions_.size();
  for (auto version = versions_.begin(); version != versions_.end(); --newer) {
    if (newer <= kept_max_ || version->first == promoted_) {
      ++version;
      continue;
    }
    gone.push_back(version->first);
    version = versions_.erase(version);
  }
  return gone;
}

Result<std::vector<uint64_t>> VersionTable::add(uint64_t number, const Digest& digest, Standing standing) {
  const auto [place, is_new] = versions_.try_emplace(number, digest);
  if (!is_new && place->second != digest) {
    return Error(ErrorCode::conflict, "version " + std::to_string(number) + " is " + place->second.hex() +
                                          " already, and a version never changes: give " + digest.hex() +
                                          " another number");
  }
  if (standing == Standing::promoted) promoted_ = number;
  if (standing != Standing::latest) is_released_ = true;
  return after(let_go());
}

Result<std::vector<uint64_t>> VersionTable::promote(std::optional<uint64_t> number) {
  if (number && !versions_.contains(*number)) return unknown(std::to_string(*number));
  promoted_ = number;
  is_released_ = number.has_value();
  return after(let_go());
}

bool VersionTable::remove(uint64_t number) {
  if (promoted_ == number) promoted_.reset();
  const bool was_there = versions_.erase(number) > 0;
  if (step_check_.is_due(versions_.size())) check();
  return was_there;
}

std::vector<uint64_t> VersionTable::drop_spares() {
  std::vector<uint64_t> gone;
  for (const auto& [number, digest] : versions_) {
    if (number != promoted_ && number != versions_.rbegin()->first) gone.push_back(number);
  }
  for (const uint64_t number : gone) versions_.erase(number);
  return after(std::move(gone));
}

// What a step has let go.
std::vector<uint64_t> VersionTable::after(std::vector<uint64_t> gone) {
  for (const uint64_t number : gone) {
    COT_INVARIANT(number != promoted_ && !versions_.contains(number), "what is let go is nobody's any more");
  }
  if (step_check_.is_due(versions_.size())) check();
  return gone;
}

Error VersionTable::unknown(std::string_view name) const {
  std::string known;
  for (const auto& [number, digest] : versions_) known += (known.empty() ? "" : ", ") + std::to_string(number);
  const bool is_clean = name.size() <= 64 && std::ranges::all_of(name, [](char c) { return c > 0x20 && c < 0x7f; });
  return Error(ErrorCode::not_found, "there is no version " + std::string(is_clean ? name : "of this name") +
                                         "; there are " + (known.empty() ? "none" : known) +
                                         ", latest, promoted (once one is), and the digest of each");
}

Result<uint64_t> VersionTable::resolve(std::string_view name) const {
  if ((name.empty() || name == "promoted") && promoted_) return *promoted_;
  if ((name.empty() || name == "promoted") && is_released_) {
    return Error(ErrorCode::unavailable,
                 "the promoted version is not loaded here, and no other answers in its place: ask again, or name one");
  }
  if (name == "promoted") return unknown(name);
  if ((name.empty() || name == "latest") && !versions_.empty()) return versions_.rbegin()->first;
  uint64_t number = 0;
  const auto [read, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && read == name.data() + name.size() && versions_.contains(number)) return number;
  if (const Result<Digest> digest = Digest::from_hex(name)) {
    // The same model may have been published twice: the newest number then.
    for (auto version = versions_.rbegin(); version != versions_.rend(); ++version) {
      if (version->second == *digest) return version->first;
    }
  }
  return unknown(name);
}

std::optional<uint64_t> VersionTable::candidate() const {
  if (!promoted_ || versions_.empty() || versions_.rbegin()->first == *promoted_) return std::nullopt;
  return versions_.rbegin()->first;
}

Result<uint64_t> VersionTable::choose(uint64_t hash, uint32_t canary_percent) const {
  const std::optional<uint64_t> latest = candidate();
  if (latest && hash % 100 < canary_percent) return *latest;
  return resolve("");
}

void VersionTable::check() const {
  COT_INVARIANT(!promoted_ || versions_.contains(*promoted_), "a version that is promoted is there");
  COT_INVARIANT(!promoted_ || is_released_, "while a version is promoted applications get no other");
  COT_INVARIANT(versions_.size() <= kept_max_ + (promoted_ ? 1 : 0),
                "no more versions are kept than may be, and the promoted one");
}

}  // namespace coterie
