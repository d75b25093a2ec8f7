#include "tools/compare/compare_runs.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/os/file.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/compare/sweep_folder.h"

namespace coterie {
namespace {

Result<std::vector<std::string>> folders_in(const std::string& list) {
  std::vector<std::string> folders;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    folders.push_back(list.substr(begin, end - begin));
    if (folders.back().empty()) {
      return Error(ErrorCode::invalid_argument, "`" + printable(list) + "` has a folder without a name");
    }
    begin = end + 1;
  }
  return folders;
}

// A run's own name is its folder's, as the user wrote it. A file that is there wins over the form NAME=...
Result<std::vector<Variant>> variants_of(const std::string& word) {
  const size_t equals = word.find('=');
  if (is_sweep_folder(word)) return read_sweep_runs(word);
  if (equals == word.npos || os::exists(word)) {
    COT_ASSIGN(RunRecord run, read_run(word));
    return std::vector<Variant>{{word, {std::move(run)}}};
  }
  Variant variant{.name = word.substr(0, equals), .runs = {}};
  COT_ASSIGN(const std::vector<std::string> folders, folders_in(word.substr(equals + 1)));
  for (const std::string& folder : folders) {
    COT_ASSIGN(RunRecord run, read_run(folder));
    variant.runs.push_back(std::move(run));
  }
  return std::vector<Variant>{std::move(variant)};
}

// "a/chart.svg" has its page beside it, as "a/chart.html".
std::string page_beside(const std::string& chart) {
  constexpr std::string_view kEnding = ".svg";
  return (chart.ends_with(kEnding) ? chart.substr(0, chart.size() - kEnding.size()) : chart) + ".html";
}

}  // namespace

Result<std::vector<Variant>> read_variants(const std::vector<std::string>& runs) {
  std::vector<Variant> variants;
  std::set<std::string> names;
  for (const std::string& word : runs) {
    COT_ASSIGN(std::vector<Variant> some, variants_of(word));
    for (Variant& variant : some) {
      if (!names.insert(variant.name).second) {
        return Error(ErrorCode::invalid_argument, "two variants are named `" + printable(variant.name) +
                                                      "`; name them apart: NAME=FOLDER,FOLDER...");
      }
      variants.push_back(std::move(variant));
    }
  }
  for (const Variant& variant : variants) {
    for (const RunRecord& run : variant.runs) {
      if (run.metric == variants.front().runs.front().metric) continue;
      return Error(ErrorCode::invalid_argument, run.folder + " has " + std::string(shown(run.metric)) + ", and " +
                                                    variants.front().runs.front().folder +
                                                    " has not: runs of classes and of numbers do not compare");
    }
  }
  if (variants.size() <= kVariantsMax) return variants;
  return Error(ErrorCode::too_large, std::to_string(variants.size()) + " variants are more than " +
                                         std::to_string(kVariantsMax) + ", which one comparison takes");
}

ExitCode run_compare(const CompareOptions& options) {
  const Result<std::vector<Variant>> variants = read_variants(options.runs);
  if (!variants) {
    print_error("compare", variants.error());
    return ExitCode::usage;
  }
  const std::vector<ComparedVariant> compared = compare(*variants);
  if (!options.out.empty()) {
    const std::string title = counted(compared.size(), "variant") + " side by side";
    for (const auto& [path, text] : {std::pair(options.out, draw_comparison(compared, title)),
                                     std::pair(page_beside(options.out), draw_comparison_page(compared, title))}) {
      if (const Status written = os::write_file_atomically(path, as_bytes(text)); !written) {
        print_error("compare", written.error());
        return ExitCode::failure;
      }
    }
  }
  if (options.json) {
    std::printf("%s\n", to_json(compared).dump().c_str());
    return ExitCode::ok;
  }
  print_text(comparison_table(compared));
  if (!options.out.empty()) print_text("\n" + options.out + "\n" + page_beside(options.out) + "\n");
  return ExitCode::ok;
}

}  // namespace coterie
