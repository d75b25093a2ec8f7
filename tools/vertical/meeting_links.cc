#include "tools/vertical/meeting_links.h"

#include <utility>

#include "vertical/stage/stage.h"

namespace coterie {

using namespace vertical;

MeetingLinks::MeetingLinks(std::map<PartyIndex, std::unique_ptr<ByteStream>> streams) {
  for (auto& [peer, stream] : streams) peers_.try_emplace(peer, std::move(stream));
}

std::vector<PartyIndex> MeetingLinks::peers() const {
  std::vector<PartyIndex> all;
  for (const auto& [peer, link] : peers_) all.push_back(peer);
  return all;
}

std::map<PartyIndex, Link*> MeetingLinks::all() {
  std::map<PartyIndex, Link*> all;
  for (auto& [peer, link] : peers_) all.emplace(peer, &link);
  if (matcher_) all.emplace(kMatcher, &*matcher_);
  return all;
}

LinkBytes MeetingLinks::bytes() {
  LinkBytes bytes;
  for (const auto& [peer, link] : all()) {
    bytes.sent += link->bytes().sent;
    bytes.received += link->bytes().received;
  }
  return bytes;
}

}  // namespace coterie
