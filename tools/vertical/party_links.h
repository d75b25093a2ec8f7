// PartyLinks: which of a job's parties this is, and its connections to the others.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/result.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/party_config.h"
#include "vertical/link/byte_stream.h"

namespace coterie {

struct PartyLinks {
  vertical::PartyIndex self = 0;
  std::map<vertical::PartyIndex, std::unique_ptr<vertical::ByteStream>> streams;  // by the other party
};

// Which party the configuration is of. invalid_argument with the reason "name_missing" if the manifest has more parties
// than a role tells apart, "not_a_party" for a name that the manifest does not give to this role, "coordinator_missing"
// for more than two parties without one.
Result<vertical::PartyIndex> place_of(const PartyConfig& config, const VerticalManifest& manifest);

// One link to each other party, with the parties' own TLS. At a coordinator they are opened in the order of (lower,
// higher number), so that nobody waits for somebody who waits. `met` is called behind the first one.
Result<PartyLinks> open_links(const PartyConfig& config, const VerticalManifest& manifest, vertical::PartyIndex self,
                              const std::function<void()>& met);

}  // namespace coterie
