#include "tools/console/run_explanations.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tools/cli/table.h"
#include "tools/explain/explanation_record.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr std::string_view kJsonEnd = ".json", kPngEnd = ".png";
// PNG (ISO/IEC 15948), 5.2 and 11.2.2: a signature, then the chunk IHDR, which begins with width and height.
constexpr size_t kHeaderBytes = 24;
constexpr std::array<uint8_t, 16> kPngBegin = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n',
                                               0,    0,   0,   13,  'I',  'H',  'D',  'R'};

struct PictureSize {
  uint32_t width = 0, height = 0;
};

// Big-endian.
uint32_t number_at(ByteView header, size_t at) {
  uint32_t number = 0;
  for (const uint8_t byte : header.subspan(at, sizeof(number))) number = number << 8 | byte;
  return number;
}

Result<PictureSize> png_size(ByteView header, const std::string& file) {
  if (header.size() < kHeaderBytes || !std::ranges::equal(header.first(kPngBegin.size()), kPngBegin)) {
    return Error(ErrorCode::malformed, printable(file) + " is no PNG picture");
  }
  const PictureSize size{number_at(header, 16), number_at(header, 20)};
  const auto fits = [](uint32_t side) { return side >= 1 && side <= kShownPictureSideMax; };
  if (fits(size.width) && fits(size.height)) return size;
  return Error(ErrorCode::too_large, printable(file) + " has " + std::to_string(size.width) + " x " +
                                         std::to_string(size.height) + " pixels, from 1 to " +
                                         std::to_string(kShownPictureSideMax) + " a side are shown");
}

std::string folder_of(const std::string& run) { return (run.empty() ? "" : run + "/") + kExplanationsFolder; }
std::string file_of(const std::string& run, std::string_view name, std::string_view end) {
  return folder_of(run).append("/").append(name).append(end);
}

Result<PictureSize> picture_size(const FolderFiles& files, const std::string& file) {
  COT_ASSIGN(const os::File opened, files.open_file(file));
  COT_ASSIGN(const uint64_t bytes, opened.size());
  if (bytes > kShownPictureBytesMax) return Error(ErrorCode::too_large, printable(file) + " is too large to be shown");
  Bytes header(std::min<uint64_t>(bytes, kHeaderBytes));
  COT_TRY(opened.read_exact_at(0, header));
  return png_size(header, file);
}

// Null: there is none that can be shown.
json shown_explanation(const FolderFiles& files, const std::string& run, const std::string& name) {
  const Result<Bytes> text = files.read(file_of(run, name, kJsonEnd), kExplanationJsonBytesMax);
  const Result<PictureSize> size = picture_size(files, file_of(run, name, kPngEnd));
  if (!text || !size) return {};
  const Result<ExplanationRecord> record = parse_explanation(as_text(*text));
  if (!record) return {};
  json shown = to_json(*record);
  shown.erase("schema");
  shown["name"] = name;
  shown["width"] = size->width;
  shown["height"] = size->height;
  return shown;
}

}  // namespace

json run_explanations(const FolderFiles& files, const std::string& run) {
  json all = json::array();
  size_t left_out = 0, tried = 0;
  for (const std::string& file : files.files(folder_of(run))) {
    if (!file.ends_with(kJsonEnd)) continue;
    const std::string name = file.substr(0, file.size() - kJsonEnd.size());
    json one;
    if (is_explanation_stem(name) && all.size() < kExplanationsShownMax && tried++ < kExplanationsTriedMax)
      one = shown_explanation(files, run, name);
    if (one.is_null()) ++left_out;
    else all.push_back(std::move(one));
  }
  return {{"explanations", std::move(all)}, {"left_out", left_out}};
}

Result<Bytes> run_explanation_picture(const FolderFiles& files, const std::string& run, std::string_view name) {
  if (!is_explanation_stem(name)) return Error(ErrorCode::not_found, "there is no picture of that name");
  const std::string file = file_of(run, name, kPngEnd);
  COT_ASSIGN(Bytes picture, files.read(file, kShownPictureBytesMax));
  COT_TRY(png_size(picture, file));
  return picture;
}

}  // namespace coterie
