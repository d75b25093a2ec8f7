// What a version of a model is made of: its graph, and what its parameters' values are like.
#include <nlohmann/json.hpp>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/model_view/model_file.h"
#include "fl_server/model_view/model_graph_json.h"
#include "fl_server/model_view/parameter_histograms.h"
#include "fl_server/net/entity_tag.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/model_store.h"
#include "proto/codec/limits.h"

namespace coterie::admin_handlers {
namespace {

// What `view` says of the version that the path names.
template <typename View>
HttpResponse view_model(AdminContext& context, const AdminCall& call, const View& view) {
  const auto viewed = [&]() -> Result<nlohmann::json> {
    COT_ASSIGN(const ModelVersion version, model_version_from(call.path.at("version")));
    const JobId job(call.path.at("job"));
    COT_ASSIGN(const ModelRecord model, context.models.get_model(job, version));
    COT_ASSIGN(std::shared_ptr<const BlobReader> blob, context.blobs.open(model.digest));
    COT_ASSIGN(const ModelFile file, ModelFile::open(std::move(blob), "model " + model.digest.hex()));
    COT_ASSIGN(nlohmann::json json, view(file));
    json.update({{"job", job.value()}, {"version", version.value()}, {"digest", model.digest.hex()}});
    return json;
  }();
  return viewed ? with_entity_tag(call.head, json_response(*viewed)) : problem_response(viewed.error());
}

}  // namespace

HttpResponse get_model_graph(AdminContext& context, const AdminCall& call) {
  return view_model(context, call, [](const ModelFile& file) { return model_graph_json(file.graph()); });
}

HttpResponse list_model_parameters(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  const uint64_t after = reader.number("after", 0, 0, limits::kModelTensorsMax);
  const uint64_t limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  return view_model(context, call, [&](const ModelFile& file) -> Result<nlohmann::json> {
    COT_ASSIGN(const HistogramPage page, read_histograms(file, after, limit));
    return to_json(page, file.graph());
  });
}

}  // namespace coterie::admin_handlers
