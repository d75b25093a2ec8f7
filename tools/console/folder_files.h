// FolderFiles: the files below one folder, and no others. Whatever the names are, and whatever links stand there,
// nothing outside of the folder is read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/os/file.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

class FolderFiles {
 public:
  static constexpr size_t kFoldersMax = 100'000;  // that one folder is looked into for, and as many files

  // not_found: there is no such folder. `folder` itself may be a link.
  static Result<FolderFiles> open(const std::string& folder);

  const std::string& path() const { return path_; }  // absolute, without links
  std::string name() const;                          // its last part

  // The folders directly in `in` (relative, "" the folder itself), sorted, at most kFoldersMax. Links are none.
  std::vector<std::string> folders(const std::string& in) const;
  // Likewise the plain files.
  std::vector<std::string> files(const std::string& in) const;
  bool has_folder(const std::string& folder) const;
  bool has(const std::string& file) const;  // a plain file, by a path without links
  // not_found: it is not there, or is no plain file, or a link leads to it.
  Result<os::File> open_file(const std::string& file) const;
  // As above; too_large; data_loss: it shrank meanwhile.
  Result<Bytes> read(const std::string& file, uint64_t bytes_max) const;
  // When a file or folder was changed last; not_found.
  Result<WallTime> modified(const std::string& at) const;

 private:
  explicit FolderFiles(std::string path) : path_(std::move(path)) {}
  std::string path_of(const std::string& relative) const;
  std::vector<std::string> names(const std::string& in, std::filesystem::file_type type) const;

  std::string path_;
};

}  // namespace coterie
