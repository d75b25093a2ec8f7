// `coterie vertical party` and `coterie vertical predict`: one organisation's side of a job, next to its data.
//
// It reads its manifest and its files first, so that what is wrong there is said before anybody is called. Then it
// meets its peer, directly or at a coordinator, agrees with it on job and manifest, and runs matching, training and the
// prediction of held-out people; or, with a model of before, matching and the prediction of all matched people. In its
// folder it leaves report.json, ledger.json and, of a training, model.part; the label party also scores.csv.
#pragma once

#include <string>

#include "base/result.h"
#include "tools/cli/exit_code.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/party_config.h"
#include "tools/vertical/party_report.h"

namespace coterie {

struct ApprovedManifest {
  std::string text;  // as its digest is of
  VerticalManifest manifest;
};
// `refused` with the reason "manifest_not_approved" for a manifest that is not the approved one.
Result<ApprovedManifest> read_approved_manifest(const PartyConfig& config);

// What the operator wants: the manifest must be of that kind, so that nobody runs one thing for the other.
enum class PartyTask : uint8_t { training, prediction };

// Whether a party that ends so is to be started again, to go on: its journal stays, and its coordinator hears nothing.
// Somebody ended the process, the disk was full, or the peer did not come back in time. `has_met`: in this job.
bool is_to_go_on(const Error& error, bool has_met);

// Prints a line a stage. A coordinator is told how the run ended; if it does not hear it, the result stands. A job that
// the coordinator knows to be done gives the report of before. Errors: those of the files, with their names;
// invalid_argument with the reason "kind_differs" for a manifest of the other task, and "dealer_missing" for the
// training of a regression without a coordinator; `refused` with the reason "out_in_use" for a prediction into a folder
// that holds a model.part, which belongs to a training; read_approved_manifest()'s and read_party_inputs()'s; those of
// the coordinator, the link and the stages.
Result<PartyReport> run_party(const PartyConfig& config, PartyTask task);

// The command: 0, or what exit_code.h says of the error, which is printed.
ExitCode run_party_command(const std::string& config_file, PartyTask task);

}  // namespace coterie
