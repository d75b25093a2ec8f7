#include "base/os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os/crash_point.h"
#include "base/os/temporary_file.h"
#include "base/text/concat.h"

namespace coterie::os {
namespace {

Error system_error(const std::string& what, const std::string& path, int error) {
  ErrorCode code = ErrorCode::unavailable;
  if (error == ENOSPC || error == EDQUOT) code = ErrorCode::storage_full;
  if (error == ENOENT || error == ENOTDIR) code = ErrorCode::not_found;
  if (error == EACCES || error == EPERM || error == EROFS) code = ErrorCode::permission_denied;
  if (error == EEXIST) code = ErrorCode::conflict;
  return Error(code, concat({what, " ", path, ": ", std::strerror(error)}));
}

WallTime modified_of(const struct stat& info) {
#if defined(__APPLE__)
  const timespec& at = info.st_mtimespec;
#else
  const timespec& at = info.st_mtim;
#endif
  return wall_time_from_unix_ms(int64_t{at.tv_sec} * 1000 + at.tv_nsec / 1'000'000);
}

}  // namespace

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
  }
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<File> File::open_read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot open", path, errno);
  return File(fd, path);
}

Result<File> File::create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("cannot create", path, errno);
  return File(fd, path);
}

Result<File> File::open_append(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("cannot open", path, errno);
  return File(fd, path);
}

Result<uint64_t> File::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return system_error("cannot stat", path_, errno);
  return static_cast<uint64_t>(info.st_size);
}

Result<FileIdentity> File::identity() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return system_error("cannot stat", path_, errno);
  return FileIdentity{info.st_dev, info.st_ino};
}

Result<WallTime> File::modified() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return system_error("cannot stat", path_, errno);
  return modified_of(info);
}

Status File::touch() const {
  if (::futimens(fd_, nullptr) != 0) return system_error("cannot touch", path_, errno);
  return {};
}

