/* A Cortex-M in QEMU: vectors, the floating-point unit, semihosting, and a count of instructions. */
#include "tests/micro/target/bare_board.h"

extern uint32_t stack_top[], bss_begin[], bss_end[], data_begin[], data_end[], data_from[];

static uint32_t semihost(uint32_t what, const void* of) {
  register uint32_t r0 __asm__("r0") = what;
  register const void* r1 __asm__("r1") = of;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

/* A CMSDK timer counts virtual time, 25 MHz on these machines; with -icount shift=6 an instruction is 64 ns, 1.6 ticks.
 * Other boards have it elsewhere, and count nothing here. */
#ifdef BOARD_TIMER
#define TIMER ((volatile uint32_t*)BOARD_TIMER)
uint32_t board_instructions(void) { return (uint32_t)((uint64_t)(0xffffffffu - TIMER[1]) * 5u / 8u); }
#else
uint32_t board_instructions(void) { return 0; }
#endif

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
