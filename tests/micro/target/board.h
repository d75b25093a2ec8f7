/* What the driver needs of where it runs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void board_put(const char* text);
/* Instructions so far, modulo 2^32, where they can be counted; else 0. */
uint32_t board_instructions(void);
void run_case(void);
