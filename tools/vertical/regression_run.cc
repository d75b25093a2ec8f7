#include "tools/vertical/regression_run.h"

#include <memory>
#include <utility>

#include "tools/cli/interrupt.h"
#include "tools/vertical/journaled_stages.h"
#include "vertical/coordinator/coordinator_client.h"
#include "vertical/regression/ridge.h"
#include "vertical/regression/train_regression.h"

namespace coterie {

using namespace vertical;

namespace {

Result<Link> open_dealer(const DealtSide& side, const RegressionDeal& deal) {
  COT_ASSIGN(std::unique_ptr<ByteStream> stream,
             ask_dealer(*side.config.coordinator, side.manifest.job, side.config.approved, deal,
                        {.time = side.config.patience, .cancel = Interrupt::flag()}));
  return Link(std::move(stream));
}

Result<RegressionShape> agree_on_shape(const DealtSide& side, const RegressionColumns& columns,
                                       const RegressionSettings& rounds) {
  COT_ASSIGN(const auto agreement, start_shape(static_cast<uint32_t>(side.rows.size()), columns, side.self, rounds));
  COT_TRY(side.link.run(*agreement, StageId::training, side.peer));
  COT_TRY(hear_shape(agreement->shape(), side.journal));
  return agreement->shape();
}

std::vector<float> labels_of(const DealtSide& side) { return rows_of({side.table.labels}, side.rows)[0]; }

Result<DealtRegression> train_logistic(const DealtSide& side, const RegressionColumns& columns, uint32_t unit) {
  const RegressionSettings& settings = side.manifest.logistic;
  COT_ASSIGN(const RegressionShape shape, agree_on_shape(side, columns, settings));
  RegressionCheckpoint from;
  if (const JournalCheckpoint* const checkpoint = side.journal.checkpoint(unit)) {
    COT_ASSIGN(from, read_regression_checkpoint(checkpoint->bytes));
  }
  const bool is_label_party = side.config.is_label_party;
  COT_ASSIGN(const std::unique_ptr<RegressionTraining> training,
             is_label_party ? start_label_regression(shape, settings, columns, labels_of(side), from)
                            : start_feature_regression(shape, settings, columns, from));
  COT_ASSIGN(Link dealer, open_dealer(side, {.shape = shape, .session = side.session, .first_step = from.steps}));
  JournaledTraining journaled(*training, is_label_party ? shape.label_columns : shape.feature_columns, side.journal);
  COT_TRY(side.link.run(journaled, StageId::training, side.peer, dealer));
  COT_ASSIGN(RegressionModel model, training->model());
  return DealtRegression{.model = std::move(model), .dealt_bytes = dealer.bytes().received};
}

Result<DealtRegression> train_linear(const DealtSide& side, const RegressionColumns& columns) {
  COT_ASSIGN(const RegressionShape shape, agree_on_shape(side, columns, ridge_rounds()));
  COT_ASSIGN(const std::unique_ptr<RidgeTraining> training,
             side.config.is_label_party ? start_label_ridge(shape, side.manifest.linear, columns, labels_of(side))
                                        : start_feature_ridge(shape, columns));
  COT_ASSIGN(Link dealer,
             open_dealer(side, {.shape = shape, .session = side.session, .first_step = 0, .is_product = true}));
  HeardOrderedStage heard(*training, StageId::training, side.peer, side.journal);
  COT_TRY(side.link.run(heard, StageId::training, side.peer, dealer));
  COT_ASSIGN(RegressionModel model, training->model());
  return DealtRegression{.model = std::move(model), .dealt_bytes = dealer.bytes().received};
}

}  // namespace

Result<DealtRegression> train_with_dealer(const DealtSide& side, uint32_t unit) {
  const RegressionColumns columns = rows_of(side.table.columns, side.rows);
  return side.manifest.is_linear() ? train_linear(side, columns) : train_logistic(side, columns, unit);
}

}  // namespace coterie
