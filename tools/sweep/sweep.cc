#include "tools/sweep/sweep.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/os/file.h"
#include "secure/crypto/digest.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/compare/comparison.h"
#include "tools/compare/sweep_folder.h"
#include "tools/demo/progress.h"
#include "tools/simulate/job_file.h"
#include "tools/simulate/mpi/open_ranks.h"
#include "tools/simulate/simulate.h"
#include "tools/sweep/grid.h"

namespace coterie {
namespace {

struct Request {
  std::vector<JobVariant> variants;
  std::vector<JobSettings> jobs;  // of each variant
  SweepPlan plan;
};

// All that decides what the runs come to.
std::string request_digest(const SweepOptions& options, const nlohmann::json& job,
                           const std::vector<JobVariant>& variants) {
  const SimulateOptions& simulate = options.simulate;
  nlohmann::json all = {{"job", job},
                        {"devices", simulate.devices},
                        {"shards", simulate.shards},
                        {"rounds", simulate.rounds},
                        {"dropout", simulate.dropout},
                        {"speed_spread", simulate.speed_spread},
                        {"trace", simulate.trace_file},
                        {"data", simulate.demo.data},
                        {"split", to_string(simulate.demo.split)},
                        {"model", simulate.demo.model ? std::string(to_string(*simulate.demo.model)) : ""},
                        {"model_file", content_digest(simulate.demo.model_bytes).hex()}};
  if (simulate.attack.is_on()) all["attack"] = to_string(simulate.attack);
  for (const JobVariant& variant : variants) {
    nlohmann::json fields = nlohmann::json::array();
    for (const FieldValue& field : variant.fields) fields.push_back({field.path, field.value});
    all["variants"].push_back(std::move(fields));
  }
  return content_digest(as_bytes(all.dump())).hex();
}

Result<Request> prepare(const SweepOptions& options) {
  Request request;
  std::vector<FieldValues> grid;
  std::vector<std::vector<FieldValue>> list;
  for (const std::string& text : options.grid) {
    COT_ASSIGN(FieldValues values, parse_field_values(text));
    grid.push_back(std::move(values));
  }
  for (const std::string& text : options.list) {
    COT_ASSIGN(std::vector<FieldValue> fields, parse_variant(text));
    list.push_back(std::move(fields));
  }
  COT_ASSIGN(request.variants, variants_of(list, grid));
  COT_ASSIGN(const nlohmann::json job, read_job_json(options.simulate.job_file));
  for (const JobVariant& variant : request.variants) {
    const std::string where = options.simulate.job_file + " with " + variant.name;
    COT_ASSIGN(const nlohmann::json changed, with_fields(job, variant.fields));
    COT_ASSIGN(JobSettings settings, job_from_json(changed, where));
    request.jobs.push_back(std::move(settings));
    request.plan.variants.push_back(variant.name);
  }
  for (uint32_t i = 0; i < options.seeds; ++i) request.plan.seeds.push_back(options.simulate.demo.seed + i);
  request.plan.request_digest = request_digest(options, job, request.variants);
  return request;
}

// A new folder, or that of the same request, with perhaps more seeds.
Status take_folder(const std::string& folder, const SweepPlan& plan) {
  if (is_sweep_folder(folder)) {
    COT_ASSIGN(const SweepPlan there, read_sweep(folder));
    if (there.request_digest != plan.request_digest) {
      return Error(ErrorCode::conflict, folder + " is the sweep of another request; give this one another --out");
    }
  } else if (os::exists(folder)) {
    COT_ASSIGN(const std::vector<std::string> names, os::list_directory(folder));
    if (!names.empty()) {
      return Error(ErrorCode::conflict, folder + " exists and is not empty; give the sweep another folder with --out");
    }
  }
  COT_TRY(os::make_directories(folder));
  return os::write_file_atomically(folder + "/sweep.json", as_bytes(sweep_json(plan)));
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, const Request& request, const std::string& program)
      : options_(options),
        request_(request),
        program_(program),
        folder_(options.simulate.demo.out),
        progress_(options.simulate.demo.json ? stderr : stdout, options.simulate.demo.quiet) {}

  ExitCode run();

 private:
  ExitCode run_one(size_t variant, uint64_t seed);
  ExitCode compare_all();
  std::string head(size_t variant, uint64_t seed) const;

