// The table of the admin plane. Who may what, by least privilege:
//   viewer           sees how jobs, rounds and the server are; no model files, no values of them, no devices, no tokens
//   operator         keeps it running: pauses, resumes and cancels jobs, rolls a bad model back, lets devices in and
//                    shuts them out
//   ml_engineer      makes jobs from models and data sets, takes the models that come of them and promotes them
//   privacy_officer  says what populations may spend, sees what is spent, reads the ledger, and stops a job: releases
//                    nothing
//   security_admin   gives and takes admin tokens; reads the audit log; shuts devices and enrollment tokens out
// docs/operating/access.md has the reasons; tests/unit/fl_server/admin_api/authorization_matrix.txt every cell.
#include "fl_server/admin_api/route.h"

#include "fl_server/admin_api/handlers.h"

namespace coterie {
namespace {

using namespace admin_handlers;
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

constexpr AdminRouteTraits kPlain = {};
constexpr AdminRouteTraits kTakesKey = {.takes_key = true};
constexpr AdminRouteTraits kWholeServer = {.whole_server = true};
constexpr AdminRouteTraits kServedByAny = {.served_by = AdminServedBy::any};
constexpr AdminRouteTraits kWholeServedByAny = {.whole_server = true, .served_by = AdminServedBy::any};
constexpr AdminRouteTraits kRelayed = {.served_by = AdminServedBy::relay};

// tests/tidy/check_docs.py reads these rows: one a line or two, no expressions in them.
constexpr AdminRoute kRoutes[] = {
    {"GET", "/healthz", "getHealth", "The process is alive", kOpen, get_health, kServedByAny},
    {"GET", "/readyz", "getReadiness", "The server serves", kOpen, get_readiness, kServedByAny},
    {"GET", "/metrics", "getMetrics", "Prometheus text exposition", kReaders, get_metrics, kWholeServedByAny},
    {"GET", "/", "getConsole", "The console's page", kOpen, get_console, kServedByAny},
    {"GET", "/console.js", "getConsoleScript", "The console's program", kOpen, get_console_script, kServedByAny},
    {"GET", "/console.css", "getConsoleStyle", "The console's style", kOpen, get_console_style, kServedByAny},
    {"GET", "/console/sign-in-ways", "listSignInWays", "How people may sign in to the console", kOpen,
     list_sign_in_ways, kServedByAny},
    {"GET", "/console/login", "beginProviderSignIn", "To the identity provider, and back to the console", kOpen,
     begin_provider_sign_in, kServedByAny},
    {"GET", "/console/callback", "finishProviderSignIn", "Where the identity provider sends the browser back to", kOpen,
     finish_provider_sign_in, kServedByAny},
    {"GET", "/openapi.json", "getOpenApi", "This description", kOpen, get_openapi, kServedByAny},
    {"POST", "/admin/v1/session", "signIn", "A session of the console for the token's holder", kReaders, sign_in,
     kPlain, "console.sign_in"},
    {"GET", "/admin/v1/session", "getSession", "Who asks, and what they may", kReaders, get_session, kServedByAny},
    {"DELETE", "/admin/v1/session", "signOut", "End the session", kReaders, sign_out, kPlain, "console.sign_out"},
    {"GET", "/admin/v1/server", "getServer", "Version, devices waiting, rounds under way", kReaders, get_server,
     kServedByAny},
    {"GET", "/admin/v1/nodes", "listNodes", "The servers of the fleet and how much each has to do", kReaders,
     list_nodes, kServedByAny},
    {"GET", "/admin/v1/jobs", "listJobs", "All jobs, oldest first", kReaders, list_jobs},
    {"POST", "/admin/v1/jobs", "createJob", "Create a job; it starts at once", kEngineer, create_job, kTakesKey,
     "job.create", kJson},
    {"GET", "/admin/v1/jobs/{job}", "getJob", "One job", kReaders, get_job},
    {"POST", "/admin/v1/jobs/{job}:pause", "pauseJob", "Pause after the round under way", kStop, pause_job, kPlain,
     "job.pause"},
    {"POST", "/admin/v1/jobs/{job}:resume", "resumeJob", "Go on", kResume, resume_job, kPlain, "job.resume"},
    {"POST", "/admin/v1/jobs/{job}:cancel", "cancelJob", "End for good", kStop, cancel_job, kPlain, "job.cancel"},
    {"DELETE", "/admin/v1/jobs/{job}", "deleteJob", "Remove a job that has ended, with its models", kEngineer,
     delete_job, kTakesKey, "job.delete"},
    {"GET", "/admin/v1/jobs/{job}/rounds", "listRounds", "Attempts of rounds, newest first", kReaders, list_rounds},
    {"GET", "/admin/v1/jobs/{job}/curves", "getCurves", "What came of its rounds, by column, as points of a chart",
     kReaders, get_curves},
    {"GET", "/admin/v1/jobs/{job}/rounds/{round}/why", "getRoundWhy",
     "What became of the devices that asked in a round", kReaders, get_round_why},
    {"GET", "/admin/v1/jobs/{job}/trace", "getRoundTrace", "What a round took its time with, for tracing tools",
     kReaders, get_round_trace},
    {"GET", "/admin/v1/jobs/{job}/events", "streamEvents", "Its rounds as they go, as server-sent events", kReaders,
     stream_events, kRelayed},
    {"GET", "/admin/v1/events", "streamAllEvents", "All jobs as they go, as server-sent events", kReaders,
     stream_all_events, kRelayed},
    {"GET", "/admin/v1/jobs/{job}/models", "listModels", "Versions of the model", kReaders, list_models},
    {"GET", "/admin/v1/jobs/{job}/models/{version}", "getModel", "One version", kReaders, get_model},
    {"GET", "/admin/v1/jobs/{job}/models/{version}/content", "getModelContent", "The model file", kEngineer,
     get_model_content},
    {"GET", "/admin/v1/jobs/{job}/models/{version}/graph", "getModelGraph",
     "What the model computes: its ops, in blocks", kReaders, get_model_graph},
    {"GET", "/admin/v1/jobs/{job}/models/{version}/parameters", "listModelParameters",
     "What the values of its parameters are like, with histograms", kEngineer, list_model_parameters},
    {"GET", "/admin/v1/jobs/{job}/result", "getAnalyticsResult", "What a job with analytics has counted", kEngineer,
     get_analytics_result},
    {"DELETE", "/admin/v1/jobs/{job}/models/{version}", "deleteModel", "Remove a version that nothing needs", kEngineer,
     delete_model, kTakesKey, "model.delete"},
    {"POST", "/admin/v1/jobs/{job}/models/{version}:promote", "promoteModel",
     "From now on applications should use this version", kEngineer, promote_model, kPlain, "model.promote"},
    {"POST", "/admin/v1/jobs/{job}/models:rollback", "rollBackModel",
     "Back to the version that was promoted before the present one", kResume, roll_back_model, kPlain,
     "model.roll_back"},
    {"POST", "/admin/v1/jobs/{job}/models/{version}:canary", "openCanary",
     "From now on a share of the population's devices has this version", kEngineer, open_canary, kTakesKey,
     "canary.open", kJson},
    {"GET", "/admin/v1/jobs/{job}/canaries", "listCanaries", "Canaries of the job, newest first", kReaders,
     list_canaries},
    {"GET", "/admin/v1/jobs/{job}/canaries/{canary}", "getCanary", "One canary", kReaders, get_canary},
    {"POST", "/admin/v1/jobs/{job}/canaries/{canary}:observe", "observeCanary",
     "What devices got right with both versions; rolls the canary back where they show that it is worse", kResume,
     observe_canary, kTakesKey, "canary.observe", kJson},
    {"POST", "/admin/v1/jobs/{job}/canaries/{canary}:end", "endCanary", "The version before is everybody's again",
     kResume, end_canary, kPlain, "canary.end"},
    {"GET", "/admin/v1/vertical-jobs", "listVerticalJobs", "Jobs of the coordinator of vertical jobs, by id", kReaders,
     list_vertical_jobs},
    {"GET", "/admin/v1/vertical-jobs/{vertical_job}", "getVerticalJob", "One vertical job", kReaders, get_vertical_job},
    {"POST", "/admin/v1/vertical-jobs/{vertical_job}:pause", "pauseVerticalJob", "Stop it until an operator resumes it",
     kStop, pause_vertical_job, kPlain, "vertical_job.pause"},
    {"POST", "/admin/v1/vertical-jobs/{vertical_job}:resume", "resumeVerticalJob", "Take an operator's pause back",
     kResume, resume_vertical_job, kPlain, "vertical_job.resume"},
    {"POST", "/admin/v1/vertical-jobs/{vertical_job}:cancel", "cancelVerticalJob", "End it for good at its coordinator",
     kStop, cancel_vertical_job, kPlain, "vertical_job.cancel"},
    {"GET", "/admin/v1/ledger", "listLedger", "The privacy ledger of all jobs, in order", kPrivacy, list_ledger},
    {"GET", "/admin/v1/privacy-budgets", "listPrivacyBudgets", "What each population may spend, and has spent",
     kReaders, list_privacy_budgets},
    {"POST", "/admin/v1/privacy-budgets", "setPrivacyBudget", "What all jobs of a population together may spend",
     kPrivacy, set_privacy_budget, kPlain, "privacy_budget.set", kJson},
    {"POST", "/admin/v1/models", "uploadModel", "Upload a model file to start jobs from", kEngineer, upload_model,
     kPlain, "model.upload", kFile},
    {"POST", "/admin/v1/datasets", "uploadDataset", "Upload a data set to evaluate models on", kEngineer,
     upload_dataset, kPlain, "dataset.upload", kFile},
    {"DELETE", "/admin/v1/models/{digest}", "deleteModelUpload", "Remove a model file that no job is made of",
     kEngineer, delete_model_upload, kTakesKey, "model.delete_upload"},
    {"DELETE", "/admin/v1/datasets/{digest}", "deleteDataset", "Remove a data set that no job is made of", kEngineer,
     delete_dataset, kTakesKey, "dataset.delete"},
    {"GET", "/admin/v1/devices", "listDevices", "Enrolled devices, by id", kShutOut, list_devices},
    {"POST", "/admin/v1/devices/{device}:revoke", "revokeDevice", "Refuse everything this device asks from now on",
     kShutOut, revoke_device, kPlain, "device.revoke"},
    {"GET", "/admin/v1/enrollment-tokens", "listTokens", "Tokens, without their secrets", kShutOut, list_tokens},
    {"POST", "/admin/v1/enrollment-tokens", "createToken", "A new token; its secret is shown this once", kOperator,
     create_token, kPlain, "enrollment_token.create", kJson},
    {"DELETE", "/admin/v1/enrollment-tokens/{token}", "removeToken", "Withdraw a token", kShutOut, remove_token, kPlain,
     "enrollment_token.remove"},
    {"GET", "/admin/v1/tokens", "listAdminTokens", "Admin tokens, without their secrets", kSecurity, list_admin_tokens},
    {"POST", "/admin/v1/tokens", "createAdminToken", "A new admin token; its secret is shown this once", kSecurity,
     create_admin_token, kPlain, "admin_token.create", kJson},
    {"DELETE", "/admin/v1/tokens/{token}", "removeAdminToken", "End an admin token at once", kSecurity,
     remove_admin_token, kPlain, "admin_token.remove"},
    {"GET", "/admin/v1/audit", "listAudit", "What callers of this plane did, in order", kSecurity, list_audit,
     kWholeServer},
};

}  // namespace

std::span<const AdminRoute> admin_routes() { return kRoutes; }

}  // namespace coterie
