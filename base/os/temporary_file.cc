#include "base/os/temporary_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text/concat.h"

namespace coterie::os {
namespace {

constexpr uint32_t kSlotsMax = 1024;  // writers of one name at once
constexpr uint32_t kTriesMax = 2 * kSlotsMax;
// So many empty slots in a row end the search for abandoned files: writers take the lowest free slot, so gaps
// are as long as there were writers of one name at the same time.
constexpr uint32_t kEmptySlots = 4;

enum class Slot { empty, removed, taken };

std::string slot_path(const std::string& final_path, uint32_t slot) {
  return final_path + ".unfinished." + std::to_string(slot);
}

// Only who holds its lock may rename or remove a file in a slot. The lock may have come just after the file's
// writer gave it its name, or after another looker removed it: then the path leads elsewhere by now, and is
// left alone.
Slot look_into(const std::string& path) {
  // For writing, as locks over NFS ask for; neither through a link nor waiting for a pipe's other end.
  const int fd = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? Slot::empty : Slot::taken;
  const File file(fd, path);
  struct stat info {};
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return Slot::taken;
  if (!is_at({info.st_dev, info.st_ino}, path)) return Slot::empty;
  return ::unlink(path.c_str()) == 0 ? Slot::removed : Slot::taken;
}

void remove_abandoned_from(uint32_t slot, const std::string& final_path) {
  for (uint32_t empty = 0; slot < kSlotsMax && empty < kEmptySlots; ++slot) {
    empty = look_into(slot_path(final_path, slot)) == Slot::empty ? empty + 1 : 0;
  }
}

}  // namespace

Result<Temporary> create_temporary(const std::string& final_path) {
  uint32_t slot = 0;
  for (uint32_t tries = 0; slot < kSlotsMax && tries < kTriesMax; ++tries) {
    const std::string path = slot_path(final_path, slot);
    Result<File> file = File::create(path);
    if (!file && file.error().code() != ErrorCode::conflict) return file.error();
    if (!file) {
      if (look_into(path) == Slot::taken) ++slot;
      continue;
    }
    // Between its making and its lock somebody may have taken it for abandoned; then it is removed, or about
    // to be.
    if (::flock(file->fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;
    COT_ASSIGN(const FileIdentity identity, file->identity());
    if (!is_at(identity, path)) continue;
    remove_abandoned_from(slot + 1, final_path);
    return Temporary{*std::move(file), identity};
  }
  return Error(ErrorCode::unavailable,
               concat({"cannot write ", final_path, ": ", slot, " unfinished files lie beside it (",
                       slot_path(final_path, 0), " and on); remove those that nobody is writing"}));
}

void remove_abandoned(const std::string& final_path) { remove_abandoned_from(0, final_path); }

}  // namespace coterie::os
