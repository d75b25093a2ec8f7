#include "tests/chaos/network_hosts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <vector>

#include "base/assert.h"
#include "base/os/file.h"

namespace coterie::chaos {
namespace {

constexpr const char* kNetwork = "10.77.0.";
constexpr const char* kSwitch = "cot-switch";

// Words split at blanks; none of ours holds one.
Status run(const std::string& command) {
  std::istringstream text(command);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) < 0 || status != 0)
    return Error(ErrorCode::unavailable, "test: failed: " + command);
  return {};
}

// Whether a host can be made here and entered, as host() will: `ip -n` mounts, which a chroot whose / is no mount point
// refuses though namespaces are to be had. Tried with a name of its own and undone, before this thread goes anywhere.
Status try_a_host() {
  const std::string name = "cot-" + std::to_string(::getpid()) + "-try";
  COT_TRY(run("ip netns add " + name));
  const Status entered = run("ip -n " + name + " link set lo up");
  (void)run("ip netns del " + name);
  return entered;
}

Status make_switch() {
  COT_TRY(run("ip link set lo up"));
  COT_TRY(run("ip link add " + std::string(kSwitch) + " type bridge"));
  COT_TRY(run("ip addr add " + std::string(kNetwork) + "1/24 dev " + kSwitch));
  return run("ip link set " + std::string(kSwitch) + " up");
}

}  // namespace

Result<std::unique_ptr<NetworkHosts>> NetworkHosts::make() {
  if (::geteuid() != 0) return Error(ErrorCode::permission_denied, "network namespaces need root");
  COT_TRY(run("ip -V"));
  COT_TRY(run("bridge -V"));
  COT_TRY(try_a_host());
  const int home = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (home < 0 || ::unshare(CLONE_NEWNET) != 0) {
    if (home >= 0) ::close(home);
    return Error(ErrorCode::permission_denied, "this process may not make network namespaces");
  }
  const Status made = make_switch();
  // Where there are no bridges the caller goes on without hosts: on the network that it came from.
  if (!made) COT_ASSERT(::setns(home, CLONE_NEWNET) == 0);
  ::close(home);
  COT_TRY(made);
  return std::unique_ptr<NetworkHosts>(new NetworkHosts());
}

NetworkHosts::~NetworkHosts() {
  for (const auto& [name, made] : hosts_) (void)run("ip netns del " + made.name_space);
  (void)run("ip link del " + std::string(kSwitch));
}

Result<NetworkHosts::Host> NetworkHosts::host(const std::string& name) {
  if (const auto found = hosts_.find(name); found != hosts_.end()) return found->second.host;
  const std::string number = std::to_string(hosts_.size() + 2);
  const std::string name_space = "cot-" + std::to_string(::getpid()) + "-" + number, port = "cot-port" + number;
  COT_TRY(run("ip netns add " + name_space));
  const Made& made = hosts_[name] = {{kNetwork + number, "/run/netns/" + name_space}, name_space, port};
  COT_TRY(run("ip link add " + port + " type veth peer name eth0 netns " + name_space));
  COT_TRY(run("ip link set " + port + " master " + kSwitch + " up"));
  const std::string inside = "ip -n " + name_space;
  COT_TRY(run(inside + " link set lo up"));
  COT_TRY(run(inside + " addr add " + made.host.address + "/24 dev eth0"));
  COT_TRY(run(inside + " link set eth0 up"));
  return made.host;
}

Status NetworkHosts::set_link(const std::string& name, bool up) {
  return run("ip link set " + hosts_.at(name).port + (up ? " up" : " down"));
}

// What comes from an isolated port of the switch leaves it through ports alone that are not.
Status NetworkHosts::part(const std::set<std::string>& names) {
  for (const auto& [name, made] : hosts_) {
    COT_TRY(run("bridge link set dev " + made.port + " isolated " + (names.contains(name) ? "on" : "off")));
  }
  return {};
}

Status NetworkHosts::mend() {
  for (const auto& [name, made] : hosts_) COT_TRY(set_link(name, true));
  return part({});
}

}  // namespace coterie::chaos
