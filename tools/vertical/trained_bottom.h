// TrainedBottom: the model that a party's own devices trained horizontally, as the begin of its part of a split
// network: read from two files, and held against the job and the party's table before anybody is called.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model_io/input_contract.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/party_config.h"
#include "tools/vertical/party_table.h"
#include "vertical/split/split_bottom.h"

namespace coterie {

struct TrainedBottom {
  vertical::SplitBottom layers;
  std::vector<std::optional<vertical::BottomInput>> columns;  // of the table, in its order; none: the devices had none
  Digest model, contract;                                     // SHA-256 of the files
};

// invalid_argument with the reason "bottom_unexpected": the job is no training of a split mlp.
Status check_takes_bottom(const VerticalManifest& manifest);

// Precondition: check_takes_bottom(). Errors name the file and have a reason: "bottom_model" (`refused`: another
// digest), "bottom_differs" (split_bottom.h), "bottom_columns" (a column of the contract that the table lacks or that
// is there twice; no number; a contract of something else than a table). Else what reading the files says.
Result<TrainedBottom> read_trained_bottom(const BottomFiles& files, const vertical::SplitSettings& settings,
                                          const PartyTable& table);

// Devices' inputs by such a contract, one for a number, and one more where numbers were missing. "bottom_columns" for a
// contract that is not of a table of numbers.
Result<uint32_t> bottom_inputs(const InputContract& contract);

}  // namespace coterie
