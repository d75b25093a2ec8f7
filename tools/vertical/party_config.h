// PartyConfig: what a party's operator says, in a JSON file; docs/VERTICAL.md has the fields. Paths in it are relative
// to the folder of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "vertical/coordinator/coordinator_client.h"
#include "vertical/link/tls_link.h"

namespace coterie {

// The model that this party's own devices trained, as the begin of its part of a split network.
struct BottomFiles {
  std::string model;             // as the horizontal job left it
  std::string contract;          // contract.json, by which its devices read their data
  std::optional<Digest> digest;  // of the model that is meant, as `coterie model inspect` says it; none: any
};

struct PartyConfig {
  bool is_label_party = false;
  std::string name;  // this party's in the manifest, where it has more than one feature party; empty where it has one
  std::string manifest_file;
  Digest approved;  // SHA-256 of the manifest that this party agrees to
  std::string table_file;
  std::string model_file;  // of a prediction: this party's part of the model; empty for a training
  std::optional<BottomFiles> bottom;
  std::string id_column = "id";
  std::string label_column = "label";  // the label party's
  // Where both parties dial and meet, with this party's certificate; none: they reach each other.
  std::optional<vertical::CoordinatorDoor> coordinator;
  std::string host;       // without it: where the label party listens and the feature party dials
  uint16_t port = 0;      // 0: a free one, for the label party
  std::string port_file;  // the label party writes its port there; empty: nowhere
  vertical::TlsIdentity tls;
  Millis patience{60'000};   // with a peer that says nothing
  Millis resume{3'600'000};  // of a run that was cut off, for both to meet again at their coordinator
  std::string out;           // folder of results and of the journal, made if it is not there
};

// Errors name the file and every field that is wrong.
Result<PartyConfig> read_party_config(const std::string& file);
Result<PartyConfig> parse_party_config(std::string_view text, const std::string& folder);

}  // namespace coterie
