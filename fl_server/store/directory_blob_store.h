// Blobs as files of one directory: <root>/<first two hex digits>/<hex digest>. When one was put is its modification
// time, and the clock that of the file system: on a network one that of the machine which has the disk.
#pragma once

#include <memory>
#include <string>

#include "base/os/crash_point.h"
#include "fl_server/store/blob_store.h"

namespace coterie {

class DirectoryBlobStore : public BlobStore {
 public:
  // Creates the directories; removes what writers of an earlier process left unfinished. Several servers may share a
  // directory, each with a `node` name of its own.
  // `points` (of static life): where a test kills the process while it writes a blob.
  static Result<std::unique_ptr<DirectoryBlobStore>> open_directory(const std::string& root,
                                                                    const std::string& node = {},
                                                                    const os::FilePoints* points = nullptr);

  Result<std::unique_ptr<BlobWriter>> create() override;
  Result<std::shared_ptr<const BlobReader>> open(const Digest& digest) override;
  Status remove(const Digest& digest) override;
  Result<WallTime> now() override;
  Result<bool> remove_put_before(const Digest& digest, WallTime put_min) override;
  Result<std::vector<Digest>> list(Millis age_min) override;

 private:
  DirectoryBlobStore(std::string root, std::string incoming, const os::FilePoints* points)
      : root_(std::move(root)), incoming_(std::move(incoming)), points_(points) {}
  std::string path_of(const Digest& digest) const;
  std::string root_;
  std::string incoming_;  // where this server's writers write
  const os::FilePoints* points_;
};

}  // namespace coterie
