#include "tools/doctor/judgements.h"

#include <algorithm>

#include "fl_server/json/rfc3339.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr std::string_view kNames[] = {"ok", "unseen", "warning", "bad"};
constexpr uint32_t kOthers = 077;  // what stat(2) calls the bits of the group and of everybody else

std::string in_days(Millis time) { return counted(static_cast<uint64_t>(time / std::chrono::hours(24)), "day"); }
std::string in_seconds(Millis time) { return format_seconds(static_cast<double>(time.count()) / 1000); }

}  // namespace

std::string_view to_string(Health health) { return kNames[static_cast<size_t>(health)]; }

Findings judge_configuration(const std::string& source, const Problems& problems) {
  if (problems.empty()) {
    return {{Health::good, "configuration", source.empty() ? "no file: all settings have their defaults" : source, {}}};
  }
  Findings findings;
  for (const Problem& problem : problems) {
    findings.push_back({Health::bad, "configuration",
                        (problem.pointer.empty() ? "/" : problem.pointer) + ": " + problem.detail,
                        "mend it in " + source + "; the server does not start"});
  }
  return findings;
}

Finding judge_misfit(const Misfit& misfit) {
  const bool counts = misfit.limit == "open files";
  const auto words = [counts](uint64_t value) { return counts ? format_count(value) : format_bytes(value); };
  return {Health::warning, std::string(misfit.limit),
          "this process may have " + words(misfit.has) + ", the settings may come to need " + words(misfit.wants),
          "raise the limit of the server's unit or container, or lower " + std::string(misfit.settings)};
}

Finding judge_disk(const std::string& path, uint64_t free_bytes, uint64_t total_bytes) {
  const Health health = free_bytes < kDiskFreeBad   ? Health::bad
                        : free_bytes < kDiskFreeMin ? Health::warning
                                                    : Health::good;
  return {health, "disk", format_bytes(free_bytes) + " of " + format_bytes(total_bytes) + " are free at " + path,
          health == Health::good
              ? ""
              : "make room: `coterie server status` says what takes it, retention.* how long it is kept"};
}

Finding judge_mode(const std::string& subject, const std::string& path, uint32_t mode) {
  if ((mode & kOthers) == 0) return {Health::good, subject, path + " is the owner's alone", {}};
  return {Health::bad, subject, path + " can be read or written by others", "chmod go= " + shell_word(path)};
}

Finding judge_certificate(const std::string& path, const Result<WallTime>& not_after, WallTime now) {
  const std::string subject = "certificate";
  if (!not_after) {
    return {Health::bad, subject, not_after.error().message(), "name a readable file in tls.certificate_file"};
  }
  const std::string end = rfc3339(*not_after).substr(0, 10);
  if (*not_after <= now) {
    return {Health::bad, subject, path + " has ended, on " + end,
            "renew it: no device and no operator is let in by it"};
  }
  const Millis left = *not_after - now;
  const bool is_short = left < kCertificateLeftMin;
  return {is_short ? Health::warning : Health::good, subject, path + " ends on " + end + ", in " + in_days(left),
          is_short ? "renew it; SIGHUP makes the server read it anew" : ""};
}

Finding judge_clock(std::optional<bool> is_synchronized) {
  if (!is_synchronized)
    return {Health::unseen, "clock", "the system does not say whether something keeps it right", {}};
  if (*is_synchronized) return {Health::good, "clock", "is kept right", {}};
  return {Health::warning, "clock", "nothing keeps this machine's clock right",
          "run chrony or systemd-timesyncd: tickets, tokens and certificates end by the clock"};
}

Finding judge_server_clock(WallTime servers, WallTime ours, Millis skew_max) {
  const Millis apart = servers > ours ? servers - ours : ours - servers;
  const std::string seen =
      "the server's is " + in_seconds(apart) + (servers > ours ? " ahead of ours" : " behind ours");
  if (apart <= kClockApartMax) return {Health::good, "server's clock", "is ours, to " + in_seconds(kClockApartMax), {}};
  return {apart > skew_max ? Health::bad : Health::warning, "server's clock", seen,
          "set the clock that is wrong; requests that are further apart than " + in_seconds(skew_max) + " are refused"};
}

Finding judge_schema(const std::string& database, const Result<int64_t>& found, int64_t spoken) {
  const std::string subject = "database";
  if (!found)
    return {Health::bad, subject, found.error().message(), "see that it runs, and that its settings are in order"};
  const std::string seen = database + " has schema version " + std::to_string(*found);
  if (*found == spoken) return {Health::good, subject, seen, {}};
  if (*found == 0) return {Health::good, subject, database + " has no tables yet: the server makes them", {}};
  if (*found < spoken) {
    return {Health::warning, subject,
            seen + "; this version brings it to " + std::to_string(spoken) + " when it starts",
            "make a backup first: an older server does not read the new version"};
  }
  return {Health::bad, subject, seen + ", this version speaks " + std::to_string(spoken),
          "run the server that wrote it, or a newer one"};
}

Finding judge_version(std::string_view servers, std::string_view ours) {
  const std::string seen = "the server is " + std::string(servers);
  if (servers == ours) return {Health::good, "version", seen + ", as this program", {}};
  return {Health::warning, "version", seen + ", this program is " + std::string(ours),
          "use the program that came with the server"};
}

Finding judge_port(const std::string& plane, const std::string& address, uint16_t port, const Status& can_listen) {
  const std::string where = address + " port " + std::to_string(port);
  if (can_listen) return {Health::good, plane, "no server runs, and " + where + " is free", {}};
  return {Health::bad, plane, where + ": " + can_listen.error().message(),
          "end what listens there (`ss -ltnp` names it), or choose another port"};
}

Health worst_of(const Findings& findings) {
  Health worst = Health::good;
  for (const Finding& finding : findings) worst = std::max(worst, finding.health);
  return worst;
}

}  // namespace coterie
