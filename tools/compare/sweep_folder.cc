#include "tools/compare/sweep_folder.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "fl_server/json/json_reader.h"
#include "tools/demo/run_folder.h"

namespace coterie {
namespace {

constexpr const char* kSchema = "coterie.sweep.v1";
constexpr uint64_t kSweepBytesMax = 1 << 20;

}  // namespace

std::string sweep_json(const SweepPlan& plan) {
  const nlohmann::ordered_json json = {
      {"schema", kSchema}, {"variants", plan.variants}, {"seeds", plan.seeds}, {"request_digest", plan.request_digest}};
  return json.dump(2) + "\n";
}

Result<SweepPlan> parse_sweep(std::string_view text) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json) return Error(ErrorCode::malformed, listed(problems));
  SweepPlan plan;
  std::string schema;
  JsonReader reader(*json, "", problems);
  reader.read("schema", schema);
  reader.read("variants", plan.variants);
  reader.read("request_digest", plan.request_digest);
  const auto seeds = json->find("seeds");
  const bool has_seeds = reader.has("seeds") && seeds->is_array();
  for (const auto& seed : has_seeds ? *seeds : nlohmann::json::array()) {
    if (!seed.is_number_unsigned()) reader.problem("seeds", "must be whole numbers");
    else plan.seeds.push_back(seed.get<uint64_t>());
  }
  if (schema != kSchema) reader.problem("schema", "must be " + std::string(kSchema));
  if (!problems.empty()) return Error(ErrorCode::malformed, listed(problems));
  if (plan.variants.empty() || plan.variants.size() > kVariantsMax || plan.seeds.empty()) {
    return Error(ErrorCode::malformed,
                 "a sweep has from 1 to " + std::to_string(kVariantsMax) + " variants, and at least one seed");
  }
  return plan;
}

bool is_sweep_folder(const std::string& folder) { return os::exists(folder + "/sweep.json"); }

std::string sweep_run_folder(const std::string& folder, size_t variant, uint64_t seed) {
  return folder + "/" + device_label(static_cast<uint32_t>(variant + 1)) + "/seed-" + std::to_string(seed);
}

Result<SweepPlan> read_sweep(const std::string& folder) {
  const std::string file = folder + "/sweep.json";
  COT_ASSIGN(const Bytes bytes, os::read_file(file, kSweepBytesMax));
  Result<SweepPlan> plan = parse_sweep(as_text(bytes));
  if (!plan) return plan.error().with_context(file);
  return plan;
}

Result<std::vector<Variant>> read_sweep_runs(const std::string& folder) {
  COT_ASSIGN(const SweepPlan plan, read_sweep(folder));
  std::vector<Variant> variants;
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    Variant variant{.name = plan.variants[i], .runs = {}};
    for (const uint64_t seed : plan.seeds) {
      const std::string run_folder = sweep_run_folder(folder, i, seed);
      if (!os::exists(run_folder + "/summary.json")) continue;
      COT_ASSIGN(RunRecord run, read_run(run_folder));
      variant.runs.push_back(std::move(run));
    }
    if (!variant.runs.empty()) variants.push_back(std::move(variant));
  }
  if (variants.empty()) return Error(ErrorCode::not_found, folder + ": no run of this sweep is done");
  return variants;
}

}  // namespace coterie
