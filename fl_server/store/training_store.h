// TrainingStore: the five stores of training on one database, because transactions span them: a committed round is a
// model, a job's progress, a ledger record and the next round's row at once. For whoever opens a store; users take the
// ones they need.
#pragma once

#include "fl_server/store/accept_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/ledger_store.h"
#include "fl_server/store/model_store.h"
#include "fl_server/store/round_store.h"

namespace coterie {

class TrainingStore : public JobStore, public RoundStore, public AcceptStore, public LedgerStore, public ModelStore {};

}  // namespace coterie
