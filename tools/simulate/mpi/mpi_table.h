// What coterie-mpi.so offers: MPI behind a few C functions, so that `coterie` itself links no MPI and loads this where
// mpirun has started it. One sum is under way at a time; all calls are one thread's.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

inline constexpr uint32_t kMpiTableVersion = 1;

struct CoterieMpiTable {
  uint32_t version;  // kMpiTableVersion
  // 0 if MPI is there; then the rank of this process and how many there are.
  int (*begin)(uint32_t* rank, uint32_t* count);
  // Begins to add up `words` over all ranks, in place, modulo 2^64. At most 2^31 - 1 of them. 0: begun.
  int (*begin_sum)(uint64_t* words, size_t count);
  // 1: done; 0: not yet; below 0: an error of MPI.
  int (*test)();
  // Rank 0 alone: whether `rank` has begun the sum that is under way.
  int (*has_begun)(uint32_t rank);
  // All ranks have come to their end.
  void (*finish)();
};

// The module's one symbol.
const CoterieMpiTable* coterie_mpi_table();
}
