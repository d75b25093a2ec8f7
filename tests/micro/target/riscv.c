/* 32-bit RISC-V in QEMU (machine virt): start and semihosting. Nothing is counted. */
#include "tests/micro/target/bare_board.h"

extern uint32_t bss_begin[], bss_end[];

__attribute__((noinline)) static uint32_t semihost(uint32_t what, const void* of) {
  register uint32_t a0 __asm__("a0") = what;
  register const void* a1 __asm__("a1") = of;
  __asm__ volatile(
      ".balign 16\n"
      ".option push\n"
      ".option norvc\n"
      "slli x0, x0, 0x1f\n"
      "ebreak\n"
      "srai x0, x0, 7\n"
      ".option pop\n"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return a0;
}

uint32_t board_instructions(void) { return 0; }

__attribute__((used)) static void start_c(void) {
  for (uint32_t* word = bss_begin; word < bss_end; ++word) *word = 0;
#ifdef __riscv_flen
  __asm__ volatile("csrs mstatus, %0" : : "r"(1u << 13)); /* FS: the floating-point unit is on */
  __asm__ volatile("csrw fcsr, x0");
#endif
  run_case();
  finish(0);
}

void start(void);
__attribute__((section(".start"), naked, used)) void start(void);
void start(void) {
  __asm__ volatile(
      "la sp, stack_top\n"
      "la t0, %0\n"
      "csrw mtvec, t0\n"
      "j start_c\n"
      :
      : "i"(fault));
}
