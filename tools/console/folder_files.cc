#include "tools/console/folder_files.h"

#include <algorithm>
#include "tools/cli/table.h"

namespace coterie {
namespace {

namespace fs = std::filesystem;

Error no_file(const std::string& path) {
  return Error(ErrorCode::not_found, printable(path) + ": there is no such plain file");
}

// Where an open file really lies, by the kernel's word.
fs::path place_of(const os::File& file) {
  std::error_code failed;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(file.fd()), failed);
}

}  // namespace

Result<FolderFiles> FolderFiles::open(const std::string& folder) {
  std::error_code failed;
  const fs::path path = fs::canonical(folder, failed);
  if (failed || !fs::is_directory(path, failed)) {
    return Error(ErrorCode::not_found, printable(folder) + ": there is no such folder");
  }
  return FolderFiles(path.string());
}

std::string FolderFiles::name() const { return fs::path(path_).filename().string(); }

std::string FolderFiles::path_of(const std::string& relative) const {
  return relative.empty() ? path_ : path_ + "/" + relative;
}

std::vector<std::string> FolderFiles::folders(const std::string& in) const {
  return names(in, fs::file_type::directory);
}

std::vector<std::string> FolderFiles::files(const std::string& in) const { return names(in, fs::file_type::regular); }

std::vector<std::string> FolderFiles::names(const std::string& in, fs::file_type type) const {
  std::vector<std::string> found;
  std::error_code failed;
  if (!in.empty() && !has_folder(in)) return found;
  for (fs::directory_iterator each(path_of(in), failed), end; !failed && each != end && found.size() < kFoldersMax;
       each.increment(failed)) {
    std::error_code unknown;
    if (each->symlink_status(unknown).type() == type) found.push_back(each->path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

bool FolderFiles::has_folder(const std::string& folder) const {
  std::error_code failed;
  const fs::path path = path_of(folder);
  return fs::is_directory(fs::symlink_status(path, failed)) && fs::canonical(path, failed) == path;
}

bool FolderFiles::has(const std::string& file) const {
  std::error_code failed;
  const fs::path path = path_of(file);
  return fs::is_regular_file(fs::symlink_status(path, failed)) && fs::canonical(path, failed) == path;
}

Result<os::File> FolderFiles::open_file(const std::string& file) const {
  // A pipe is not even opened, as that would wait.
  if (!has(file)) return no_file(file);
  COT_ASSIGN(os::File opened, os::File::open_read(path_of(file)));
  // A folder on the way may have become a link since.
  if (place_of(opened) != fs::path(path_of(file))) return no_file(file);
  return opened;
}

Result<Bytes> FolderFiles::read(const std::string& file, uint64_t bytes_max) const {
  COT_ASSIGN(const os::File opened, open_file(file));
  COT_ASSIGN(const uint64_t size, opened.size());
  if (size > bytes_max) {
    return Error(ErrorCode::too_large, printable(file) + " has " + std::to_string(size) + " bytes, at most " +
                                           std::to_string(bytes_max) + " are read");
  }
  Bytes bytes(size);
  COT_TRY(opened.read_exact_at(0, bytes));
  return bytes;
}

Result<WallTime> FolderFiles::modified(const std::string& at) const {
  if (!at.empty() && !has_folder(at) && !has(at)) return no_file(at);
  return os::modified(path_of(at));
}

}  // namespace coterie
