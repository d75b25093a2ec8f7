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

void ServedModels::let_go(Entry& entry, const std::vector<uint64_t>& gone) {
  for (const uint64_t number : gone) entry.versions.erase(number);
}

Status ServedModels::publish(const std::string& model, std::shared_ptr<ServedVersion> version, bool promotes) {
  if (!is_name(model)) {
    return Error(ErrorCode::invalid_argument,
                 "a served model's name has 1 to 128 letters, digits, '-', '_' and '.', and does not begin with '.'");
  }
  std::vector<std::shared_ptr<ServedVersion>> freed;  // outside of the lock
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = models_.try_emplace(model, Entry{VersionTable(kept_max_), {}});
  Entry& entry = place->second;
  if (!is_new && entry.versions.begin()->second->interface() != version->interface()) {
    return Error(ErrorCode::invalid_argument, "version " + version->name() + " of model " + model +
                                                  " has other inputs or another output than those before it; serve it "
                                                  "by another name");
  }
  COT_ASSIGN(const std::vector<uint64_t> gone, entry.table.add(version->number(), version->digest(), promotes));
  for (const uint64_t number : gone) {
    if (const auto old = entry.versions.find(number); old != entry.versions.end()) freed.push_back(old->second);
  }
  entry.versions.try_emplace(version->number(), std::move(version));
  let_go(entry, gone);
  return {};
}

Status ServedModels::promote(const std::string& model, std::optional<uint64_t> number) {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end()) return no_such_model(model);
  COT_ASSIGN(const std::vector<uint64_t> gone, found->second.table.promote(number));
  let_go(found->second, gone);
  return {};
}

void ServedModels::remove(const std::string& model) {
  const std::lock_guard lock(mutex_);
  models_.erase(model);
}

Result<std::shared_ptr<ServedVersion>> ServedModels::find(std::string_view model, std::string_view version) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end()) return no_such_model(model);
  const Result<uint64_t> number = found->second.table.resolve(version);
  if (!number) return number.error().with_context("model " + std::string(model));
  return found->second.versions.at(*number);
}

Result<ServedModels::Choice> ServedModels::choose(std::string_view model, uint64_t hash,
                                                  uint32_t canary_percent) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end()) return no_such_model(model);
  const Entry& entry = found->second;
  COT_ASSIGN(const uint64_t number, entry.table.choose(hash, canary_percent));
  const std::optional<uint64_t> candidate = entry.table.candidate();
  return Choice{entry.versions.at(number),
                candidate && *candidate != number ? entry.versions.at(*candidate) : std::shared_ptr<ServedVersion>()};
}

std::vector<std::string> ServedModels::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : models_) names.push_back(name);
  return names;
}

Result<ServedModels::Listing> ServedModels::list(std::string_view model) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end()) return no_such_model(model);
  Listing listing{{}, found->second.table.promoted()};
  for (const auto& [number, version] : found->second.versions) listing.versions.push_back(version);
  return listing;
}

bool ServedModels::empty() const {
  const std::lock_guard lock(mutex_);
  return models_.empty();
}

}  // namespace coterie
