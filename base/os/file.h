// The one door to the disk: every durable file in the tree is written through here.
//
// Durable write: temporary file in the same directory, write, fsync, rename over the name, fsync of the directory.
// After a crash a reader sees the old bytes or the new bytes, never a mixture, and no temporary file counts for
// anything; one that a killed process left is removed when the same name is written next (temporary_file.h). Errors
// name the path and the system's reason; a full disk is ErrorCode::storage_full.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie::os {

enum class CrashPoint : uint16_t;  // base/os/crash_point.h
struct FilePoints;

// Which file it is, by whatever path; as long as somebody has it open no other is the same.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Owns a file descriptor. Move-only.
class File {
 public:
  File() = default;
  explicit File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept;
  ~File();

  static Result<File> open_read(const std::string& path);
  // Creates `path` (it must not exist) readable by the owner alone.
  static Result<File> create(const std::string& path);

  // Opens or creates `path` for writing at its end.
  static Result<File> open_append(const std::string& path);

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  Result<uint64_t> size() const;
  Result<FileIdentity> identity() const;
  // When it was last written or touched, by the clock of its file system.
  Result<WallTime> modified() const;
  Status touch() const;  // as if it were written now
  Status write_all(ByteView bytes);
  // Reads exactly into.size() bytes at `offset`; fewer is data_loss.
  Status read_exact_at(uint64_t offset, std::span<uint8_t> into) const;
  Status truncate();  // to nothing
  Status sync();
  Status close();

 private:
  int fd_ = -1;
  std::string path_;
};

// What a file that was written must outlive. Each answer costs a wait for the disk more than the one before it.
enum class Durability : uint8_t {
  process,    // the death of the process. A power loss may leave the file before it, this one, or bytes of neither:
              // whoever reads it checks it, and does without.
  content,    // also a power loss, but for being there: the file before it or this one, whole
  power_loss  // everything: what is durable when commit returns is there after any loss of power
};

// A durable file in the making: fill it, then commit; a destroyed, uncommitted one leaves nothing behind.
class AtomicFile {
 public:
  // `points` (of static life): where a test kills the process while it writes such a file; null: nowhere.
  static Result<AtomicFile> create(const std::string& final_path, const FilePoints* points = nullptr);
  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Status write(ByteView bytes);
  // fsync, rename, fsync of the directory, as far as `durability` needs them. After a failed write it fails, too, with
  // the write's error; with conflict if somebody removed the temporary.
  Status commit(Durability durability = Durability::power_loss) { return commit_as(final_path_, durability); }
  // As commit, under a name that was not known before the bytes were (content addresses). Same directory.
  Status commit_as(const std::string& final_path, Durability durability = Durability::power_loss);
  const File& file() const { return file_; }

 private:
  AtomicFile(File file, FileIdentity identity, std::string final_path, const FilePoints* points)
      : file_(std::move(file)), identity_(identity), final_path_(std::move(final_path)), points_(points) {}
  void pass(CrashPoint FilePoints::*point) const;
  void discard();

  File file_;
  FileIdentity identity_;  // of the temporary
  std::string final_path_;
  Status written_;
  const FilePoints* points_;
};

// Writes `bytes` durably under `path`.
Status write_file_atomically(const std::string& path, ByteView bytes, const FilePoints* points = nullptr);
Status write_file_atomically(const std::string& path, ByteView bytes, Durability durability);

// The whole file; more than `bytes_max` is too_large, before anything is read.
Result<Bytes> read_file(const std::string& path, uint64_t bytes_max);

bool exists(const std::string& path);
// Takes away what the group and others may do with a file or a directory. Whether there was something to take away;
// false also where there is no such file. permission_denied if it is somebody else's.
Result<bool> make_private(const std::string& path);
Result<WallTime> modified(const std::string& path);                  // File::modified
bool is_at(const FileIdentity& identity, const std::string& path);   // of `path` itself, also if it is a link
Status make_directories(const std::string& path);                    // mode 0700 for what it creates
Status rename_file(const std::string& from, const std::string& to);  // replaces; outlives the process, not a power loss
Status remove_file(const std::string& path);                         // absent is success
// For secrets: overwrites the bytes, waits for the disk, then removes the name durably; absent is success. A drive or a
// file system that writes elsewhere than where the bytes were keeps the old ones for as long as it likes.
Status erase_file(const std::string& path);
Status sync_directory(const std::string& path);
Result<std::vector<std::string>> list_directory(const std::string& path);  // names, sorted, without . and ..
std::string parent_directory(const std::string& path);

}  // namespace coterie::os
