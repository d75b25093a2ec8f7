// ServedModels: which models answer by which names, and in which versions. The shell of the VersionTable: a switch is
// one assignment under a lock, and whoever has found a version keeps it until it lets go. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fl_server/serving/served_version.h"
#include "fl_server/serving/version_table.h"

namespace coterie {

inline constexpr size_t kServedNameBytesMax = 128;

class ServedModels {
 public:
  // `kept_max`: versions of a model beside the promoted one.
  explicit ServedModels(size_t kept_max) : kept_max_(kept_max) {}

  // From now on this version of the model answers to its names, to "promoted" among them if it `promotes`.
  // invalid_argument (the name is empty, too long or has another character than letters, digits, '-', '_' and '.';
  // inputs or output are not those of the model's other versions), conflict.
  Status publish(const std::string& model, std::shared_ptr<ServedVersion> version, bool promotes = false);
  // not_found
  Status promote(const std::string& model, std::optional<uint64_t> number);
  // Nobody finds it any more.
  void remove(const std::string& model);

  // not_found. An empty version name: what VersionTable::resolve says.
  Result<std::shared_ptr<ServedVersion>> find(std::string_view model, std::string_view version) const;
  // For a request that names no version: VersionTable::choose, and its candidate, if that is another version.
  struct Choice {
    std::shared_ptr<ServedVersion> version, candidate;  // candidate: null if there is none
  };
  Result<Choice> choose(std::string_view model, uint64_t hash, uint32_t canary_percent) const;
  std::vector<std::string> names() const;
  struct Listing {
    std::vector<std::shared_ptr<ServedVersion>> versions;  // by number, at least one
    std::optional<uint64_t> promoted;
  };
  Result<Listing> list(std::string_view model) const;
  bool empty() const;

 private:
  struct Entry {
    VersionTable table;
    std::map<uint64_t, std::shared_ptr<ServedVersion>> versions;
  };
  static void let_go(Entry& entry, const std::vector<uint64_t>& gone);

  const size_t kept_max_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> models_;
};

}  // namespace coterie
