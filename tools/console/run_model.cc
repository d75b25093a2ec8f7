#include "tools/console/run_model.h"

#include <nlohmann/json.hpp>

#include "fl_server/model_view/model_file.h"
#include "fl_server/model_view/model_graph_json.h"
#include "fl_server/model_view/parameter_histograms.h"
#include "fl_server/net/http_types.h"
#include "fl_server/store/file_blob.h"
#include "proto/codec/limits.h"
#include "tools/cli/table.h"
#include "tools/console/run_query.h"

namespace coterie {
namespace {

Result<ModelFile> open_model(const FolderFiles& files, const std::string& model) {
  COT_ASSIGN(os::File file, files.open_file(model));
  COT_ASSIGN(const uint64_t size, file.size());
  return ModelFile::open(std::make_shared<FileBlob>(std::move(file), size), printable(model));
}

}  // namespace

Result<nlohmann::json> run_model_graph(const FolderFiles& files, const std::string& model) {
  COT_ASSIGN(const ModelFile file, open_model(files, model));
  return model_graph_json(file.graph());
}

Result<nlohmann::json> run_model_parameters(const FolderFiles& files, const std::string& model,
                                            std::string_view query) {
  COT_ASSIGN(const auto asked, parse_query(query));
  uint64_t after = 0, limit = kRunPageDefault;
  for (const auto& [key, value] : asked) {
    if (key == "after") {
      COT_ASSIGN(after, run_query_number(key, value, 0, limits::kModelTensorsMax));
    } else if (key == "limit") {
      COT_ASSIGN(limit, run_query_number(key, value, 1, kRunPageMax));
    }
  }
  COT_ASSIGN(const ModelFile file, open_model(files, model));
  COT_ASSIGN(const HistogramPage page, read_histograms(file, after, limit));
  return to_json(page, file.graph());
}

}  // namespace coterie
