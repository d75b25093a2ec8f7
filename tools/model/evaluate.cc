#include "tools/model/evaluate.h"

#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/model.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;

}  // namespace

Result<Evaluation> evaluate(Bytes model_file, Bytes dataset_file) {
  COT_ASSIGN(const Model model, Model::load(std::move(model_file)));
  COT_ASSIGN(DatasetSource examples, DatasetSource::load(std::move(dataset_file)));
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, Loss::softmax_cross_entropy, kBatch));
  return evaluator.run(model.parameters(), examples);
}

}  // namespace coterie
