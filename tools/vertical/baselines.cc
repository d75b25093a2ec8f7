#include "tools/vertical/baselines.h"

#include <memory>

#include "base/assert.h"
#include "vertical/trees/predict_trees.h"
#include "vertical/trees/train_trees.h"

namespace coterie {
namespace {

// The key of a training without feature parties: there is nobody to encrypt for.
class NoKey final : public AdditiveKey {
 public:
  size_t ciphertext_bytes() const override { return 512; }
  size_t plaintext_bits() const override { return 2046; }
  Bytes public_key() const override { return {}; }
  void encrypt(const PlainNumber&, std::span<uint8_t>) override { COT_ASSERT(false); }
  Result<std::vector<PlainNumber>> decrypt(ByteView) const override {
    return Error(ErrorCode::internal, "trees: there is no key");
  }
};

}  // namespace

Result<std::vector<float>> plain_scores(const PlainData& data, const vertical::TreeSettings& settings, uint32_t bins) {
  COT_ASSIGN(vertical::BinnedColumns columns, vertical::bin_columns(data.train, bins));
  COT_ASSIGN(const std::unique_ptr<vertical::LabelTraining> training,
             vertical::LabelTraining::start(std::move(columns), data.labels, settings, {}, std::make_unique<NoKey>()));
  COT_ASSERT(training->done());
  const auto rows = static_cast<uint32_t>(data.held_out.empty() ? 0 : data.held_out[0].size());
  COT_ASSIGN(const std::unique_ptr<vertical::LabelPrediction> prediction,
             vertical::LabelPrediction::start(data.held_out, training->model(), rows, {}));
  COT_ASSERT(prediction->done());
  return prediction->scores();
}

}  // namespace coterie
