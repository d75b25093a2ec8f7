// Which files a source of examples is read from, and what names the examples that come of them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/data/data_name.h"
#include "tools/data/load.h"

namespace coterie {

// In the order in which load_data reads them; empty for a source that is not worth a cache (its files are bytes that
// are read as they lie there: digits, mnist, cifar10) or that is none. Errors: what the system says of a folder.
Result<std::vector<std::string>> source_files(const DataName& name);

// Whether load_data asks LoadRequest::fit: images and texts have nothing to fit, and a contract of before is kept.
bool is_fitted(const DataName& name);

// Each file with the digest of its bytes, read piece by piece. Errors: what the system says.
Result<SourceLog> digest_files(const std::vector<std::string>& paths);

// The name of the examples that load_data makes of `name`, `request` and files with these digests: the digest of
//   the form of entries, and the digest of the code that makes examples (data_code.h);
//   the kind of the source, its options, the group, and what the fit decides by where it is asked;
//   each file's name, and the digest of its bytes.
// Files count by their own names, without the folders that they lie in, but for images, whose notes say the path.
Digest cache_key(const DataName& name, const LoadRequest& request, const SourceLog& sources);

}  // namespace coterie
