// ServingProcess: a model, its workers and its doors, in one process: all that `coterie serve` is, or one of those that
// share its port.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "tools/serve/model_source.h"
#include "tools/serve/serve_options.h"
#include "tools/serve/serving_keys.h"

namespace coterie {

class ServingProcess {
 public:
  // How long requests under way may take when it stops.
  static constexpr Millis kDrainMax{20'000};

  struct Doors {
    int rest_socket = -1;               // bound already; -1: as the options say
    std::optional<uint16_t> grpc_port;  // none: no such door
    bool shares_grpc_port = false;
  };
  struct Ports {
    uint16_t rest = 0;
    std::optional<uint16_t> grpc;
  };
  struct Followed {
    std::optional<uint64_t> version;  // that answers from now on
    bool is_promotion_new = false;
  };

  // Reads the file of steps. `metrics_of_all` as ServingServiceSettings has it.
  static Result<std::unique_ptr<ServingProcess>> make(const ServeOptions& options, const ServingKeys& keys,
                                                      std::function<std::string(std::string)> metrics_of_all = {});
  ~ServingProcess();

  // Has what the source says next answer. Whatever goes wrong with it, what was there before goes on.
  Result<Followed> follow(ModelSource& source);
  // Takes connections from now on.
  Result<Ports> open(const Doors& doors);
  // Requests under way are answered, for at most kDrainMax.
  void stop();
  // Whether all network threads have looked at their sockets since the last call, once there are some. By one caller.
  bool shows_life();
  // What the process says of itself.
  std::string metrics() const;

 private:
  ServingProcess(const ServeOptions& options, const ServingKeys& keys,
                 std::function<std::string(std::string)> metrics_of_all);
  Status open_grpc(const Doors& doors);

  struct Parts;
  const ServeOptions options_;
  const ServingKeys keys_;
  const std::string name_;
  const std::unique_ptr<Parts> parts_;
};

// Where clients ask, and how, as a line for a terminal.
std::string serving_url(const ServeOptions& options, uint16_t port);
void tell_how_to_ask(const ServeOptions& options, const ServingKeys& keys, const ServingProcess::Ports& ports);
// A line on standard error.
void tell(const std::string& text);

}  // namespace coterie
