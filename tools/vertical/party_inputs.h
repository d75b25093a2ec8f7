// PartyInputs: what a party brings to a job, read and held against its manifest before anybody is called.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/party_config.h"
#include "tools/vertical/party_table.h"
#include "tools/vertical/trained_bottom.h"
#include "vertical/psi/id_set.h"

namespace coterie {

struct PartyInputs {
  vertical::IdSet ids;  // of the table
  PartyTable table;     // for a prediction: without labels, and with just the model's columns, in the model's order
  Bytes model;          // for a prediction: what the machine that predicts reads; else empty
  std::optional<TrainedBottom> bottom;  // of a split network's training
  // Over the bytes of all files, of a table as unpacked, and the columns of them that were taken: of ids, of labels, of
  // a model. Who has the same has the same rows, labels and values.
  Digest digest;
};

// A prediction needs `model` in the configuration, and a training must not have it: invalid_argument with the reason
// "model_missing" or "model_unexpected". `refused` with the reason "model_differs" for the part of another training or
// of the other party; invalid_argument with the reason "columns_differ", which names a column that the table lacks.
// Else the errors of parse_party_table(), IdSet::make(), read_model_part() and read_trained_bottom(), with the file's
// name. Each file is read once.
Result<PartyInputs> read_party_inputs(const PartyConfig& config, const VerticalManifest& manifest);

}  // namespace coterie
