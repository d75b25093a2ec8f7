#include "fl_server/serving/served_models.h"

#include <algorithm>

namespace coterie {
namespace {

bool is_name(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= kServedNameBytesMax && name[0] != '.' && std::ranges::all_of(name, is_good);
}

Error no_such_model(std::string_view model) {
  return Error(ErrorCode::not_found, "there is no model " + std::string(is_name(model) ? model : "of this name"));
}

}  // namespace

// Whatever is freed goes after the lock.
void ServedModels::let_go(Entry& entry, const std::vector<uint64_t>& gone, Versions& freed) {
  for (const uint64_t number : gone) {
    if (auto version = entry.versions.extract(number)) freed.push_back(std::move(version.mapped()));
  }
}

Status ServedModels::publish(const std::string& model, std::shared_ptr<ServedVersion> version, Standing standing,
                             std::string_view tenant) {
  if (!is_name(model)) {
    return Error(ErrorCode::invalid_argument,
                 "a served model's name has 1 to 128 letters, digits, '-', '_' and '.', and does not begin with '.'");
  }
  Versions freed;
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = models_.try_emplace(model, Entry{VersionTable(kept_max_), {}, std::string(tenant)});
  Entry& entry = place->second;
  if (!is_new && !entry.versions.begin()->second->answers_as(*version)) {
    return Error(ErrorCode::invalid_argument, "version " + version->name() + " of model " + model +
                                                  " has other inputs or outputs than those before it; serve it "
                                                  "by another name");
  }
  COT_ASSIGN(const std::vector<uint64_t> gone, entry.table.add(version->number(), version->digest(), standing));
  entry.versions.try_emplace(version->number(), std::move(version));
  let_go(entry, gone, freed);
  return {};
}

void ServedModels::withhold(const std::string& model) {
  const std::lock_guard lock(mutex_);
  if (const auto found = models_.find(model); found != models_.end()) found->second.table.withhold();
}

Status ServedModels::promote(const std::string& model, std::optional<uint64_t> number) {
  Versions freed;
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end()) return no_such_model(model);
  COT_ASSIGN(const std::vector<uint64_t> gone, found->second.table.promote(number));
  let_go(found->second, gone, freed);
  return {};
}

void ServedModels::withdraw(const std::string& model, uint64_t number) {
  Versions freed;
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end() || !found->second.table.remove(number)) return;
  let_go(found->second, {number}, freed);
  if (found->second.versions.empty()) models_.erase(found);
}

void ServedModels::remove(const std::string& model) {
  decltype(models_)::node_type freed;
  const std::lock_guard lock(mutex_);
  freed = models_.extract(model);
}

void ServedModels::set_aliases(ModelAliases aliases) {
  const std::lock_guard lock(mutex_);
  aliases_.swap(aliases);
}

size_t ServedModels::drop_spares() {
  Versions freed;
  const std::lock_guard lock(mutex_);
  for (auto& [name, entry] : models_) let_go(entry, entry.table.drop_spares(), freed);
  return freed.size();
}

std::optional<std::pair<std::string, uint64_t>> ServedModels::drop_unpromoted() {
  Versions freed;
  const std::lock_guard lock(mutex_);
  auto from = models_.end();
  uint64_t number = 0, bytes = 0;
  bool is_candidate = false;
  for (auto entry = models_.begin(); entry != models_.end(); ++entry) {
    const VersionTable& table = entry->second.table;
    for (const auto& [version, loaded] : entry->second.versions) {
      if (version == table.promoted()) continue;
      const bool stands_beside = table.promoted().has_value();
      if (from != models_.end() && std::pair(stands_beside, loaded->bytes()) <= std::pair(is_candidate, bytes))
        continue;
      from = entry;
      number = version;
      bytes = loaded->bytes();
      is_candidate = stands_beside;
    }
  }
  if (from == models_.end()) return std::nullopt;
  std::pair gone(from->first, number);
  from->second.table.remove(number);
  let_go(from->second, {number}, freed);
  if (from->second.versions.empty()) models_.erase(from);
  return gone;
}

Result<ServedModels::Found> ServedModels::entry_of(std::string_view model, std::string_view caller) const {
  auto found = models_.find(model);
  bool is_population = false;
  if (found == models_.end()) {
    const auto alias = aliases_.find(model);
    if (alias != aliases_.end()) found = models_.find(alias->second);
    is_population = true;
  }
  if (found == models_.end() || !tenant_sees(caller, found->second.tenant)) return no_such_model(model);
  return Found{&found->second, is_population};
}

Result<std::shared_ptr<ServedVersion>> ServedModels::find(std::string_view model, std::string_view version,
                                                          std::string_view caller) const {
  const std::lock_guard lock(mutex_);
  COT_ASSIGN(const Found found, entry_of(model, caller));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  constexpr size_t kNumberCharsMax = 20;  // a digest is longer
  if (found.is_population && !version.empty() && version.size() <= kNumberCharsMax &&
      std::ranges::all_of(version, is_digit)) {
    return Error(ErrorCode::not_found, "model " + std::string(model) +
                                           " is a population's, whose jobs count versions each for itself: name a "
                                           "version by its digest, or ask the job");
  }
  const bool wants_promoted = found.is_population && version.empty();
  const Result<uint64_t> number = found.entry->table.resolve(wants_promoted ? "promoted" : version);
  if (!number) return number.error().with_context("model " + std::string(model));
  return found.entry->versions.at(*number);
}

Result<ServedModels::Choice> ServedModels::choose(std::string_view model, uint64_t hash, uint32_t canary_percent,
                                                  std::string_view caller) const {
  const std::lock_guard lock(mutex_);
  COT_ASSIGN(const Found found, entry_of(model, caller));
  const Entry& entry = *found.entry;
  if (found.is_population && !entry.table.promoted()) return no_such_model(model);
  const Result<uint64_t> number = entry.table.choose(hash, canary_percent);
  if (!number) return number.error().with_context("model " + std::string(model));
  const std::optional<uint64_t> candidate = entry.table.candidate();
  return Choice{entry.versions.at(*number),
                candidate && *candidate != *number ? entry.versions.at(*candidate) : std::shared_ptr<ServedVersion>()};
}

Result<ServedModels::Listing> ServedModels::list(std::string_view model, std::string_view caller) const {
  const std::lock_guard lock(mutex_);
  COT_ASSIGN(const Found found, entry_of(model, caller));
  Listing listing{{}, found.entry->table.promoted(), found.is_population};
  for (const auto& [number, version] : found.entry->versions) listing.versions.push_back(version);
  return listing;
}

LoadedModels ServedModels::loaded() const {
  const std::lock_guard lock(mutex_);
  LoadedModels loaded;
  for (const auto& [name, entry] : models_) {
    LoadedModel& model = loaded[name];
    model.promoted = entry.table.promoted();
    model.is_released = entry.table.is_released();
    for (const auto& [number, version] : entry.versions) model.versions.insert(number);
  }
  return loaded;
}

uint64_t ServedModels::bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [name, entry] : models_) {
    for (const auto& [number, version] : entry.versions) bytes += version->bytes();
  }
  return bytes;
}

bool ServedModels::empty() const {
  const std::lock_guard lock(mutex_);
  return models_.empty();
}

}  // namespace coterie
