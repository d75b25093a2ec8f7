// The only user of MPI: it knows nothing of a simulation.
#define OMPI_SKIP_MPICXX 1  // the C interface alone: the one for C++ is in a library of its own, and given up
#include <mpi.h>

#include <vector>

#include "tools/simulate/mpi/mpi_table.h"

namespace {

constexpr int kBegunTag = 1;

int g_rank = 0, g_count = 1;
MPI_Request g_sum = MPI_REQUEST_NULL;
MPI_Request g_told = MPI_REQUEST_NULL;  // that this rank has begun
std::vector<MPI_Request> g_begun;       // of each rank, at rank 0
char g_byte = 0;
std::vector<char> g_bytes;

int begin(uint32_t* rank, uint32_t* count) {
  int is_begun = 0;
  MPI_Initialized(&is_begun);
  if (is_begun == 0 && MPI_Init(nullptr, nullptr) != MPI_SUCCESS) return 1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_count);
  g_begun.assign(static_cast<size_t>(g_count), MPI_REQUEST_NULL);
  g_bytes.assign(static_cast<size_t>(g_count), 0);
  *rank = static_cast<uint32_t>(g_rank);
  *count = static_cast<uint32_t>(g_count);
  return 0;
}

int begin_sum(uint64_t* words, size_t count) {
  if (g_rank == 0) {
    for (int rank = 1; rank < g_count; ++rank) {
      const auto i = static_cast<size_t>(rank);
      if (MPI_Irecv(&g_bytes[i], 1, MPI_CHAR, rank, kBegunTag, MPI_COMM_WORLD, &g_begun[i]) != MPI_SUCCESS) return 1;
    }
  } else if (MPI_Isend(&g_byte, 1, MPI_CHAR, 0, kBegunTag, MPI_COMM_WORLD, &g_told) != MPI_SUCCESS) {
    return 1;
  }
  return MPI_Iallreduce(MPI_IN_PLACE, words, static_cast<int>(count), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &g_sum) ==
                 MPI_SUCCESS
             ? 0
             : 1;
}

int is_done(MPI_Request* request) {
  int done = 0;
  return MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS ? done : -1;
}

int test() {
  int all = is_done(&g_sum);
  if (all == 1) all = is_done(&g_told);
  for (MPI_Request& request : g_begun) {
    const int begun = is_done(&request);
    if (begun < 0) return begun;
    if (begun == 0 && all == 1) all = 0;
  }
  return all;
}

int has_begun(uint32_t rank) { return g_begun[rank] == MPI_REQUEST_NULL ? 1 : 0; }

void finish() { MPI_Finalize(); }

constexpr CoterieMpiTable kTable = {kMpiTableVersion, begin, begin_sum, test, has_begun, finish};

}  // namespace

extern "C" __attribute__((visibility("default"))) const CoterieMpiTable* coterie_mpi_table() { return &kTable; }
