// The most bytes that one core can move: what memory-bound work is measured against.
#pragma once

#include <cstddef>

namespace coterie::os {

// Bytes a second that memcpy reads and writes, both counted, between two halves of a block of so many bytes (at least
// 2): so a small block tells of a cache, one larger than all caches of main memory. The best of five runs by this
// thread's processor time; each moves 64 MiB or the block.
double copy_rate(size_t bytes);

}  // namespace coterie::os
