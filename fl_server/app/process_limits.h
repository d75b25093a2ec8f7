// What a configuration may come to need, beside what the system allows this process. Deciding is pure; reading is not.
//
// Budgets are bounds, not needs: what does not fit is said, and no error. Sources: getrlimit(2), cgroups(7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coterie {

struct ServerConfig;

// None: unlimited, or not known.
struct ProcessLimits {
  std::optional<uint64_t> address_space;  // bytes
  std::optional<uint64_t> cgroup_memory;  // bytes: the least of the process's cgroup and those above it
  std::optional<uint64_t> descriptors;
};

// At the worst that the settings allow.
struct ProcessNeeds {
  uint64_t memory_bytes = 0;
  uint64_t descriptors = 0;
};

struct Misfit {
  std::string_view limit;  // as an operator knows it
  uint64_t has = 0;
  uint64_t wants = 0;
  std::string_view settings;  // that ask for so much
};

ProcessNeeds needs_of(const ServerConfig& config);
// What is over its limit. The address space must hold twice the memory: code, stacks and what the allocator reserves.
std::vector<Misfit> what_does_not_fit(const ProcessNeeds& needs, const ProcessLimits& limits);

// The files that may limit the memory of a process with this /proc/self/cgroup, its own cgroup's first.
std::vector<std::string> cgroup_memory_files(std::string_view proc_self_cgroup);
// A limit as such a file says it; none for "max" and for what is no number.
std::optional<uint64_t> parse_cgroup_limit(std::string_view text);

// Those of this process now. Raises its soft limit of descriptors to `descriptors`, as far as the hard one lets it.
ProcessLimits allowed_limits(uint64_t descriptors);
// Says in the log what of `config` does not fit, a line each.
void tell_what_does_not_fit(const ServerConfig& config);

}  // namespace coterie
