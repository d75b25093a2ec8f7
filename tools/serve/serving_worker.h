// One of the processes that share a port: it has its versions from its master, and ends when the master does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "tools/serve/serve_options.h"

namespace coterie {

// What a process is told by its environment: its number, from 1 on, and what it has inherited.
struct WorkerPlace {
  static constexpr const char* kVariable = "COTERIE_SERVE_PROCESS";

  uint32_t number = 0;
  int link = -1, rest_socket = -1, board = -1;  // open files
  uint16_t grpc_port = 0;                       // 0: no such door

  // "number,link,rest_socket,board,grpc_port".
  std::string text() const;
  // Errors: invalid_argument (not a place, or a file that is not open).
  static Result<WorkerPlace> parse(const std::string& text);
  // None: this process is nobody's.
  static std::optional<std::string> in_environment();
};

// Until it is told to stop, or its master is gone. Errors: those before it serves; cancelled (a signal).
Status serve_as_worker(const ServeOptions& options, const WorkerPlace& place);

}  // namespace coterie
