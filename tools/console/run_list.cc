#include "tools/console/run_list.h"

#include <algorithm>

#include "secure/crypto/sha256.h"
#include "tools/compare/sweep_folder.h"

namespace coterie {
namespace {

constexpr size_t kIdDigits = 16;
constexpr uint64_t kSweepBytesMax = 1 << 20;

std::string below(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

bool is_run(const FolderFiles& files, const std::string& folder) {
  constexpr const char* kFiles[] = {"summary.json", "metrics.csv", "result.json", "held-out.cotf"};
  return std::ranges::any_of(kFiles, [&](const char* name) { return files.has(below(folder, name)); });
}

class Lister {
 public:
  explicit Lister(const FolderFiles& files) : files_(files) {}

  RunList list() && {
    if (!add_at("")) {
      for (const std::string& folder : files_.folders("")) add_at(folder);
    }
    if (list_.runs.empty() && list_.problem.empty())
      add({.id = {}, .folder = {}, .name = files_.name(), .variant = {}});
    return std::move(list_);
  }

 private:
  bool add_at(const std::string& folder) {
    if (files_.has(below(folder, "sweep.json"))) {
      add_sweep(folder);
    } else if (is_run(files_, folder)) {
      add({.id = {}, .folder = folder, .name = folder.empty() ? files_.name() : folder, .variant = {}});
    } else {
      return false;
    }
    return true;
  }

  void add_sweep(const std::string& folder) {
    const std::string file = below(folder, "sweep.json");
    const Result<Bytes> text = files_.read(file, kSweepBytesMax);
    const Result<SweepPlan> plan = text ? parse_sweep(as_text(*text)) : Result<SweepPlan>(text.error());
    if (!plan) {
      list_.problem = plan.error().with_context(file).message();
      return;
    }
    size_t left = plan->variants.size() * plan->seeds.size();
    for (size_t variant = 0; variant < plan->variants.size(); ++variant) {
      for (const uint64_t seed : plan->seeds) {
        if (list_.runs.size() == kRunsShownMax) {
          list_.left_out += left;
          return;
        }
        --left;
        const std::string& name = plan->variants[variant];
        std::string run = sweep_run_folder(folder, variant, seed);
        if (folder.empty()) run.erase(0, 1);
        add({.id = {}, .folder = std::move(run), .name = name + ", seed " + std::to_string(seed), .variant = name});
      }
    }
  }

  void add(ListedRun run) {
    if (list_.runs.size() == kRunsShownMax) {
      ++list_.left_out;
      return;
    }
    run.id = run_id(run.folder);
    list_.runs.push_back(std::move(run));
  }

  const FolderFiles& files_;
  RunList list_;
};

}  // namespace

std::string run_id(std::string_view folder) { return sha256(as_bytes(folder)).hex().substr(0, kIdDigits); }

RunList list_runs(const FolderFiles& files) { return Lister(files).list(); }

}  // namespace coterie
