// One meeting of a party with its peers: agreement, matching, training, prediction of held-out people, farewell;
// without the training, and for all matched people, if the job is a prediction. What the journal says that all have
// done before is not done again.
#pragma once

#include <memory>

#include "base/result.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/party_config.h"
#include "tools/vertical/party_inputs.h"
#include "tools/vertical/party_journal.h"
#include "tools/vertical/party_links.h"
#include "tools/vertical/party_report.h"

namespace coterie {

// In the label party's folder of results, behind a training with `goss`, for whoever trains the same once more: the 32
// bytes that drew its samples, and a CSV file of the ids that it trained on, in the matched order, which samples depend
// on. Secrets of the label party, as its labels are.
inline constexpr const char* kSampleSeedFile = "sample.seed";
inline constexpr const char* kTrainedIdsFile = "trained.csv";

// `journal` has the model of a prediction. Prints a line a stage. When it returns a report, all results are durable,
// and so are the peers'. After an error of the connection the same journal serves the next meeting.
Result<PartyReport> run_stages(const PartyConfig& config, const VerticalManifest& manifest, const PartyInputs& inputs,
                               PartyJournal& journal, PartyLinks links);

}  // namespace coterie
