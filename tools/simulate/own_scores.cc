#include "tools/simulate/own_scores.h"

#include <algorithm>
#include <numeric>

#include "device_sdk/agent/own_training.h"
#include "device_sdk/runtime/cluster_models.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/example_part.h"
#include "proto/messages/personal_part.h"
#include "tools/cli/interrupt.h"
#include "tools/simulate/device_states.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 32;

OwnScore mean_of(const std::vector<Evaluation>& all) {
  std::vector<double> accuracies;
  OwnScore score;
  const auto count = static_cast<double>(all.size());
  for (const Evaluation& each : all) {
    accuracies.push_back(each.accuracy);
    score.accuracy += each.accuracy / count;
    score.loss += each.loss_mean / count;
  }
  std::ranges::sort(accuracies);
  accuracies.resize((accuracies.size() + 9) / 10);
  score.worst_tenth =
      std::accumulate(accuracies.begin(), accuracies.end(), 0.0) / static_cast<double>(accuracies.size());
  return score;
}

}  // namespace

Result<OwnScores> own_scores(const Bytes& model, const TrainingSettings& training, const DeviceStates& states,
                             const std::vector<std::string>& shard_files, float share) {
  COT_ASSIGN(const Model file, Model::load(model));
  COT_ASSIGN(const std::vector<Model> clusters, cluster_models(file, training));
  const Model& published = clusters.empty() ? file : clusters.front();
  COT_ASSIGN(const ValueSelection own, personal_values(published.graph(), training, published.value_count()));
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(published, loss_of(training), kBatch));
  OwnScores scores;
  std::vector<Evaluation> as_published, as_personal;
  for (uint32_t device = 0; device < shard_files.size(); ++device) {
    if (Interrupt::requested()) return interrupted_error();
    COT_ASSIGN(DatasetSource source, DatasetSource::open(shard_files[device]));
    ExamplePart held_out(source, split_examples(source.size(), share).held_out);
    if (held_out.size() == 0) continue;
    scores.examples += held_out.size();
    COT_ASSIGN(const Evaluation given, evaluator.run(published.parameters(), held_out));
    as_published.push_back(given);
    if (!training.personal) continue;
    const std::vector<float> kept = states.of(device);
    const bool has_cluster = !clusters.empty() && !kept.empty();
    COT_ASSIGN(const Model personal, has_cluster ? Result<Model>(clusters.at(static_cast<size_t>(kept[0])))
                                                 : with_own_values(published, own, kept));
    COT_ASSIGN(const Evaluation mine, evaluator.run(personal.parameters(), held_out));
    as_personal.push_back(mine);
  }
  if (as_published.empty()) {
    return Error(ErrorCode::invalid_argument,
                 "--held-out-share is so small that no device holds out an example: ask for more");
  }
  scores.devices = static_cast<uint32_t>(as_published.size());
  scores.published = mean_of(as_published);
  if (training.personal) scores.personal = mean_of(as_personal);
  return scores;
}

}  // namespace coterie
