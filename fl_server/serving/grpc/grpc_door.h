// GrpcDoor: a served model's second door: the Open Inference Protocol v2 over gRPC, before the same versions, queue and
// deadlines as REST. Built where CMake finds gRPC (COTERIE_GRPC); elsewhere open() says so.
//
// A message of ModelInfer is received once it is known who sends it. Its bytes and its time are bounded before, and the
// number of its fields before they are read. A message that is compressed is refused: what it would grow to is nowhere
// said.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "fl_server/serving/infer_rows.h"

namespace coterie {

class ModelAccess;
class ModelServer;

struct GrpcDoorSettings {
  std::string version;  // of the program
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: the system chooses
  // Other processes listen at the port, too (SO_REUSEPORT): the system shares connections out.
  bool shares_port = false;
  // PEM; empty: no TLS. They are looked at each minute: new connections get what they hold by then.
  std::string certificate_file, key_file;
  std::optional<Digest> token;            // CallerCheck
  ModelAccess* access = nullptr;          // likewise
  uint64_t message_bytes_max = 16 << 20;  // of a request
  Millis message_max{60'000};             // from its head to its last byte
  InferLimits limits;
};

class GrpcDoor {
 public:
  // Listens and answers from now on. `server` and the settings' access outlive it. Errors: unavailable (the port is
  // taken), unsupported_version (this program was built without gRPC).
  static Result<std::unique_ptr<GrpcDoor>> open(const GrpcDoorSettings& settings, ModelServer& server);

  virtual ~GrpcDoor() = default;
  virtual uint16_t port() const = 0;
  // Calls under way are answered, for at most so long; new ones are refused. Before the model server stops.
  virtual void stop(Millis patience) = 0;
};

}  // namespace coterie