  const SweepOptions& options_;
  const Request& request_;
  const std::string& program_;
  std::string folder_;
  ProgressLine progress_;
  uint64_t runs_ = 0;  // looked at so far, trained now or before
  uint64_t trained_ = 0, failed_ = 0;
  double seconds_ = 0;  // of the trained
};

std::string Sweep::head(size_t variant, uint64_t seed) const {
  return "variant " + std::to_string(variant + 1) + "/" + std::to_string(request_.variants.size()) + "  seed " +
         std::to_string(seed) + "  ";
}

ExitCode Sweep::run_one(size_t variant, uint64_t seed) {
  const std::string out = sweep_run_folder(folder_, variant, seed);
  if (os::exists(out + "/summary.json")) {
    ++runs_;
    return ExitCode::ok;
  }
  std::error_code ignored;  // what a killed sweep left half-way
  std::filesystem::remove_all(out, ignored);
  SimulateOptions simulate = options_.simulate;
  simulate.demo.seed = seed;
  simulate.demo.out = out;
  simulate.adopts_files = true;
  progress_.show(head(variant, seed) + request_.variants[variant].name);
  ProgressLine rounds(stderr, true);  // a line a run is enough
  SimulatedRun done;
  OneRank alone;
  const ExitCode code = run_simulation(simulate, request_.jobs[variant], program_, rounds, alone, done);
  if (code != ExitCode::ok) return code;
  ++trained_;
  seconds_ += done.seconds;
  const uint64_t left = request_.variants.size() * request_.plan.seeds.size() - ++runs_;
  progress_.print(head(variant, seed) + done.score + "  about " +
                  format_seconds(seconds_ / static_cast<double>(trained_) * static_cast<double>(left)) + " left  " +
                  request_.variants[variant].name);
  return code;
}

ExitCode Sweep::compare_all() {
  const Result<std::vector<Variant>> variants = read_sweep_runs(folder_);
  if (!variants) {
    print_error("sweep", variants.error());
    return ExitCode::failure;
  }
  const std::vector<ComparedVariant> compared = compare(*variants);
  nlohmann::ordered_json json = to_json(compared);
  const std::string title = counted(compared.size(), "variant") + " of " + options_.simulate.job_file;
  const std::pair<const char*, std::string> files[] = {{"comparison.csv", comparison_csv(compared)},
                                                       {"comparison.json", json.dump(2) + "\n"},
                                                       {"comparison.svg", draw_comparison(compared, title)},
                                                       {"comparison.html", draw_comparison_page(compared, title)}};
  for (const auto& [name, text] : files) {
    if (const Status written = os::write_file_atomically(folder_ + "/" + name, as_bytes(text)); !written) {
      print_error("sweep", written.error());
      return ExitCode::failure;
    }
  }
  json["trained"] = trained_;
  json["failed"] = failed_;
  json["folder"] = folder_;
  std::FILE* const human = options_.simulate.demo.json ? stderr : stdout;
  std::fputs(("\n" + comparison_table(compared) + "\n* the 95 % interval of the difference, by pairs of one seed, is " +
              "without 0\n\nIn " + folder_ + "\n  comparison.svg comparison.html comparison.csv comparison.json\n")
                 .c_str(),
             human);
  if (options_.simulate.demo.json) std::printf("%s\n", json.dump().c_str());
  return failed_ == 0 ? ExitCode::ok : ExitCode::failure;
}

// Seed by seed, so that a sweep that is ended has something of every variant.
ExitCode Sweep::run() {
  if (const Status taken = take_folder(folder_, request_.plan); !taken) {
    print_error("sweep", taken.error());
    return ExitCode::usage;
  }
  for (const uint64_t seed : request_.plan.seeds) {
    for (size_t variant = 0; variant < request_.variants.size(); ++variant) {
      const ExitCode code = run_one(variant, seed);
      if (code == ExitCode::interrupted) {
        progress_.clear();
        std::fprintf(stderr, "coterie sweep: interrupted; the same command goes on from here\n");
        return code;
      }
      if (code == ExitCode::usage) return code;  // of what all runs share: data, model, folder
      if (code != ExitCode::ok) {
        ++failed_;
        ++runs_;
      }
    }
  }
  progress_.clear();
  return compare_all();
}

}  // namespace

ExitCode run_sweep(const SweepOptions& options, const std::string& program) {
  if (is_of_several_ranks()) {
    print_error("sweep",
                Error(ErrorCode::invalid_argument,
                      "mpirun has started several processes, and each would make all runs: start one, or share "
                      "each simulation out with mpirun coterie simulate"));
    return ExitCode::usage;
  }
  const Result<Request> request = prepare(options);
  if (!request) {
    print_error("sweep", request.error());
    return ExitCode::usage;
  }
  return Sweep(options, *request, program).run();
}

}  // namespace coterie
