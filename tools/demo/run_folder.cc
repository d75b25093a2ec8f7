#include "tools/demo/run_folder.h"

#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/os/file.h"

namespace coterie {
namespace {

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

std::string default_run_path() {
  const std::time_t now = std::time(nullptr);
  struct tm fields {};
  ::localtime_r(&now, &fields);
  char text[64];
  const size_t size = std::strftime(text, sizeof text, "runs/demo-%Y%m%d-%H%M%S", &fields);
  const std::string first(text, size);
  std::string path = first;
  for (int i = 2; os::exists(path); ++i) path = first + "-" + std::to_string(i);
  return path;
}

Result<RunFolder> RunFolder::create(const std::string& path, bool keeps_everything) {
  std::string clean = path;
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  if (os::exists(clean)) {
    COT_ASSIGN(const std::vector<std::string> names, os::list_directory(clean));
    if (!names.empty()) {
      return Error(ErrorCode::conflict, clean + " exists and is not empty; give the run another folder with --out");
    }
  }
  RunFolder folder(clean, first_missing(clean), keeps_everything);
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
  for (const char* name : {"model.cotf", "held-out.cotf", "metrics.csv", "chart.svg", "summary.json"}) {
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
