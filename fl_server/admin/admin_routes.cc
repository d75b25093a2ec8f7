// The table of the admin plane. Who may what, by least privilege:
//   viewer           sees how jobs, rounds and the server are; no model files, no devices, no tokens
//   operator         keeps it running: pauses, resumes and cancels jobs, rolls a bad model back, lets devices in and
//                    shuts them out
//   ml_engineer      makes jobs from models and data sets, takes the models that come of them and promotes them
//   privacy_officer  sees what is spent and reads the ledger, and stops a job: may take privacy loss away, never add to
//   it security_admin   gives and takes admin tokens; reads the audit log; shuts devices and enrollment tokens out
// docs/operating/access.md has the reasons; tests/unit/fl_server/admin/authorization_matrix.txt every cell.
#include "fl_server/admin/route.h"

namespace coterie {
namespace {

using enum Role;

constexpr std::nullopt_t kOpen = std::nullopt;
constexpr RoleSet kReaders = {viewer, operator_, ml_engineer, privacy_officer, security_admin};
constexpr RoleSet kEngineer = {ml_engineer};
constexpr RoleSet kResume = {operator_, ml_engineer};
constexpr RoleSet kStop = {operator_, ml_engineer, privacy_officer};
constexpr RoleSet kPrivacy = {privacy_officer};
constexpr RoleSet kOperator = {operator_};
constexpr RoleSet kSecurity = {security_admin};
constexpr RoleSet kShutOut = {operator_, security_admin};

constexpr AdminBody kJson = AdminBody::json;
constexpr AdminBody kFile = AdminBody::file;
constexpr AdminBody kNoBody = AdminBody::none;
constexpr bool kTakesKey = true;
constexpr bool kWholeServer = true;

// tests/tidy/check_docs.py reads these rows: one a line or two, no expressions in them.
constexpr AdminRoute kRoutes[] = {
    {"GET", "/healthz", "getHealth", "The process is alive", kOpen},
    {"GET", "/readyz", "getReadiness", "The server serves", kOpen},
    {"GET", "/metrics", "getMetrics", "Prometheus text exposition", kReaders, "", kNoBody, false, kWholeServer},
    {"GET", "/admin/v1/server", "getServer", "Version, devices waiting, rounds under way", kReaders},
    {"GET", "/admin/v1/nodes", "listNodes", "The servers of the fleet and how much each has to do", kReaders},
    {"GET", "/admin/v1/jobs", "listJobs", "All jobs, oldest first", kReaders},
    {"POST", "/admin/v1/jobs", "createJob", "Create a job; it starts at once", kEngineer, "job.create", kJson,
     kTakesKey},
    {"GET", "/admin/v1/jobs/{job}", "getJob", "One job", kReaders},
    {"POST", "/admin/v1/jobs/{job}:pause", "pauseJob", "Pause after the round under way", kStop, "job.pause"},
    {"POST", "/admin/v1/jobs/{job}:resume", "resumeJob", "Go on", kResume, "job.resume"},
    {"POST", "/admin/v1/jobs/{job}:cancel", "cancelJob", "End for good", kStop, "job.cancel"},
    {"GET", "/admin/v1/jobs/{job}/rounds", "listRounds", "Attempts of rounds, newest first", kReaders},
    {"GET", "/admin/v1/jobs/{job}/events", "streamEvents", "Its rounds as they go, as server-sent events", kReaders},
    {"GET", "/admin/v1/jobs/{job}/models", "listModels", "Versions of the model", kReaders},
    {"GET", "/admin/v1/jobs/{job}/models/{version}", "getModel", "One version", kReaders},
    {"GET", "/admin/v1/jobs/{job}/models/{version}/content", "getModelContent", "The model file", kEngineer},
    {"POST", "/admin/v1/jobs/{job}/models/{version}:promote", "promoteModel",
     "From now on applications should use this version", kEngineer, "model.promote"},
    {"POST", "/admin/v1/jobs/{job}/models:rollback", "rollBackModel",
     "Back to the version that was promoted before the present one", kResume, "model.roll_back"},
    {"GET", "/admin/v1/ledger", "listLedger", "The privacy ledger of all jobs, in order", kPrivacy},
    {"POST", "/admin/v1/models", "uploadModel", "Upload a model file to start jobs from", kEngineer, "model.upload",
     kFile},
    {"POST", "/admin/v1/datasets", "uploadDataset", "Upload a data set to evaluate models on", kEngineer,
     "dataset.upload", kFile},
    {"GET", "/admin/v1/devices", "listDevices", "Enrolled devices, by id", kShutOut},
    {"POST", "/admin/v1/devices/{device}:revoke", "revokeDevice", "Refuse everything this device asks from now on",
     kShutOut, "device.revoke"},
    {"GET", "/admin/v1/enrollment-tokens", "listTokens", "Tokens, without their secrets", kShutOut},
    {"POST", "/admin/v1/enrollment-tokens", "createToken", "A new token; its secret is shown this once", kOperator,
     "enrollment_token.create", kJson},
    {"DELETE", "/admin/v1/enrollment-tokens/{token}", "removeToken", "Withdraw a token", kShutOut,
     "enrollment_token.remove"},
    {"GET", "/admin/v1/tokens", "listAdminTokens", "Admin tokens, without their secrets", kSecurity},
    {"POST", "/admin/v1/tokens", "createAdminToken", "A new admin token; its secret is shown this once", kSecurity,
     "admin_token.create", kJson},
    {"DELETE", "/admin/v1/tokens/{token}", "removeAdminToken", "End an admin token at once", kSecurity,
     "admin_token.remove"},
    {"GET", "/admin/v1/audit", "listAudit", "What callers of this plane did, in order", kSecurity, "", kNoBody, false,
     kWholeServer},
};

}  // namespace

std::span<const AdminRoute> admin_routes() { return kRoutes; }

}  // namespace coterie
