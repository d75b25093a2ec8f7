#include "fl_server/telemetry/alarm_rules.h"

#include <array>

namespace coterie {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using enum AlarmSeverity;

constexpr Millis kAtOnce{0};

constexpr std::array kRules = {
    AlarmRule{AlarmKind::ledger_rollback, "CoterieLedgerRollback", page, minutes(15), kAtOnce, 0, 0,
              "devices have seen another privacy ledger than this server has",
              "An older database was put back. Stop the server; put the newer one back, or end the jobs with noise "
              "(docs/operating/backup_and_restore.md, An older copy).",
              "docs/operating/backup_and_restore.md#an-older-copy"},
    AlarmRule{AlarmKind::storage_full, "CoterieStorageFull", page, minutes(5), kAtOnce, 0, 0,
              "updates are refused: the disk is full", "Make room in the data directory. It goes on by itself.",
              "docs/operating/overload_and_sizing.md#memory-and-disk"},
    AlarmRule{AlarmKind::server_errors, "CoterieServerErrors", page, minutes(5), minutes(5), 0, 0.01,
              "more than one request in a hundred ends in a server error",
              "The log names the errors. 503 is overload or a store that is away; 507 a full disk.",
              "docs/operating/incidents.md"},
    AlarmRule{AlarmKind::rounds_fail, "CoterieRoundsFail", ticket, minutes(30), kAtOnce, 3, 1,
              "more round attempts fail than are done",
              "`coterie job rounds JOB` has the reason of each: mostly too few devices, or too little time for them.",
              "docs/operating/selection.md#why-a-round-has-these-devices"},
    AlarmRule{AlarmKind::sessions_fail, "CoterieSessionsFail", ticket, minutes(30), kAtOnce, 3, 0,
              "sessions of secure aggregation come to nothing",
              "Too many devices vanish: raise dropout_share and over_selection, or lower cohort_min "
              "(docs/operating/privacy.md, Rounds that hide updates).",
              "docs/operating/privacy.md#rounds-that-hide-updates"},
    AlarmRule{AlarmKind::plans_refused, "CoteriePlansRefused", ticket, hours(1), kAtOnce, 0, 0.1,
              "more than one in ten devices refuses the plan of its round",
              "The job promises less privacy than apps ask for.", "docs/operating/devices.md"},
    AlarmRule{AlarmKind::is_behind, "CoterieIsBehind", ticket, minutes(5), minutes(10), 300, 0,
              "more than a request a second is turned away: there is more to do than this server can",
              "Devices come back by themselves, but rounds take longer. Add a server to the fleet, or cores "
              "(docs/operating/overload_and_sizing.md, Overload).",
              "docs/operating/overload_and_sizing.md#overload"},
    AlarmRule{AlarmKind::commits_are_slow, "CoterieCommitsAreSlow", ticket, minutes(10), minutes(10), 0, 0.01,
              "more than 1 % of the batches take over a second to become durable",
              "The disk, or the database, is slow.", "docs/operating/overload_and_sizing.md#sizing"},
    AlarmRule{AlarmKind::updates_shed, "CoterieUpdatesShed", ticket, minutes(10), minutes(10), 0, 1,
              "more updates are sent away than taken",
              "Raise ingest.bytes_in_flight_max if there is memory, invite fewer devices at a time, or take a larger "
              "machine.",
              "docs/operating/overload_and_sizing.md#memory-and-disk"},
    AlarmRule{AlarmKind::accuracy_fell, "CoterieAccuracyFell", ticket, hours(24), minutes(10), 0.1, 0,
              "the newest model is down from a day's best by more than 0.1",
              "`coterie job rounds JOB` shows when. An older version is kept: `coterie model download JOB VERSION`.",
              "docs/operating/jobs.md#which-version-applications-use"},
};

}  // namespace

std::string_view to_string(AlarmSeverity severity) { return severity == page ? "page" : "ticket"; }

std::span<const AlarmRule> alarm_rules() { return kRules; }

}  // namespace coterie
