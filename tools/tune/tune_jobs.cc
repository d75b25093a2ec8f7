#include "tools/tune/tune_jobs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/os/file.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr uint64_t kStateBytesMax = 16ull << 20;

Status keep(const Tuning& tuning, const std::string& file) {
  return os::write_file_atomically(file, as_bytes(tuning.to_json().dump(1) + "\n"));
}

class Driver {
 public:
  Driver(Tuning& tuning, const TuneRequest& request, TuneServer& server,
         const std::function<void(const Tuning&, size_t, size_t)>& tell)
      : tuning_(tuning), request_(request), server_(server), tell_(tell) {}

  Status run() {
    COT_TRY(keep(tuning_, request_.state_file));
    COT_TRY(adopt());
    while (!tuning_.is_over()) {
      COT_TRY(begin_some());
      COT_ASSIGN(const bool has_news, look());
      if (!has_news) COT_TRY(server_.wait());
    }
    return {};
  }

 private:
  // Jobs that were made and not noted: by a driver that was killed, or whose answer was lost.
  Status adopt() {
    if (tuning_.to_begin().empty()) return {};
    COT_ASSIGN(const auto names, server_.names());
    const std::map<std::string, std::string> ids(names.begin(), names.end());
    for (const size_t arm : tuning_.to_begin()) {
      const auto found = ids.find(tuning_.job_name(arm));
      if (found != ids.end()) tuning_.began(arm, found->second);
    }
    return keep(tuning_, request_.state_file);
  }

  Status begin_some() {
    for (const size_t arm : tuning_.to_begin()) {
      if (tuning_.under_way().size() >= request_.parallel) break;
      json spec = request_.specs.at(arm);
      spec["name"] = tuning_.job_name(arm);
      spec["rounds"]["count"] = tuning_.rungs()[tuning_.runs().size() - 1].added;
      if (const std::string model = tuning_.model_before(arm); !model.empty()) spec["model"] = model;
      const Result<std::string> job = server_.create(spec);
      if (!job) return job.error().with_context("arm " + std::to_string(arm + 1));
      tuning_.began(arm, *job);
      COT_TRY(keep(tuning_, request_.state_file));
    }
    return {};
  }

  // Whether any has ended.
  Result<bool> look() {
    bool has_news = false;
    const size_t rung = tuning_.runs().size() - 1;
    for (const size_t arm : tuning_.under_way()) {
      const std::string id = tuning_.run_of(arm).job;
      COT_ASSIGN(const TuneJob job, server_.look(id));
      if (job.state == "running" || job.state == "paused") continue;
      has_news = true;
      if (job.state == "completed") {
        COT_ASSIGN(auto last, server_.last_model(id));
        tuning_.ended(arm, last.first, std::move(last.second));
      } else {
        tuning_.failed(arm, job.state + (job.reason.empty() ? "" : ": " + job.reason));
      }
      COT_TRY(keep(tuning_, request_.state_file));
      tell_(tuning_, rung, arm);
    }
    return has_news;
  }

  Tuning& tuning_;
  const TuneRequest& request_;
  TuneServer& server_;
  const std::function<void(const Tuning&, size_t, size_t)>& tell_;
};

}  // namespace

Status run_tuning(Tuning& tuning, const TuneRequest& request, TuneServer& server,
                  const std::function<void(const Tuning&, size_t rung, size_t arm)>& tell) {
  return Driver(tuning, request, server, tell).run();
}

Result<Tuning> open_tuning(const std::string& state_file, const std::string& id, const std::string& request,
                           const std::vector<TuneRung>& rungs) {
  if (!os::exists(state_file)) return Tuning(id, request, rungs);
  COT_ASSIGN(const Bytes text, os::read_file(state_file, kStateBytesMax));
  const json document = json::parse(as_text(text), nullptr, false);
  const Result<Tuning> tuning =
      document.is_discarded() ? Error(ErrorCode::malformed, "it is not JSON") : Tuning::from_json(document);
  if (!tuning) return tuning.error().with_context(state_file);
  if (tuning->request() == request && tuning->rungs() == rungs) return *tuning;
  return Error(ErrorCode::conflict,
               state_file + " is the tuning of another request: give this one another file with --state");
}

}  // namespace coterie
