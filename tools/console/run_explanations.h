// A run's explanations as the console's page asks for them (explanation_record.h has what they are). It reads files,
// and these are a stranger's: of a few names, of a few sizes, and a picture is a PNG by its own first bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/console/folder_files.h"

namespace coterie {

inline constexpr size_t kExplanationsShownMax = 64;     // of a run, the first by name
inline constexpr size_t kExplanationsTriedMax = 1'024;  // of a run, whether they can be shown or not
inline constexpr uint64_t kShownPictureBytesMax = 4 << 20;
inline constexpr uint32_t kShownPictureSideMax = 4096;  // pixels; what a browser unpacks stays below 64 MiB

// `run`: its folder in `files`. {"explanations": [{"name", "width", "height", and what its file says}], "left_out"}:
// left_out counts what cannot be read, has no picture, or is beyond kExplanationsShownMax or kExplanationsTriedMax.
nlohmann::json run_explanations(const FolderFiles& files, const std::string& run);

// The picture by the name that the list has. Errors: not_found (also of a name that is none), too_large, malformed.
Result<Bytes> run_explanation_picture(const FolderFiles& files, const std::string& run, std::string_view name);

}  // namespace coterie
