// The ranks of this process: itself alone, or those of `mpirun coterie simulate`.
#pragma once

#include <memory>

#include "tools/simulate/ranks.h"

namespace coterie {

// Whether mpirun has started this process as one of several: OMPI_COMM_WORLD_SIZE (Open MPI) or PMI_SIZE says so.
bool is_of_several_ranks();

// MPI comes from coterie-mpi.so, which lies beside the program or in ../lib/coterie: the program itself links none.
// Errors: unsupported_version if there is no such module, or one of another version; unavailable if MPI does not begin,
// or has another number of processes than the environment says: then another MPI's launcher has started them.
Result<std::unique_ptr<Ranks>> open_ranks();

}  // namespace coterie
