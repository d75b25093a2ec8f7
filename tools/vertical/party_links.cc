#include "tools/vertical/party_links.h"

#include <algorithm>
#include <cstdio>

#include "base/os/file.h"
#include "tools/cli/interrupt.h"
#include "vertical/coordinator/coordinator_client.h"

namespace coterie {
namespace {

using namespace vertical;

Error misplaced(const std::string& what, std::string_view reason) {
  return Error(ErrorCode::invalid_argument, what, reason);
}

// Two parties that reach each other.
Result<std::unique_ptr<ByteStream>> reach_peer(const PartyConfig& config, const LinkPatience& patience) {
  if (!config.is_label_party) return dial_party(config.host, config.port, config.tls, patience);
  COT_ASSIGN(const PartyListener listener, PartyListener::open(config.host, config.port));
  const std::string port = std::to_string(listener.port());
  if (!config.port_file.empty()) {
    COT_TRY(os::write_file_atomically(config.port_file, as_bytes(port + "\n"), os::Durability::process));
  }
  std::printf("listening on %s:%s\n", config.host.c_str(), port.c_str());
  std::fflush(stdout);
  return listener.accept(config.tls, patience);
}

}  // namespace

Result<PartyIndex> place_of(const PartyConfig& config, const VerticalManifest& manifest) {
  const PartyIndex by_role = config.is_label_party ? 0 : 1;
  if (manifest.is_ring() && !config.coordinator) {
    return misplaced(
        "more than two parties meet at a coordinator, which matches their ids, and this configuration has none",
        "coordinator_missing");
  }
  if (config.name.empty()) {
    if (!manifest.is_ring()) return by_role;
    return misplaced("the manifest has " + std::to_string(manifest.parties.size()) +
                         " parties, and this configuration has no `name`: which of them it is",
                     "name_missing");
  }
  const auto found = std::ranges::find(manifest.parties, config.name);
  const auto place = static_cast<PartyIndex>(found - manifest.parties.begin());
  if (found == manifest.parties.end() || (place == 0) != config.is_label_party) {
    return misplaced("the manifest has no " + party_role(by_role) + " party with the name " + config.name,
                     "not_a_party");
  }
  return place;
}

Result<PartyLinks> open_links(const PartyConfig& config, const VerticalManifest& manifest, PartyIndex self,
                              const std::function<void()>& met) {
  const LinkPatience patience{.time = config.patience, .cancel = Interrupt::flag()};
  PartyLinks links{.self = self, .streams = {}};
  const PartyIndex parties = manifest.is_ring() ? static_cast<PartyIndex>(manifest.parties.size()) : 2;
  for (PartyIndex peer = 0; peer < parties; ++peer) {
    if (peer == self) continue;
    TlsIdentity identity = config.tls;
    if (!config.name.empty()) identity.peer_name = manifest.parties[peer];
    std::unique_ptr<ByteStream>& stream = links.streams[peer];
    if (config.coordinator) {
      COT_ASSIGN(stream, meet_at_coordinator(*config.coordinator, manifest.job, config.approved, identity, self < peer,
                                             patience, manifest.is_ring() ? std::optional(peer) : std::nullopt));
    } else {
      COT_ASSIGN(stream, reach_peer(config, patience));
    }
    if (links.streams.size() == 1) met();
  }
  return links;
}

}  // namespace coterie
