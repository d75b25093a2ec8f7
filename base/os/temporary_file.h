// Where AtomicFile makes a file before it has its name: beside it, as `<name>.unfinished.<slot>`, slots from
// 0.
//
// Its writer holds a lock (flock) on it, which the kernel takes away from a process that ends, however it
// ends. So one that nobody has locked is abandoned, and whoever next looks removes it. Slots rather than
// unique names, so that the abandoned are found without listing a directory that may be large; locks rather
// than process ids in names, because ids mean nothing in another container or on another machine, and come
// again. Where a file system has no locks, each counts as somebody's and stays.
//
// Any thread, any process.
#pragma once

#include <cstdint>
#include <string>

#include "base/os/file.h"

namespace coterie::os {

struct Temporary {
  File file;  // new, empty, locked, readable by the owner alone
  FileIdentity identity;
};

// In a free slot of `final_path`; abandoned ones of that name are gone afterwards. Errors: those of creating
// a file, and unavailable when too many are unfinished.
Result<Temporary> create_temporary(const std::string& final_path);

// Removes what processes that were killed while they wrote `final_path` left beside it: for who reads it, and
// may never write it. What cannot be removed stays.
void remove_abandoned(const std::string& final_path);

}  // namespace coterie::os
