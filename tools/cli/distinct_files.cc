#include "tools/cli/distinct_files.h"

#include <filesystem>
#include <map>
#include <sstream>

namespace coterie {
namespace {

// Where the path leads. One that the system cannot follow is left to whoever opens it.
std::string place_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  const std::filesystem::path place = std::filesystem::weakly_canonical(absolute, error);
  if (error) return path;
  return place.has_filename() ? place.string() : place.parent_path().string();  // "DIR/" is DIR
}

// "csv:a.csv?target=x" and "npy:x.npy,y.npy" name files behind the colon.
std::vector<std::string> paths_in(const std::string& name) {
  std::vector<std::string> paths = {name};
  const size_t colon = name.find(':');
  if (colon == std::string::npos) return paths;
  std::istringstream list(name.substr(colon + 1, name.find('?') - colon - 1));
  for (std::string path; std::getline(list, path, ',');) paths.push_back(path);
  return paths;
}

}  // namespace

Status distinct_files(const std::vector<CommandFile>& read, const std::vector<CommandFile>& written) {
  std::map<std::string, std::string> purposes;  // of places
  for (const CommandFile& file : read) {
    if (file.path.empty()) continue;  // a folder is a place, too: all that lies in it is read
    for (const std::string& path : paths_in(file.path)) purposes.emplace(place_of(path), file.what);
  }
  const std::map<std::string, std::string> inputs = purposes;
  for (const CommandFile& file : written) {
    if (file.path.empty()) continue;
    const auto folder = inputs.find(std::filesystem::path(place_of(file.path)).parent_path().string());
    if (folder != inputs.end()) {
      return Error(ErrorCode::invalid_argument, file.what + " names a file in a folder that is read: " + file.path +
                                                    " lies in " + folder->second + "; name a file in another folder");
    }
    const auto [held, is_new] = purposes.emplace(place_of(file.path), file.what);
    if (is_new) continue;
    return Error(ErrorCode::invalid_argument, file.what + " names a file that has another purpose: " + file.path +
                                                  " is " + held->second + ", too; name another file");
  }
  return {};
}

}  // namespace coterie
