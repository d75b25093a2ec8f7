// Records as the admin plane shows them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "fl_server/json/round_curves.h"
#include "fl_server/records/admin_token.h"
#include "fl_server/records/audit_chain.h"
#include "fl_server/store/device_store.h"
#include "fl_server/store/ledger_store.h"
#include "scheduler/job/records.h"

namespace coterie {

nlohmann::json to_json(const JobRecord& job);
// What a job with noise has spent, by which accountant, under which assumptions.
nlohmann::json to_json(const JobPrivacy& privacy, const HorizontalSettings& settings);
nlohmann::json to_json(const PopulationPrivacy& privacy);
// `selected` and `accepted` are the live counts of a round under way; `model` is the round's outcome, if it has one.
nlohmann::json to_json(const RoundRecord& round, uint64_t goal_count, uint32_t selected, uint64_t accepted,
                       const ModelRecord* model);
// A round of `job` that is done, newest first: its columns are named as in the JSON above, where that has them.
// `watch.CHECK`: the largest share of its hits.
void add_to(RoundCurves& curves, const RoundRecord& round, const JobRecord& job, const ModelRecord* model);
nlohmann::json to_json(const ModelRecord& model);
nlohmann::json to_json(const DeviceRecord& device);
nlohmann::json to_json(const TokenRecord& token);
nlohmann::json to_json(const AdminTokenRecord& token);  // without its hash
nlohmann::json to_json(const AuditRecord& record);      // all that its digest is of, so that a client can check it

}  // namespace coterie
