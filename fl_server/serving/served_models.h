// ServedModels: which models answer by which names, in which versions, and to whom. The shell of the VersionTable: a
// switch is one assignment under a lock, and whoever has found a version keeps it until it lets go. Thread-safe.
//
// A model is one tenant's. A caller finds the models of his tenant alone: what is another's is not_found in the words
// for one that does not exist. A population's name stands for one model, of which the promoted version answers; there a
// version is named by its digest, as numbers are each job's own.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fl_server/records/tenant.h"
#include "fl_server/serving/served_version.h"
#include "fl_server/serving/serving_plan.h"
#include "fl_server/serving/version_table.h"

namespace coterie {

inline constexpr size_t kServedNameBytesMax = 128;

class ServedModels {
 public:
  // `kept_max`: versions of a model beside the promoted one.
  explicit ServedModels(size_t kept_max) : kept_max_(kept_max) {}

  // From now on this version of the model answers to its names, as its standing says. `tenant`: whose it is, for the
  // model's first version. invalid_argument (the name is empty, too long or has another character
  // than letters, digits, '-', '_' and '.'; inputs or output are not those of the model's other versions), conflict.
  Status publish(const std::string& model, std::shared_ptr<ServedVersion> version, Standing standing = Standing::latest,
                 std::string_view tenant = kDefaultTenant);
  // A version of it is promoted that is not here: VersionTable::withhold.
  void withhold(const std::string& model);
  // not_found
  Status promote(const std::string& model, std::optional<uint64_t> number);
  // Nobody finds this version any more; with its last version the model goes.
  void withdraw(const std::string& model, uint64_t number);
  // Nobody finds it any more.
  void remove(const std::string& model);
  // Populations and the models that they stand for, from now on; all of them. A model's own name goes before.
  void set_aliases(ModelAliases aliases);
  // All versions go that are neither their model's latest nor promoted. How many.
  size_t drop_spares();
  // One version goes that is not promoted, so that a promoted one finds room: beside a promoted one if there is such,
  // else of a model of which none is promoted. The largest of them. Which; none: all that is left is promoted.
  std::optional<std::pair<std::string, uint64_t>> drop_unpromoted();

  // not_found; unavailable (the promoted version is not here). An empty version name: what VersionTable::resolve says.
  Result<std::shared_ptr<ServedVersion>> find(std::string_view model, std::string_view version,
                                              std::string_view caller = kEveryTenant) const;
  // For a request that names no version: VersionTable::choose, and its candidate, if that is another version.
  struct Choice {
    std::shared_ptr<ServedVersion> version, candidate;  // candidate: null if there is none
  };
  Result<Choice> choose(std::string_view model, uint64_t hash, uint32_t canary_percent,
                        std::string_view caller = kEveryTenant) const;
  struct Listing {
    std::vector<std::shared_ptr<ServedVersion>> versions;  // by number, at least one
    std::optional<uint64_t> promoted;
    bool is_population = false;
  };
  Result<Listing> list(std::string_view model, std::string_view caller = kEveryTenant) const;
  LoadedModels loaded() const;
  uint64_t bytes() const;  // of all versions that can be found
  bool empty() const;

 private:
  struct Entry {
    VersionTable table;
    std::map<uint64_t, std::shared_ptr<ServedVersion>> versions;
    std::string tenant;
  };
  using Versions = std::vector<std::shared_ptr<ServedVersion>>;
  struct Found {
    const Entry* entry;
    bool is_population = false;
  };
  static void let_go(Entry& entry, const std::vector<uint64_t>& gone, Versions& freed);
  Result<Found> entry_of(std::string_view model, std::string_view caller) const;  // under the lock

  const size_t kept_max_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> models_;
  ModelAliases aliases_;
};

}  // namespace coterie
