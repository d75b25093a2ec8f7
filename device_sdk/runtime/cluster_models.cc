#include "device_sdk/runtime/cluster_models.h"

#include <algorithm>
#include <string>

#include "base/random.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/seal.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/perturbed_values.h"

namespace coterie {
namespace {

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"clusters: ", what})); }

uint64_t values_of_copy(const Model& model) {
  return cluster_payload_bytes(model.value_count() * sizeof(float)) / sizeof(float);
}

}  // namespace

Result<Bytes> stack_models(std::span<const Model> models) {
  if (models.empty()) return bad("there is no model");
  const Model& first = models.front();
  COT_ASSIGN(const ModelGraph graph,
             stack_graph(first.graph(), static_cast<uint32_t>(models.size()), first.value_count() * sizeof(float)));
  std::vector<float> payload;
  for (const Model& model : models) {
    if (model.graph() != first.graph() || model.value_count() != first.value_count()) {
      return bad("the models must be of one form, and differ in their values alone");
    }
    payload.insert(payload.end(), model.parameters().begin(), model.parameters().end());
    payload.resize((payload.size() + values_of_copy(first) - 1) / values_of_copy(first) * values_of_copy(first));
  }
  return sealed_model_file(graph, payload);
}

Result<Model> perturbed(const Model& model, float spread, uint64_t seed) {
  if (!(spread >= 0 && spread <= kClusterSpreadMax)) return bad("the spread must be in [0, 100]");
  std::vector<float> values(model.parameters().begin(), model.parameters().end());
  perturb(values, parameter_values(model.graph()), static_cast<double>(spread), seed);
  return Model::load(model.file_with(values));
}

Result<Bytes> stack_of_one(const Model& model, uint32_t count, float spread, uint64_t seed) {
  std::vector<Model> models = {model};
  for (uint32_t cluster = 1; cluster < std::min(count, kClustersMax + 1); ++cluster) {
    COT_ASSIGN(Model other, perturbed(model, spread, Prng::derived(seed, cluster).next()));
    models.push_back(std::move(other));
  }
  return stack_models(models);
}

Result<std::span<const float>> cluster_values(const Model& stacked, uint32_t cluster) {
  const uint32_t count = cluster_count(stacked.graph());
  if (count == 1) return bad("the file holds one model, and no clusters");
  if (cluster >= count) {
    return bad(concat({"the file holds ", count, " models, and none of number ", uint64_t{cluster} + 1}));
  }
  const uint64_t values = copy_bytes(stacked.graph()) / sizeof(float);
  if (values * count != stacked.value_count()) {
    return Error(ErrorCode::malformed, concat({"clusters: the payload is not that of ", count, " models"}));
  }
  return stacked.parameters().subspan(cluster * values, values);
}

Result<Model> cluster_model(const Model& stacked, uint32_t cluster) {
  COT_ASSIGN(const std::span<const float> own, cluster_values(stacked, cluster));
  COT_ASSIGN(const ModelGraph graph, graph_of_cluster(stacked.graph()));
  return Model::load(sealed_model_file(graph, std::vector<float>(own.begin(), own.end())));
}

Status check_clusters(const Model& model, const TrainingSettings& training) {
  const uint32_t asked = cluster_count(training), found = cluster_count(model.graph());
  if (asked == found) return {};
  return bad(concat({"the job trains ", asked, " models (training.personal), and its file holds ", found,
                     "; `coterie model clusters` makes one of several"}));
}

Result<std::vector<Model>> cluster_models(const Model& model, const TrainingSettings& training) {
  COT_TRY(check_clusters(model, training));
  const uint32_t asked = cluster_count(training);
  std::vector<Model> models;
  if (asked == 1) return models;
  for (uint32_t cluster = 0; cluster < asked; ++cluster) {
    COT_ASSIGN(Model own, cluster_model(model, cluster));
    models.push_back(std::move(own));
  }
  return models;
}

}  // namespace coterie
