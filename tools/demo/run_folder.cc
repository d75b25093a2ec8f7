#include "tools/demo/run_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/os/file.h"

namespace coterie {
namespace {

constexpr int kNamesTriedMax = 1000;

void remove_tree(const std::string& path) {
  std::error_code ignored;  // what cannot be removed stays; there is nobody left to tell
  std::filesystem::remove_all(path, ignored);
}

// The topmost directory on the way to `path` that does not exist yet.
std::string first_missing(const std::string& path) {
  std::string missing;
  for (std::string at = path; at != "." && at != "/" && !os::exists(at); at = os::parent_directory(at)) missing = at;
  return missing;
}

}  // namespace

std::string device_label(uint32_t device) {
  std::string digits = std::to_string(device);
  return digits.size() < 2 ? "0" + digits : digits;
}

Result<RunFolder> RunFolder::create_default(bool keeps_everything) {
  const std::time_t now = std::time(nullptr);
  struct tm fields {};
  ::localtime_r(&now, &fields);
  char text[64];
  const std::string first(text, std::strftime(text, sizeof text, "runs/demo-%Y%m%d-%H%M%S", &fields));
  for (int i = 1;; ++i) {
    const std::string path = i == 1 ? first : first + "-" + std::to_string(i);
    Result<RunFolder> folder = create(path, keeps_everything);
    if (folder || folder.error().code() != ErrorCode::conflict || i == kNamesTriedMax) return folder;
  }
}

Result<RunFolder> RunFolder::create(const std::string& path, bool keeps_everything) {
  std::string clean = path;
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  const std::string created = first_missing(clean);
  COT_TRY(os::make_directories(clean));
  COT_ASSIGN(const std::vector<std::string> names, os::list_directory(clean));
  // Two demos may begin at once: the one that makes this directory has the folder.
  if (!names.empty() || (::mkdir((clean + "/server").c_str(), 0700) != 0 && errno == EEXIST)) {
    return Error(ErrorCode::conflict, clean + " exists and is not empty; give the run another folder with --out");
  }
  RunFolder folder(clean, created, keeps_everything);
  for (const char* name : {"server", "devices", "logs"}) COT_TRY(os::make_directories(folder.path(name)));
  return folder;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      created_(std::move(other.created_)),
      keeps_everything_(other.keeps_everything_),
      settled_(std::exchange(other.settled_, true)) {}

void RunFolder::interrupted() {
  if (std::exchange(settled_, true)) return;
  remove_work();
  remove_tree(path("logs"));
  for (const char* name : {"model.cotf", "held-out.cotf", "metrics.csv", "chart.svg", "chart.html", "summary.json",
                           "job.json", "ledger.json", "result.json"}) {
    (void)os::remove_file(path(name));
  }
  // Upwards, only what we made, and only while nobody else has put something there.
  if (created_.empty()) return;
  for (std::string at = path_; ::rmdir(at.c_str()) == 0 && at != created_;) at = os::parent_directory(at);
}

void RunFolder::finished() {
  if (std::exchange(settled_, true) || keeps_everything_) return;
  remove_work();
  remove_tree(path("logs"));
}

void RunFolder::failed() {
  if (std::exchange(settled_, true) || keeps_everything_) return;
  remove_work();
}

void RunFolder::remove_work() const {
  remove_tree(path("server"));
  remove_tree(path("devices"));
}

std::string RunFolder::device_dir(uint32_t device) const { return path("devices/" + device_label(device)); }

Status RunFolder::write(const std::string& name, ByteView bytes) const {
  return os::write_file_atomically(path(name), bytes);
}

}  // namespace coterie
