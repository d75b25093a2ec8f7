// coterie_model_fine_tune: a model that is kept only if it is better on the device's own examples.
#include "device_sdk/runtime/fine_tune.h"

#include "device_sdk/c_api/host_callbacks.h"
#include "device_sdk/c_api/model_handle.h"
#include "device_sdk/c_api/train_options.h"

namespace {

using namespace coterie;

using OnStep = int (*)(void* context);

Status fine_tuned(const Model& model, const coterie_train_options* given, const coterie_dataset* dataset, float share,
                  OnStep on_step, void* context, coterie_fine_tuning* tuning, coterie_model** tuned) {
  if (tuned == nullptr) return null_argument("tuned");
  if (tuning != nullptr) COT_TRY(check_size(*tuning, "tuning"));
  COT_ASSIGN(HostDataset examples, HostDataset::make(dataset));
  COT_ASSIGN(const KnownOptions known, train_options_of(given));
  if (known.lora) {
    return Error(ErrorCode::invalid_argument, "lora does not go with fine-tuning: open a trainer, and judge its model");
  }
  const auto between = [&]() -> Status {
    if (on_step == nullptr || on_step(context) == 0) return {};
    return Error(ErrorCode::cancelled, "fine-tuning was ended by on_step");
  };
  COT_ASSIGN(FineTuned result, fine_tune(model, known.training, share, examples, between));
  if (tuning != nullptr) {
    coterie_fine_tuning filled{};
    filled.is_better = result.is_better ? 1 : 0;
    filled.held_out = result.before.examples;
    filled.accuracy_before = result.before.accuracy;
    filled.accuracy_after = result.after.accuracy;
    filled.loss_before = result.before.loss_mean;
    filled.loss_after = result.after.loss_mean;
    fill_known_part(*tuning, filled);
  }
  if (result.is_better) *tuned = new coterie_model(std::move(result.model));
  return {};
}

}  // namespace

extern "C" coterie_status coterie_model_fine_tune(coterie_model* model, const coterie_train_options* options,
                                                  const coterie_dataset* dataset, float held_out_share,
                                                  int (*on_step)(void* context), void* context,
                                                  coterie_fine_tuning* tuning, coterie_model** tuned) {
  if (tuned != nullptr) *tuned = nullptr;
  return with(model, [&]() -> Status {
    COT_ASSIGN(const Model* begun, float_model(*model));
    return fine_tuned(*begun, options, dataset, held_out_share, on_step, context, tuning, tuned);
  });
}
