/* What a board without an operating system has: how it ends, what it prints, and what the compiler may call. Who
 * includes it defines semihost(). */
#pragma once

#include "tests/micro/target/board.h"

static uint32_t semihost(uint32_t what, const void* of);

static void finish(uint32_t code) {
  const uint32_t reason[2] = {0x20026u, code}; /* ADP_Stopped_ApplicationExit */
  semihost(0x20u, reason);
  for (;;) {
  }
}
static void fault(void) { finish(2); }

void board_put(const char* text) { semihost(0x04u, text); }

void* memcpy(void* to, const void* from, size_t size) {
  for (size_t i = 0; i < size; ++i) ((volatile unsigned char*)to)[i] = ((const unsigned char*)from)[i];
  return to;
}
void* memset(void* to, int value, size_t size) {
  for (size_t i = 0; i < size; ++i) ((volatile unsigned char*)to)[i] = (unsigned char)value;
  return to;
}
void* memmove(void* to, const void* from, size_t size) {
  volatile unsigned char* const begin = to;
  const unsigned char* const other = from;
  if ((uintptr_t)to <= (uintptr_t)from) return memcpy(to, from, size);
  for (size_t i = size; i-- > 0;) begin[i] = other[i];
  return to;
}
int memcmp(const void* a, const void* b, size_t size) {
  const volatile unsigned char* const left = a;
  const volatile unsigned char* const right = b;
  for (size_t i = 0; i < size; ++i) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}
