// `coterie vertical party`: one organisation's side of a job, next to its data.
//
// It reads its manifest and its table first, so that what is wrong there is said before anybody is called. Then it
// connects, agrees with the peer on job and manifest, and runs matching, training and the prediction of held-out
// people. In its folder it leaves report.json, ledger.json, model.part; the label party also scores.csv.
#pragma once

#include <string>

#include "base/result.h"
#include "tools/cli/exit_code.h"
#include "tools/vertical/party_config.h"
#include "tools/vertical/party_report.h"

namespace coterie {

// Prints a line a stage. Errors: of the files, with their names; `refused` with the reason "manifest_not_approved" for
// a manifest that is not the approved one; of the link and the stages.
Result<PartyReport> run_party(const PartyConfig& config);

// The command: 0, or what exit_code.h says of the error, which is printed.
ExitCode run_party_command(const std::string& config_file);

}  // namespace coterie