Status File::write_all(ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0) {
      // A signal came before any byte was written; nothing is wrong with the file.
      if (errno == EINTR) continue;
      return system_error("cannot write", path_, errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status File::read_exact_at(uint64_t offset, std::span<uint8_t> into) const {
  while (!into.empty()) {
    const ssize_t count = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0) {
      if (errno == EINTR) continue;
      return system_error("cannot read", path_, errno);
    }
    if (count == 0) {
      return Error(ErrorCode::data_loss, concat({path_, " ends ", into.size(), " bytes too early"}));
    }
    offset += static_cast<uint64_t>(count);
    into = into.subspan(static_cast<size_t>(count));
  }
  return {};
}

Status File::truncate() {
  if (::ftruncate(fd_, 0) != 0) return system_error("cannot truncate", path_, errno);
  return {};
}

Status File::sync() {
  if (::fsync(fd_) != 0) return system_error("cannot sync", path_, errno);
  return {};
}

Status File::close() {
  const int fd = std::exchange(fd_, -1);
  if (fd >= 0 && ::close(fd) != 0) return system_error("cannot close", path_, errno);
  return {};
}

Result<AtomicFile> AtomicFile::create(const std::string& final_path, const FilePoints* points) {
  COT_ASSIGN(Temporary temporary, create_temporary(final_path));
  AtomicFile file(std::move(temporary.file), temporary.identity, final_path, points);
  file.pass(&FilePoints::created);
  return file;
}

void AtomicFile::pass(CrashPoint FilePoints::*point) const {
  if (points_ != nullptr) crash_point(points_->*point);
}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  // What this one held is abandoned where `other` is destroyed.
  std::swap(file_, other.file_);
  std::swap(identity_, other.identity_);
  std::swap(final_path_, other.final_path_);
  std::swap(written_, other.written_);
  std::swap(points_, other.points_);
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

// Its slot may be another's by now, if somebody removed the temporary: that one's file is not touched.
void AtomicFile::discard() {
  if (file_.is_open() && is_at(identity_, file_.path())) ::unlink(file_.path().c_str());
  (void)file_.close();
}

Status AtomicFile::write(ByteView bytes) {
  Status done = file_.write_all(bytes);
  // A failed write stays: the file is short, and commit() must not give it its name, whatever is written after it.
  if (!done && written_) written_ = done;
  return done;
}

Status AtomicFile::commit_as(const std::string& final_path, Durability durability) {
  Status done = written_;
  if (done) {
    // The order is what makes it atomic: content on disk, then the name, then the directory that has the name. With the
    // name first, a power loss could leave it on an empty file.
    pass(&FilePoints::written);
    if (durability >= Durability::content) done = file_.sync();
  }
  if (done) pass(&FilePoints::synced);
  if (done && !is_at(identity_, file_.path())) {
    done = Error(ErrorCode::conflict, concat({file_.path(), " was removed or replaced while it was written"}));
  }
  if (done && ::rename(file_.path().c_str(), final_path.c_str()) != 0) {
    done = system_error("cannot rename to", final_path, errno);
  }
  if (!done) {
    discard();
    return done;
  }
  pass(&FilePoints::renamed);
  COT_TRY(file_.close());  // not before the rename: without its lock the temporary would be anybody's
  if (durability == Durability::power_loss) done = sync_directory(parent_directory(final_path));
  if (done) pass(&FilePoints::durable);
  return done;
}

Status write_file_atomically(const std::string& path, ByteView bytes, const FilePoints* points) {
  COT_ASSIGN(AtomicFile file, AtomicFile::create(path, points));
  COT_TRY(file.write(bytes));
  return file.commit();
}

Status write_file_atomically(const std::string& path, ByteView bytes, Durability durability) {
  COT_ASSIGN(AtomicFile file, AtomicFile::create(path));
  COT_TRY(file.write(bytes));
  return file.commit(durability);
}

Result<Bytes> read_file(const std::string& path, uint64_t bytes_max) {
  COT_ASSIGN(const File file, File::open_read(path));
  COT_ASSIGN(const uint64_t size, file.size());
  if (size > bytes_max) {
    return Error(ErrorCode::too_large, concat({path, " has ", size, " bytes, at most ", bytes_max, " are read"}));
  }
  Bytes bytes(size);
  COT_TRY(file.read_exact_at(0, bytes));
  return bytes;
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

Result<WallTime> modified(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return system_error("cannot stat", path, errno);
  return modified_of(info);
}

bool is_at(const FileIdentity& identity, const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && identity == FileIdentity{info.st_dev, info.st_ino};
}

Status make_directories(const std::string& path) {
  if (path.empty() || path == "/" || path == ".") return {};
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return {};
    return Error(ErrorCode::conflict, concat({path, " exists and is not a directory"}));
  }
  COT_TRY(make_directories(parent_directory(path)));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_error("cannot create directory", path, errno);
  return {};
}

Result<bool> make_private(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? Result<bool>(false) : Result<bool>(system_error("cannot stat", path, errno));
  }
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if ((info.st_mode & kOthers) == 0) return false;
  if (::chmod(path.c_str(), info.st_mode & 07777 & ~kOthers) != 0) {
    return system_error("cannot take from others what they may do with", path, errno);
  }
  return true;
}

Status rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return system_error("cannot rename to", to, errno);
  return {};
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("cannot remove", path, errno);
  return {};
}

Status erase_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno == ENOENT ? Status() : system_error("cannot open", path, errno);
  File file(fd, path);
  COT_ASSIGN(const uint64_t size, file.size());
  // In place and synced before the name goes: an unlinked file's blocks are free, and nobody writes over them. On a
  // disk that writes elsewhere (flash, copies on write) the old blocks may stay; then it is no worse than removing.
  COT_TRY(file.write_all(std::vector<uint8_t>(size)));
  COT_TRY(file.sync());
  COT_TRY(remove_file(path));
  return sync_directory(parent_directory(path));
}

Status sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot open directory", path, errno);
  File directory(fd, path);
  return directory.sync();
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return system_error("cannot list", path, errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

std::string parent_directory(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace coterie::os
