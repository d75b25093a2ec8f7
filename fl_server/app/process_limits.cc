#include "fl_server/app/process_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/log.h"
#include "base/os/file.h"
#include "fl_server/config/server_config.h"

namespace coterie {
namespace {

constexpr uint64_t kProcessBytes = 64ull << 20;   // without devices, verifying admin tokens
constexpr uint64_t kConnectionBytes = 24 * 1024;  // an idle one
constexpr uint64_t kDescriptorsBeside = 256;      // database, blobs, other servers
constexpr uint64_t kFileBytesMax = 64 * 1024;

// The rest of a line of /proc/self/cgroup as the directory that its controller's tree is mounted at, and the path in
// it.
struct Mount {
  std::string_view root, file, path;
};

std::optional<Mount> mount_of(std::string_view line) {
  const size_t first = line.find(':');
  const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
  if (controllers.empty()) return Mount{"/sys/fs/cgroup", "memory.max", path};
  if (controllers == "memory") return Mount{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", path};
  return std::nullopt;
}

std::optional<uint64_t> finite(rlim_t limit) {
  return limit == RLIM_INFINITY ? std::nullopt : std::optional<uint64_t>(limit);
}

}  // namespace

ProcessNeeds needs_of(const ServerConfig& config) {
  ProcessNeeds needs{.memory_bytes = kProcessBytes, .descriptors = kDescriptorsBeside};
  const auto add = [&needs](const HttpLimits& limits) {
    needs.memory_bytes += limits.bodies_bytes_max + limits.connections_max * kConnectionBytes;
    needs.descriptors += limits.connections_max;
  };
  add(config.admin.limits);
  if (config.serves_devices()) {
    add(config.device.limits);
    needs.memory_bytes += config.ingest.bytes_in_flight_max;
  }
  if (config.store.is_shared() && config.may_lead()) add(config.peer.listen.limits);
  if (config.serving) {
    add(config.serving->listen.limits);
    needs.memory_bytes += config.serving->bytes_max;
  }
  return needs;
}

std::vector<Misfit> what_does_not_fit(const ProcessNeeds& needs, const ProcessLimits& limits) {
  constexpr std::string_view kBudgets =
      "ingest.bytes_in_flight_max, serving.bytes_max, *.bodies_bytes_max, *.connections_max";
  std::vector<Misfit> misfits;
  const auto compare = [&misfits](std::string_view name, std::optional<uint64_t> has, uint64_t wants,
                                  std::string_view settings) {
    if (has && *has < wants) misfits.push_back({name, *has, wants, settings});
  };
  compare("address space", limits.address_space, 2 * needs.memory_bytes, kBudgets);
  compare("memory of the cgroup", limits.cgroup_memory, needs.memory_bytes, kBudgets);
  compare("open files", limits.descriptors, needs.descriptors, "*.connections_max");
  return misfits;
}

std::vector<std::string> cgroup_memory_files(std::string_view proc_self_cgroup) {
  std::vector<std::string> files;
  while (!proc_self_cgroup.empty()) {
    const size_t end = std::min(proc_self_cgroup.find('\n'), proc_self_cgroup.size());
    const std::optional<Mount> mount = mount_of(proc_self_cgroup.substr(0, end));
    proc_self_cgroup.remove_prefix(std::min(end + 1, proc_self_cgroup.size()));
    if (!mount || !mount->path.starts_with('/')) continue;
    for (std::string_view path = mount->path;; path = path.substr(0, path.rfind('/'))) {
      if (path == "/") path = {};
      files.push_back(std::string(mount->root) + std::string(path) + "/" + std::string(mount->file));
      if (path.empty()) break;
    }
  }
  return files;
}

std::optional<uint64_t> parse_cgroup_limit(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

ProcessLimits allowed_limits(uint64_t descriptors) {
  ProcessLimits limits;
  rlimit found{};
  if (::getrlimit(RLIMIT_AS, &found) == 0) limits.address_space = finite(found.rlim_cur);
  if (::getrlimit(RLIMIT_NOFILE, &found) == 0) {
    if (found.rlim_cur < descriptors && found.rlim_cur < found.rlim_max) {
      const rlimit more{std::min<rlim_t>(descriptors, found.rlim_max), found.rlim_max};
      if (::setrlimit(RLIMIT_NOFILE, &more) == 0) found = more;
    }
    limits.descriptors = finite(found.rlim_cur);
  }
  const Result<Bytes> own = os::read_file("/proc/self/cgroup", kFileBytesMax);
  if (!own) return limits;
  for (const std::string& file : cgroup_memory_files(as_text(*own))) {
    const Result<Bytes> text = os::read_file(file, kFileBytesMax);
    const std::optional<uint64_t> limit = text ? parse_cgroup_limit(as_text(*text)) : std::nullopt;
    if (limit) limits.cgroup_memory = std::min(limits.cgroup_memory.value_or(*limit), *limit);
  }
  return limits;
}

void tell_what_does_not_fit(const ServerConfig& config) {
  const ProcessNeeds needs = needs_of(config);
  for (const Misfit& misfit : what_does_not_fit(needs, allowed_limits(needs.descriptors))) {
    log(LogLevel::warning, "limit_too_low",
        {{"limit", misfit.limit}, {"has", misfit.has}, {"wants", misfit.wants}, {"settings", misfit.settings}});
  }
}

}  // namespace coterie
