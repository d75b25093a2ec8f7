// RunPage: the console's page over a folder of runs: its files, and the questions of the page answered from the folder.
// It reads, and nothing else. Thread-safe.
//
//   GET /, /console.js, /console.css       the page
//   GET /console/sign-in-ways              {"runs": {"folder": ...}}: nobody signs in here
//   GET /admin/v1/jobs                     each run as a job
//   GET /admin/v1/jobs/{job}, .../rounds   one of them; its rounds, newest first, by pages
//   GET /admin/v1/jobs/{job}/curves        its rounds by column, as points of a chart
//   GET /admin/v1/jobs/{job}/models/{version}, .../graph, .../parameters
//                                          its model.cotf, which is its last round's version
//   .../models/{version}/explanations, .../explanations/{name}
//                                          what answers of it come from: figures, and a picture of each (image/png)
//
// A request is answered where its Host is this machine by name or address, so that no page of another site reaches the
// folder by a name of its own (DNS rebinding).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "tools/console/folder_files.h"

namespace coterie {

struct HttpResponse;
struct RequestHead;

class RunPage {
 public:
  explicit RunPage(FolderFiles files) : files_(std::move(files)) {}

  // Reads files: blocks.
  HttpResponse answer(const RequestHead& head) const;
  // To a request that is none.
  static HttpResponse refuse(const Error& error, int status);

 private:
  nlohmann::json jobs() const;
  // `view`: "", "rounds", "curves".
  HttpResponse job(std::string_view id, std::string_view view, std::string_view query) const;
  // `view`: "", "graph", "parameters", "explanations"; `picture`: of the last, or empty.
  HttpResponse model(std::string_view id, std::string_view version, std::string_view view, std::string_view picture,
                     std::string_view query) const;

  const FolderFiles files_;
};

}  // namespace coterie
