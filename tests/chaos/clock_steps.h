/* What clock_steps.c, preloaded into a server, shares with the test that started it: a mapped file of this. Plain C: it
   is compiled into both. The field is read and written with __atomic builtins. */
#pragma once

#include <stdint.h>

/* The environment names the file. */
#define CLOCK_STEPS_CONTROL "COTERIE_CLOCK_STEPS"

struct clock_steps {
  int64_t ahead_ms; /* of the real clock; less than 0: behind */
};
