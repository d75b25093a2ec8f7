#include "tools/vertical/exact_run.h"

#include <memory>
#include <utility>

#include "secure/he/paillier.h"
#include "tools/vertical/journaled_stages.h"
#include "vertical/exact/train_exact.h"

namespace coterie {

using namespace vertical;

Result<RegressionModel> train_exact(const ExactSide& side, const RegressionSettings& settings, uint32_t unit,
                                    const Secret<32>& seed) {
  ExactRun run{.settings = settings, .rows = static_cast<uint32_t>(side.rows.size())};
  if (const JournalCheckpoint* const checkpoint = side.journal.checkpoint(unit)) {
    COT_ASSIGN(run.from, read_exact_checkpoint(checkpoint->bytes));
  }
  const std::vector<std::vector<float>> columns = rows_of(side.table.columns, side.rows);
  COT_ASSIGN(const std::unique_ptr<ExactTraining> training,
             side.is_label_party
                 ? start_label_exact(std::move(run), columns, rows_of({side.table.labels}, side.rows)[0],
                                     make_paillier_key(PaillierBits::k2048, seed))
                 : start_feature_exact(std::move(run), columns, Secret<32>(seed.reveal()), paillier_cipher));
  JournaledExact journaled(*training, side.journal);
  COT_TRY(side.link.run(journaled, StageId::training, side.is_label_party ? kExactFeatureParty : kExactLabelParty));
  return training->model();
}

}  // namespace coterie
