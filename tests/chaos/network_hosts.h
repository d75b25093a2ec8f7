// NetworkHosts: hosts of a network of this test's own, in network namespaces behind one switch: links go down, hosts
// lose each other while others still reach them. Needs root and iproute2's ip and bridge.
//
// The thread that makes it moves into a namespace of its own, as do threads and processes that it starts afterwards:
// nothing of the machine's own network is seen or touched. It has the address 10.77.0.1; hosts have the next ones.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"

namespace coterie::chaos {

class NetworkHosts {
 public:
  // Tries first what hosts need: root, namespaces that can be entered, a bridge. The error says what is missing here,
  // and the thread is where it was: tests go on without hosts, or are skipped.
  static Result<std::unique_ptr<NetworkHosts>> make();
  ~NetworkHosts();

  struct Host {
    std::string address;
    std::string network_namespace;  // a file for setns(2)
  };
  // The host of this name, made if it is new.
  Result<Host> host(const std::string& name);

  // Sets one host's link. Down: everybody loses it, and it loses everybody. What is under way is lost without a word.
  Status set_link(const std::string& name, bool up);
  // These lose each other; the others, and this process, still reach them.
  Status part(const std::set<std::string>& names);
  // All links up, nobody parted.
  Status mend();

 private:
  NetworkHosts() = default;
  struct Made {
    Host host;
    std::string name_space, port;  // its port at the switch
  };
  std::map<std::string, Made> hosts_;
};

}  // namespace coterie::chaos
