/* A Cortex-M in QEMU: vectors, the floating-point unit, semihosting, and a count of instructions. */
#include "tests/micro/target/board.h"

extern uint32_t stack_top[], bss_begin[], bss_end[], data_begin[], data_end[], data_from[];

static uint32_t semihost(uint32_t what, const void* of) {
  register uint32_t r0 __asm__("r0") = what;
  register const void* r1 __asm__("r1") = of;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static void finish(uint32_t code) {
  const uint32_t reason[2] = {0x20026u, code}; /* ADP_Stopped_ApplicationExit */
  semihost(0x20u, reason);
  for (;;) {
  }
}

void board_put(const char* text) { semihost(0x04u, text); }

/* A CMSDK timer counts virtual time, 25 MHz on these machines; with -icount shift=6 an instruction is 64 ns, 1.6 ticks.
 * Other boards have it elsewhere, and count nothing here. */
#ifdef BOARD_TIMER
#define TIMER ((volatile uint32_t*)BOARD_TIMER)
uint32_t board_instructions(void) { return (uint32_t)((uint64_t)(0xffffffffu - TIMER[1]) * 5u / 8u); }
#else
uint32_t board_instructions(void) { return 0; }
#endif

/* What the compiler may call. */
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

static void fault(void) { finish(2); }

void start(void);
void start(void) {
  for (uint32_t* word = bss_begin; word < bss_end; ++word) *word = 0;
  for (size_t i = 0; data_begin + i < data_end; ++i) data_begin[i] = data_from[i];
#ifdef __ARM_FP
  *(volatile uint32_t*)0xE000ED88u |= 0xFu << 20; /* CPACR: the floating-point unit is on */
  __asm__ volatile("dsb\n isb");
#endif
#ifdef BOARD_TIMER
  TIMER[2] = 0xffffffffu;
  TIMER[1] = 0xffffffffu;
  TIMER[0] = 1u;
#endif
  run_case();
  finish(0);
}

__attribute__((section(".vectors"), used)) static const void* const vectors[16] = {
    stack_top,          (const void*)start, (const void*)fault, (const void*)fault,
    (const void*)fault, (const void*)fault, (const void*)fault};
