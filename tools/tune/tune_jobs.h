// The driver of a tuning: arms as jobs of a server, some at a time; the state as a file, written before and after each
// step, so that it may be killed anywhere and go on.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/tune/tuning.h"

namespace coterie {

// A job as a server tells it.
struct TuneJob {
  std::string id, state, reason;  // state: "running", "completed", ...
};

// What the driver asks of a server.
class TuneServer {
 public:
  virtual ~TuneServer() = default;
  virtual Result<std::vector<std::pair<std::string, std::string>>> names() = 0;  // of jobs, with their ids
  virtual Result<std::string> create(const nlohmann::json& spec) = 0;            // its id
  virtual Result<TuneJob> look(const std::string& job) = 0;
  // The newest version of its model: what the held-out data say of it, and its digest.
  virtual Result<std::pair<ArmScore, std::string>> last_model(const std::string& job) = 0;
  // Before it looks again; `cancelled` ends the driver.
  virtual Status wait() = 0;
};

struct TuneRequest {
  std::string state_file;
  std::vector<nlohmann::json> specs;  // of each arm, with a model and data to judge it on
  uint32_t parallel = 4;              // jobs at a time
};

// Until the tuning is over. `tell` hears of each run that has ended. Errors leave a state to go on from.
Status run_tuning(Tuning& tuning, const TuneRequest& request, TuneServer& server,
                  const std::function<void(const Tuning&, size_t rung, size_t arm)>& tell);

// The state of this request, new or as the file has it. conflict: the file is another request's.
Result<Tuning> open_tuning(const std::string& state_file, const std::string& id, const std::string& request,
                           const std::vector<TuneRung>& rungs);

}  // namespace coterie
