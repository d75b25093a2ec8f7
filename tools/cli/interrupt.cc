#include "tools/cli/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace coterie {
namespace {

std::atomic<bool> g_requested{false};
std::atomic<int> g_count{0};
std::atomic<int> g_signal{0};
std::atomic<void (*)()> g_handler{nullptr};
int g_wake[2] = {-1, -1};

void on_signal(int number) {
  const int saved_errno = errno;
  g_requested = true;
  g_signal = number;
  g_count.fetch_add(1);
  if (const auto handler = g_handler.load()) handler();
  const char byte = 0;
  if (::write(g_wake[1], &byte, 1) < 0) {
    // The pipe is full: whoever waits is woken already.
  }
  errno = saved_errno;
}

void empty_wake() {
  char bytes[16];
  while (::read(g_wake[0], bytes, sizeof bytes) > 0) {
  }
}

}  // namespace

void Interrupt::install() {
  if (g_wake[0] >= 0) return;
  COT_ASSERT(::pipe2(g_wake, O_CLOEXEC | O_NONBLOCK) == 0);
  struct sigaction action {};
  action.sa_handler = &on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

const std::atomic<bool>* Interrupt::flag() { return &g_requested; }
int Interrupt::count() { return g_count; }
int Interrupt::signal_number() { return g_signal; }
void Interrupt::forget() {
  g_requested = false;
  g_signal = 0;
}
void Interrupt::set_handler(void (*handler)()) { g_handler = handler; }

void Interrupt::wait_for_next(Millis time) {
  pollfd entry{g_wake[0], POLLIN, 0};
  if (::poll(&entry, 1, static_cast<int>(time.count())) > 0) empty_wake();
}

Status Interrupt::wait_for_input(int fd) {
  while (!requested()) {
    pollfd entries[] = {{fd, POLLIN, 0}, {g_wake[0], POLLIN, 0}};
    if (::poll(entries, 2, -1) < 0) continue;  // by a signal
    if (entries[0].revents != 0) return {};
    empty_wake();
  }
  return interrupted_error();
}

Status Interrupt::wait(Millis time) {
  if (!requested()) wait_for_next(time);
  if (requested()) return interrupted_error();
  return {};
}

}  // namespace coterie
