#include "tools/vertical/split_run.h"

#include <memory>
#include <utility>

#include "tools/vertical/journaled_stages.h"
#include "vertical/split/predict_split.h"
#include "vertical/split/split_network.h"
#include "vertical/split/split_random.h"
#include "vertical/split/train_split.h"

namespace coterie {
namespace {

using namespace vertical;

constexpr PartyIndex kLabelParty = 0, kFeatureParty = 1;
constexpr std::string_view kSplitSeed = "split";

PartyIndex peer_of(const SplitSide& side) { return side.is_label_party ? kFeatureParty : kLabelParty; }

// The party's part as it is before the first step.
Result<Model> first_network(const SplitSide& side, const SplitSettings& settings, const SplitColumns& columns,
                            uint64_t weights) {
  const ColumnSchema schema = columns.schema();
  COT_ASSIGN(Bytes file, side.is_label_party ? make_label_network(settings, schema, weights)
                                             : make_feature_network(settings, schema, weights));
  COT_ASSIGN(Model network, Model::load(std::move(file)));
  if (side.bottom == nullptr) return network;
  const size_t own_input = side.is_label_party ? 1 : 0;  // split_network.h
  COT_ASSIGN(file, place_bottom(network, own_input, side.bottom->layers, side.bottom->columns, columns));
  return Model::load(std::move(file));
}

}  // namespace

Result<TrainedSplit> train_split(const SplitSide& side, const SplitSettings& settings, uint32_t unit) {
  const std::vector<std::vector<float>> values = rows_of(side.table.columns, side.rows);
  SplitModel model{.settings = settings, .columns = {}, .network = {}};
  COT_ASSIGN(model.columns, fit_columns(values, settings));
  COT_ASSIGN(SplitInputs inputs, encode_columns(model.columns, values, static_cast<uint32_t>(side.rows.size())));
  SplitRun run{.settings = settings, .order = side.session, .seed = side.journal.seed(kSplitSeed)};
  // The first weights are the party's own, or its devices': who knew them could read columns in the first numbers at
  // the cut.
  const uint64_t weights = split_words(run.seed, SplitDraw::network, 0, 1)[0];
  COT_ASSIGN(const Model network, first_network(side, settings, model.columns, weights));
  if (const JournalCheckpoint* const checkpoint = side.journal.checkpoint(unit)) {
    COT_ASSIGN(run.from, read_split_checkpoint(checkpoint->bytes));
  }
  COT_ASSIGN(const std::unique_ptr<SplitTraining> training,
             side.is_label_party ? start_label_split(std::move(run), network, std::move(inputs),
                                                     rows_of({side.table.labels}, side.rows)[0])
                                 : start_feature_split(std::move(run), network, std::move(inputs)));
  JournaledSplit journaled(*training, side.journal);
  COT_TRY(side.link.run(journaled, StageId::training, peer_of(side)));
  model.network = training->network();
  return TrainedSplit{.model = write_split_model(model), .losses = training->losses()};
}

Result<std::vector<float>> predict_split(const SplitSide& side, ByteView bytes) {
  COT_ASSIGN(const SplitModel model, read_split_model(bytes));
  const std::vector<std::vector<float>> values = rows_of(side.table.columns, side.rows);
  const auto rows = static_cast<uint32_t>(side.rows.size());
  if (!side.is_label_party) {
    COT_ASSIGN(const std::unique_ptr<Stage> scoring,
               start_feature_split_scoring(model, values, rows, side.journal.seed(kSplitSeed)));
    COT_TRY(side.link.run(*scoring, StageId::prediction, kLabelParty));
    return std::vector<float>{};
  }
  COT_ASSIGN(const std::unique_ptr<SplitScoring> scoring, start_label_split_scoring(model, values, rows));
  COT_TRY(side.link.run(*scoring, StageId::prediction, kFeatureParty));
  return scoring->scores();
}

}  // namespace coterie
