// SourceLog: which files a loader has read, in order, and the digest of the bytes that it read of each. Not
// thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "tools/data/stage_log.h"

namespace coterie {

struct SourceFile {
  std::string path;
  Digest digest;  // content_digest of the file as it lay there, packed or not
  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

class SourceLog {
 public:
  void add(std::string path, const Digest& digest) { files_.push_back({std::move(path), digest}); }
  const std::vector<SourceFile>& files() const { return files_; }

 private:
  std::vector<SourceFile> files_;
};

// Who hears what of a load. Null: nobody.
struct LoadWatchers {
  StageLog* stages = nullptr;
  SourceLog* sources = nullptr;
};

}  // namespace coterie
