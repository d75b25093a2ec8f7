// Blobs as files of one directory: <root>/<first two hex digits>/<hex digest>.
#pragma once

#include <memory>
#include <string>

#include "fl_server/store/blob_store.h"

namespace coterie {

class DirectoryBlobStore : public BlobStore {
 public:
  // Creates the directories; removes what writers of an earlier process left unfinished.
  static Result<std::unique_ptr<DirectoryBlobStore>> open_directory(const std::string& root);

  Result<std::unique_ptr<BlobWriter>> create() override;
  Result<std::shared_ptr<const BlobReader>> open(const Digest& digest) override;
  Status remove(const Digest& digest) override;
  Result<std::vector<Digest>> list() override;

 private:
  explicit DirectoryBlobStore(std::string root) : root_(std::move(root)) {}
  std::string path_of(const Digest& digest) const;
  std::string root_;
};

}  // namespace coterie
