// The runs in a folder: of `coterie demo` and `coterie simulate`, of a sweep, or of a folder that has several of these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/console/folder_files.h"

namespace coterie {

inline constexpr size_t kRunsShownMax = 1'000;

struct ListedRun {
  std::string id;       // of its folder's name alone, so that it stays while others come: 16 hexadecimal digits
  std::string folder;   // relative; empty: the folder itself
  std::string name;     // for people; texts of strangers
  std::string variant;  // of a sweep: its name; empty: of none
};

struct RunList {
  std::vector<ListedRun> runs;  // by folder, at most kRunsShownMax
  size_t left_out = 0;          // beyond
  std::string problem;          // of a sweep.json that cannot be read; empty: none
};

// A folder in which there is no run yet is one that has just begun. All runs of a sweep are listed, also those that
// have not begun.
RunList list_runs(const FolderFiles& files);

std::string run_id(std::string_view folder);

}  // namespace coterie
