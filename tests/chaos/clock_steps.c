/* A wall clock that somebody sets: preloaded (LD_PRELOAD) in front of libc, as disk_faults.c is. The monotonic clock is
   the real one. */
#define _GNU_SOURCE
#include "tests/chaos/clock_steps.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/chaos/preloaded_control.h"

static struct clock_steps* g_control;

__attribute__((constructor)) static void begin(void) {
  g_control = map_preloaded_control(CLOCK_STEPS_CONTROL, sizeof *g_control);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec* now) {
  const int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (failed != 0 || clock != CLOCK_REALTIME || g_control == NULL) return failed;
  const int64_t ahead = __atomic_load_n(&g_control->ahead_ms, __ATOMIC_SEQ_CST);
  const int64_t ns = now->tv_nsec + (ahead % 1000) * 1000000;
  now->tv_sec += ahead / 1000 + (ns >= 1000000000) - (ns < 0);
  now->tv_nsec = ns >= 1000000000 ? ns - 1000000000 : ns < 0 ? ns + 1000000000 : ns;
  return 0;
}

__attribute__((visibility("default"))) time_t time(time_t* seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds != NULL) *seconds = now.tv_sec;
  return now.tv_sec;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}
