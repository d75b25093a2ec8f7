// DemoOptions: everything a user can say about a demo, with defaults that reach a good model within a minute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proto/messages/training_state.h"
#include "tools/data/partition.h"
#include "tools/model/zoo.h"

namespace coterie {

struct DemoOptions {
  uint32_t devices = 20;
  uint32_t rounds = 40;
  std::string data = "digits";    // tools/data/load.h
  ModelKind model = ModelKind::cnn;
  DataSplit split{.is_iid = false, .alpha = 0.3};
  double fraction = 0.5;          // of the devices that train in a round
  double learning_rate = 0.1;     // the devices' (SGD)
  double momentum = 0;
  uint32_t local_epochs = 2;
  uint32_t batch_size = 16;
  ServerOptimizerKind strategy = ServerOptimizerKind::fedavg;
  std::optional<double> server_learning_rate;  // by strategy unless given
  uint64_t seed = 1;
  std::string out;                // empty: runs/demo-<date>-<time>
  bool json = false;              // the last line of standard output is one JSON object, all else goes to standard error
  bool quiet = false;             // no progress
  bool keep = false;              // the server's data, the devices' state and the logs stay in the run folder

  uint32_t goal_count() const;    // updates that close a round: fraction of the devices, at least one
  double server_rate() const;
};

inline constexpr double kHeldOutFraction = 0.2;

std::string_view to_string(ServerOptimizerKind kind);

// The job that asks for this, as the admin plane takes it, but for "model" and "evaluation", which are digests of files
// uploaded before. JSON text.
std::string job_request(const DemoOptions& options, const std::string& model_digest,
                        const std::string& evaluation_digest);

}  // namespace coterie
