// MeetingLinks: a party's links in one meeting, to each of its peers and to the matcher while ids are matched.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "vertical/link/link.h"

namespace coterie {

class MeetingLinks {
 public:
  // At least one stream.
  explicit MeetingLinks(std::map<vertical::PartyIndex, std::unique_ptr<vertical::ByteStream>> streams);

  // The other one of two parties; of more a feature party's label party.
  vertical::PartyIndex first_peer() const { return peers_.begin()->first; }
  vertical::Link& first() { return peers_.begin()->second; }
  // By party; nothing moves them as long as the object is there.
  std::map<vertical::PartyIndex, vertical::Link>& of_peers() { return peers_; }
  std::vector<vertical::PartyIndex> peers() const;

  void open_matcher(std::unique_ptr<vertical::ByteStream> stream) { matcher_.emplace(std::move(stream)); }
  // It has told all, and keeps a place at the coordinator.
  void close_matcher() { matcher_.reset(); }

  // With the matcher's, where it is open.
  std::map<vertical::PartyIndex, vertical::Link*> all();
  vertical::LinkBytes bytes();

 private:
  std::map<vertical::PartyIndex, vertical::Link> peers_;
  std::optional<vertical::Link> matcher_;
};

}  // namespace coterie
