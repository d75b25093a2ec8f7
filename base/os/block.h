// One block of memory from the system, for what is allocated once and used as a whole.
#pragma once

#include <cstdint>

namespace coterie::os {

// At least `alignment` bytes aligned (a power of two, 8 or more), contents undefined; null if the system has not as
// many. A block of 2 MiB or more begins at a multiple of that, a large page, and asks for large pages as far as they
// are whole: it is touched first, and read, faster. It takes no more memory than it is large. Given back by
// free_block.
uint8_t* allocate_block(uint64_t bytes, uint64_t alignment);
void free_block(uint8_t* block);

}  // namespace coterie::os
