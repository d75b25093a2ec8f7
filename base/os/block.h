// One block of memory from the system, for what is allocated once and used as a whole.
#pragma once

#include <cstdint>

namespace coterie::os {

// At least `alignment` bytes aligned (a power of two, 8 or more), contents undefined; null if the system has not as
// many. A block of many megabytes begins at a large page and asks for large pages as far as they are whole, which
// changes how fast it is touched first, not how much memory it takes. Given back by free_block.
uint8_t* allocate_block(uint64_t bytes, uint64_t alignment);
void free_block(uint8_t* block);

}  // namespace coterie::os
