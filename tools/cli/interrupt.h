// Interrupt: Ctrl-C, SIGTERM and SIGHUP as something the program asks about, instead of something that happens to it.
//
// One process-wide instance, from install() on. SIGPIPE is ignored, too: a closed pipe is an error of the write.
#pragma once

#include <atomic>

#include "base/result.h"
#include "base/time.h"

namespace coterie {

class Interrupt {
 public:
  static void install();

  // For HttpsClient and the like: true once somebody wants us to end.
  static const std::atomic<bool>* flag();
  static bool requested() { return flag()->load(); }
  // How often somebody asked: the second time means "now".
  static int count();
  // The signal that asked last, 0 if none did.
  static int signal_number();
  // For who goes on after one: what was asked for so far was done.
  static void forget();

  // Waits that long, or until a signal comes that had not come when the wait began. `cancelled` if one has been asked
  // for.
  static Status wait(Millis time);
  // As wait, but goes on waiting after the first request, until the next one: for cleaning up.
  static void wait_for_next(Millis time);

  // Waits until something can be read from `fd`, or it has ended. `cancelled` if a signal comes first, or has come.
  static Status wait_for_input(int fd);

  // Runs `handler` inside the signal handler (async-signal-safe things only), e.g. coterie_client_cancel.
  static void set_handler(void (*handler)());
};

// The error everything returns that was under way.
inline Error interrupted_error() { return Error(ErrorCode::cancelled, "interrupted"); }

}  // namespace coterie
