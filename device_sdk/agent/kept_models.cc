#include "device_sdk/agent/kept_models.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/os/file.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

constexpr std::string_view kPrefix = "kept-", kSuffix = ".cotf";
constexpr size_t kJobDigits = 16;

std::string prefix_of(const JobId& job) {
  return std::string(kPrefix) + content_digest(as_bytes(job.value())).hex().substr(0, kJobDigits) + "-";
}

}  // namespace

std::string KeptModels::path(const JobId& job, const Digest& model) const {
  return directory_ + "/" + prefix_of(job) + model.hex() + std::string(kSuffix);
}

std::vector<std::string> KeptModels::names() const {
  std::vector<std::string> kept;
  const auto all = os::list_directory(directory_);
  if (!all) return kept;
  for (const std::string& name : *all) {
    if (name.starts_with(kPrefix)) kept.push_back(name);
  }
  return kept;
}

std::vector<Digest> KeptModels::of(const JobId& job) const {
  const std::string prefix = prefix_of(job);
  std::vector<Digest> models;
  for (const std::string& name : names()) {
    if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) continue;
    const std::string_view digits =
        std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - kSuffix.size());
    if (const auto model = Digest::from_hex(digits)) models.push_back(*model);
  }
  return models;
}

void KeptModels::keep_only(const JobId& job, const Digest& model) const {
  const std::string prefix = prefix_of(job);
  const std::string kept = prefix + model.hex() + std::string(kSuffix);
  std::vector<std::pair<WallTime, std::string>> others;  // of other jobs, and when they were written
  for (const std::string& name : names()) {
    if (name == kept) continue;
    const std::string file = directory_ + "/" + name;
    if (name.starts_with(prefix)) (void)os::remove_file(file);
    else others.emplace_back(os::modified(file).value_or(WallTime()), file);
  }
  // The newest of other jobs stay. What is removed is fetched whole next time, which costs bytes and nothing else.
  std::ranges::sort(others, std::greater());
  for (size_t i = kKeptModelsMax - 1; i < others.size(); ++i) (void)os::remove_file(others[i].second);
}

void KeptModels::drop_parts() const {
  for (const std::string& name : names()) {
    if (!name.ends_with(kSuffix)) (void)os::remove_file(directory_ + "/" + name);
  }
}

}  // namespace coterie
