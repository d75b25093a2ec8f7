/* The driver on this machine. */
#include <stdio.h>

#include "tests/micro/target/board.h"

void board_put(const char* text) { fputs(text, stdout); }
uint32_t board_instructions(void) { return 0; }

int main(void) {
  run_case();
  return 0;
}
