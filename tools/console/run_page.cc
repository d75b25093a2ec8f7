#include "tools/console/run_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fl_server/console/console_assets.h"
#include "fl_server/net/route_pattern.h"
#include "tools/console/run_explanations.h"
#include "tools/console/run_json.h"
#include "tools/console/run_list.h"
#include "tools/console/run_model.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr const char* kModel = "model.cotf";
constexpr int kBadRequest = 400, kForbidden = 403, kNotFound = 404, kMethodNotAllowed = 405;

// What the browser takes a body for, whatever stands in it; and it asks again each time.
const std::vector<std::pair<std::string, std::string>>& fixed_headers() {
  static const std::vector<std::pair<std::string, std::string>> headers = {{"Cache-Control", "no-store"},
                                                                           {"X-Content-Type-Options", "nosniff"}};
  return headers;
}

HttpResponse json_response(const json& of, int status = 200) {
  HttpResponse response{.status = status, .content_type = status == 200 ? "application/json" : kProblemType};
  // Names of files are a stranger's texts, and need not be UTF-8.
  const std::string text = of.dump(-1, ' ', false, json::error_handler_t::replace);
  response.body.assign(text.begin(), text.end());
  response.headers = fixed_headers();
  return response;
}

HttpResponse picture_response(Bytes picture) {
  HttpResponse response{.content_type = "image/png"};
  response.body = std::move(picture);
  response.headers = fixed_headers();
  return response;
}

HttpResponse refusal(int status, const std::string& why) {
  return json_response({{"status", status}, {"detail", why}}, status);
}

bool is_this_machine(std::string_view host) {
  const size_t port = host.rfind(':');
  const std::string_view name = host.substr(0, port);
  return name == "127.0.0.1" || name == "localhost";
}

std::string below(const ListedRun& run, const char* name) {
  return run.folder.empty() ? name : run.folder + "/" + name;
}

std::optional<RunModelFile> model_file(const FolderFiles& files, const ListedRun& run) {
  const Result<os::File> file = files.open_file(below(run, kModel));
  if (!file) return std::nullopt;
  const Result<uint64_t> size = file->size();
  const Result<WallTime> written = file->modified();
  return size && written ? std::optional(RunModelFile{*size, *written}) : std::nullopt;
}

RunFiles read_run_files(const FolderFiles& files, const ListedRun& run) {
  const Result<WallTime> changed = files.modified(run.folder);
  return {.summary = files.read(below(run, "summary.json"), kShownSummaryBytesMax),
          .metrics = files.read(below(run, "metrics.csv"), kShownMetricsBytesMax),
          .has_table = files.has(below(run, "result.json")),
          .changed = changed ? std::optional(*changed) : std::nullopt,
          .model = model_file(files, run)};
}

}  // namespace

HttpResponse RunPage::refuse(const Error& error, int status) { return refusal(status, error.message()); }

HttpResponse RunPage::answer(const RequestHead& head) const {
  if (!is_this_machine(head.header("host"))) {
    return refusal(kForbidden, "this page is for http://127.0.0.1 and http://localhost alone");
  }
  if (head.method != "GET" && head.method != "HEAD") {
    return refusal(kMethodNotAllowed, "a folder of runs is read here, and nothing is changed");
  }
  const auto is = [&](std::string_view path) { return head.path == path; };
  if (is("/")) return console_asset(head, ConsoleAsset::page);
  if (is("/console.js")) return console_asset(head, ConsoleAsset::script);
  if (is("/console.css")) return console_asset(head, ConsoleAsset::style);
  if (is("/console/sign-in-ways")) return json_response({{"runs", {{"folder", files_.name()}}}});
  if (is("/admin/v1/jobs")) return json_response(jobs());
  PathParameters parameters;
  for (const std::string_view view : {"", "rounds", "curves"}) {
    parameters = {};
    const std::string pattern = "/admin/v1/jobs/{job}" + (view.empty() ? "" : "/" + std::string(view));
    if (matches_pattern(pattern, head.path, parameters)) return job(parameters["job"], view, head.query);
  }
  for (const std::string_view view : {"", "graph", "parameters", "explanations", "explanations/{picture}"}) {
    parameters = {};
    const std::string pattern = "/admin/v1/jobs/{job}/models/{version}" + (view.empty() ? "" : "/" + std::string(view));
    if (matches_pattern(pattern, head.path, parameters)) {
      return model(parameters["job"], parameters["version"], view.substr(0, view.find('/')), parameters["picture"],
                   head.query);
    }
  }
  return refusal(kNotFound, "there is nothing here by that path");
}

json RunPage::jobs() const {
  const RunList list = list_runs(files_);
  json answer = {{"jobs", json::array()}, {"left_out", list.left_out}};
  if (!list.problem.empty()) answer["problem"] = list.problem;
  for (const ListedRun& run : list.runs) answer["jobs"].push_back(shown_job(run, read_run_files(files_, run)));
  return answer;
}

HttpResponse RunPage::job(std::string_view id, std::string_view view, std::string_view query) const {
  const RunList list = list_runs(files_);
  const auto found = std::ranges::find(list.runs, id, &ListedRun::id);
  if (found == list.runs.end()) return refusal(kNotFound, "the folder has no such run any more");
  const RunFiles files = read_run_files(files_, *found);
  if (view.empty()) return json_response(shown_job(*found, files));
  const Result<json> told = view == "rounds" ? run_rounds_page(files, query) : run_curves(files, query);
  return told ? json_response(*told) : refusal(kBadRequest, told.error().message());
}

HttpResponse RunPage::model(std::string_view id, std::string_view version, std::string_view view,
                            std::string_view picture, std::string_view query) const {
  const RunList list = list_runs(files_);
  const auto found = std::ranges::find(list.runs, id, &ListedRun::id);
  if (found == list.runs.end()) return refusal(kNotFound, "the folder has no such run any more");
  const json shown = shown_model(read_run_files(files_, *found));
  if (shown.is_null() || shown["version"].dump() != version) {
    return refusal(kNotFound, "the run has no such version: its model.cotf is the last round's");
  }
  if (view.empty()) return json_response(shown);
  if (!picture.empty()) {
    Result<Bytes> png = run_explanation_picture(files_, found->folder, picture);
    return png ? picture_response(std::move(*png)) : refusal(kNotFound, png.error().message());
  }
  if (view == "explanations") return json_response(run_explanations(files_, found->folder));
  const std::string file = below(*found, kModel);
  const Result<json> told = view == "graph" ? run_model_graph(files_, file) : run_model_parameters(files_, file, query);
  return told ? json_response(*told) : refusal(kBadRequest, told.error().message());
}

}  // namespace coterie
