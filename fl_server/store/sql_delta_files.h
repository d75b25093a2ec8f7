// The files of deltas that rows of versions name, by the tenant whose jobs they are of: a row has them as bytes
// (fl_server/records/delta_chain.h), which no engine adds up.
#pragma once

#include <map>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/store/sql/database.h"

namespace coterie {

// The size of each file, in bytes.
using DeltaFileSizes = std::map<Digest, uint64_t>;

uint64_t sum_of(const DeltaFileSizes& sizes);

// One tenant's, each file once.
Result<uint64_t> delta_bytes_of(Database& database, const std::string& tenant);

// Whoever has none is left out.
Result<std::map<std::string, DeltaFileSizes>> delta_files_by_tenant(Database& database);

}  // namespace coterie
