// Models and data sets on the admin plane.
#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/net/blob_response.h"
#include "fl_server/net/entity_tag.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/model_store.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"

namespace coterie::admin_handlers {
namespace {

// Its entity tag is the blob's digest, which the audit log says, too.
HttpResponse stored(const Digest& digest, const nlohmann::json& json) {
  HttpResponse response = json_response(json, 201);
  response.headers.emplace_back("ETag", "\"" + digest.hex() + "\"");
  return response;
}

// The blob of a body that a tenant has room for. A refusal writes nothing.
Result<Digest> keep_upload(AdminContext& context, const AdminCall& call) {
  const bool is_of_all = call.caller.tenant == kEveryTenant;
  const UploadRecord upload{.tenant = is_of_all ? std::string(kDefaultTenant) : call.caller.tenant,
                            .digest = content_digest(call.body),
                            .bytes = call.body.size(),
                            .put = os::wall_now()};
  const TenantQuotas& quotas = context.settings.quotas;
  COT_TRY(context.admin.note_upload(upload, {.uploads = quotas.uploads_max, .bytes = quotas.blob_bytes_max}));
  return context.blobs.put(call.body);
}

}  // namespace

HttpResponse upload_model(AdminContext& context, const AdminCall& call) {
  const Result<Decoded<ModelGraph>> model = decode_model(call.body);
  if (!model) return problem_response(model.error());
  if (model->payload.empty() || model->payload.size() % sizeof(float) != 0) {
    return problem_response(Error(ErrorCode::malformed, "model: its payload is not a whole number of float32"));
  }
  if (context.check_model) {
    if (const Status fits = context.check_model(call.body); !fits) return problem_response(fits.error());
  }
  const Result<Digest> digest = keep_upload(context, call);
  if (!digest) return problem_response(digest.error());
  return stored(*digest, {{"digest", digest->hex()},
                          {"bytes", call.body.size()},
                          {"name", model->header.name},
                          {"value_count", model->payload.size() / sizeof(float)}});
}

HttpResponse upload_dataset(AdminContext& context, const AdminCall& call) {
  const Result<Decoded<DatasetHeader>> dataset = decode_dataset(call.body);
  if (!dataset) return problem_response(dataset.error());
  const Result<Digest> digest = keep_upload(context, call);
  if (!digest) return problem_response(digest.error());
  return stored(*digest,
                {{"digest", digest->hex()}, {"bytes", call.body.size()}, {"examples", dataset->header.examples}});
}

HttpResponse list_models(AdminContext& context, const AdminCall& call) {
  const JobId job(call.path.at("job"));
  Problems problems;
  QueryReader reader(call.query, problems);
  const bool begins_behind = reader.find("after") != nullptr;
  const uint64_t after = reader.number("after", 0, 0, INT64_MAX);
  const uint64_t limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  if (const Result<JobRecord> found = context.jobs.get_job(job); !found) return problem_response(found.error());
  ModelQuery query{.limit = limit + 1};  // one more says whether there is a further page
  if (begins_behind) query.after = ModelVersion(after);
  const Result<std::vector<ModelRecord>> models = context.models.list_models(job, query);
  if (!models) return problem_response(models.error());
  const Result<std::optional<ModelRelease>> release = context.models.released_model(job);
  if (!release) return problem_response(release.error());
  nlohmann::json list = nlohmann::json::array();
  std::optional<uint64_t> next;
  for (const ModelRecord& model : *models) {
    if (list.size() == limit) {
      next = list.back()["version"];
      break;
    }
    list.push_back(to_json(model));
    list.back()["released"] = *release && (*release)->version == model.version;
  }
  nlohmann::json json = {{"job", job.value()}, {"models", list}};
  if (next) json["next_after"] = *next;
  return with_entity_tag(call.head, json_response(json));
}

HttpResponse get_model(AdminContext& context, const AdminCall& call) {
  const Result<ModelVersion> version = model_version_from(call.path.at("version"));
  if (!version) return problem_response(version.error());
  const JobId job(call.path.at("job"));
  const Result<ModelRecord> model = context.models.get_model(job, *version);
  if (!model) return problem_response(model.error());
  const Result<std::optional<ModelRelease>> release = context.models.released_model(job);
  if (!release) return problem_response(release.error());
  nlohmann::json json = to_json(*model);
  json["released"] = *release && (*release)->version == model->version;
  return with_entity_tag(call.head, json_response(json));
}

HttpResponse get_model_content(AdminContext& context, const AdminCall& call) {
  const Result<ModelVersion> version = model_version_from(call.path.at("version"));
  if (!version) return problem_response(version.error());
  const Result<ModelRecord> model = context.models.get_model(JobId(call.path.at("job")), *version);
  if (!model) return problem_response(model.error());
  Result<HttpResponse> response =
      blob_response(call.head, context.blobs, model->digest, "application/vnd.coterie.frame");
  return response ? std::move(*response) : problem_response(response.error());
}

}  // namespace coterie::admin_handlers
