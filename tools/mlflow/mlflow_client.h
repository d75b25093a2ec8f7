// MlflowClient: asks a tracking server of MLflow, one question after the other. By libcurl, as other questions of ours
// (fl_server/https): certificates are verified, no redirects, no proxy of the environment. Blocks.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "tools/mlflow/mlflow_json.h"

namespace coterie {

// Where the server is, and who asks. Tokens come from the environment alone, under MLflow's own names.
struct MlflowServer {
  std::string url;             // "https://mlflow.example.org", or http to this machine
  std::string experiment;      // MLFLOW_EXPERIMENT_NAME; "coterie" if that is not set
  std::string token;           // MLFLOW_TRACKING_TOKEN; empty: none
  std::string user, password;  // MLFLOW_TRACKING_USERNAME and _PASSWORD
  std::string ca_file;         // MLFLOW_TRACKING_SERVER_CERT_PATH; empty: whom the system trusts
};

// invalid_argument: `url` is neither https nor http to this machine.
Result<MlflowServer> mlflow_server(std::string url);

class MlflowClient {
 public:
  static constexpr Millis kTotalMax{10'000};
  static constexpr Millis kFileTotalMax{60'000};  // for a file to be taken
  static constexpr size_t kAnswerBytesMax = 1 << 20;

  // `cancelled` outlives this.
  MlflowClient(MlflowServer server, const std::atomic<bool>& cancelled)
      : server_(std::move(server)), cancelled_(cancelled) {}

  struct Run {
    std::string id;
    std::optional<std::string> artifact_path;  // mlflow_artifact_path; none: the server takes no files
  };
  // The experiment of the server's settings, made if there is none; and a run of it.
  Result<Run> create_run(const std::string& name, WallTime start);
  Status log_batch(const std::string& run, std::span<const MlflowMetric> metrics, const MlflowParams& params);
  // Under the run's path; `name` is one part of a path.
  Status put_file(const std::string& artifact_path, const std::string& name, ByteView bytes);
  Status update_run(const std::string& run, MlflowEnd how, WallTime end);

 private:
  struct Answer {
    long status = 0;
    std::string body;
  };
  struct Question {
    std::string path;            // below /api/2.0/
    std::string_view body = {};  // empty: a GET, but of a file
    bool is_file = false;        // a PUT
  };
  Result<Answer> ask(const Question& question);
  Result<std::string> ask_well(const Question& question);
  Result<std::string> experiment_id();

  const MlflowServer server_;
  const std::atomic<bool>& cancelled_;
};

}  // namespace coterie
