// DiskUse: how much the server keeps, by kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace coterie {

struct DiskUse {
  struct Kind {
    std::string_view name;  // of static life: "models"
    std::optional<uint64_t> rows;
    std::optional<uint64_t> bytes;  // of files or of the database, where that is known
  };
  std::vector<Kind> kinds;
};

}  // namespace coterie
