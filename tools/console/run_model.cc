#include "tools/console/run_model.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "fl_server/model_view/model_file.h"
#include "fl_server/model_view/model_graph_json.h"
#include "fl_server/model_view/parameter_histograms.h"
#include "fl_server/net/http_types.h"
#include "fl_server/store/file_blob.h"
#include "proto/codec/limits.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr uint64_t kPageDefault = 100, kPageMax = 1000;  // tensors, as those of the admin plane

Result<ModelFile> open_model(const FolderFiles& files, const std::string& model) {
  COT_ASSIGN(os::File file, files.open_file(model));
  COT_ASSIGN(const uint64_t size, file.size());
  return ModelFile::open(std::make_shared<FileBlob>(std::move(file), size), printable(model));
}

Result<uint64_t> number_of(const std::string& key, const std::string& text, uint64_t min, uint64_t max) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && number >= min && number <= max) return number;
  return Error(ErrorCode::invalid_argument, "?" + key + " must be from " + std::to_string(min) + " to " +
                                                std::to_string(max) + ", not " + printable(text));
}

}  // namespace

Result<nlohmann::json> run_model_graph(const FolderFiles& files, const std::string& model) {
  COT_ASSIGN(const ModelFile file, open_model(files, model));
  return model_graph_json(file.graph());
}

Result<nlohmann::json> run_model_parameters(const FolderFiles& files, const std::string& model,
                                            std::string_view query) {
  COT_ASSIGN(const auto asked, parse_query(query));
  uint64_t after = 0, limit = kPageDefault;
  for (const auto& [key, value] : asked) {
    if (key == "after") {
      COT_ASSIGN(after, number_of(key, value, 0, limits::kModelTensorsMax));
    } else if (key == "limit") {
      COT_ASSIGN(limit, number_of(key, value, 1, kPageMax));
    }
  }
  COT_ASSIGN(const ModelFile file, open_model(files, model));
  COT_ASSIGN(const HistogramPage page, read_histograms(file, after, limit));
  return to_json(page, file.graph());
}

}  // namespace coterie
