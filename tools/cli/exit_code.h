// What a program tells its shell. Fixed and documented: scripts depend on them.
#pragma once

#include "base/error.h"

namespace coterie {

enum class ExitCode : int {
  ok = 0,
  failure = 1,  // what was asked for did not come about
  usage = 2,    // wrong arguments, or an input file that is missing or broken
  config = 3,   // the connection settings: endpoints, CA or token file
  network = 4,  // the server cannot be reached, or does not let us in
  timeout = 5,
  interrupted = 130  // Ctrl-C or SIGTERM
};

// The code for an error of a server or of work; code that reads arguments, files or settings knows better.
inline ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::malformed:
    case ErrorCode::unsupported_version:
    case ErrorCode::too_large: return ExitCode::usage;
    case ErrorCode::unauthenticated:
    case ErrorCode::permission_denied:
    case ErrorCode::rate_limited:
    case ErrorCode::overloaded:
    case ErrorCode::unavailable: return ExitCode::network;
    case ErrorCode::timed_out: return ExitCode::timeout;
    case ErrorCode::cancelled: return ExitCode::interrupted;
    default: return ExitCode::failure;
  }
}

}  // namespace coterie
