// The handlers of the admin plane: one function an operation of the table (routes.cc), by subject. Each may block, as
// they run on a small pool; several at once. None throws: whatever goes wrong is a problem document.
//
// A handler may take for granted that its caller has one of the route's roles, that what the path names is the caller's
// tenant's, and that a change is in the audit log. What a caller of one tenant sees of a list it decides itself
// (tenants.h).
#pragma once

#include "fl_server/admin_api/route.h"
#include "fl_server/net/http_types.h"

namespace coterie::admin_handlers {

// clang-format off
// server_status.cc
HttpResponse get_health(AdminContext& context, const AdminCall& call);
HttpResponse get_readiness(AdminContext& context, const AdminCall& call);
HttpResponse get_metrics(AdminContext& context, const AdminCall& call);
HttpResponse get_server(AdminContext& context, const AdminCall& call);
// console.cc
HttpResponse get_console(AdminContext& context, const AdminCall& call);
HttpResponse get_console_script(AdminContext& context, const AdminCall& call);
HttpResponse get_console_style(AdminContext& context, const AdminCall& call);
HttpResponse get_openapi(AdminContext& context, const AdminCall& call);
HttpResponse list_sign_in_ways(AdminContext& context, const AdminCall& call);
HttpResponse begin_provider_sign_in(AdminContext& context, const AdminCall& call);
HttpResponse finish_provider_sign_in(AdminContext& context, const AdminCall& call);
HttpResponse sign_in(AdminContext& context, const AdminCall& call);
HttpResponse get_session(AdminContext& context, const AdminCall& call);
HttpResponse sign_out(AdminContext& context, const AdminCall& call);
// nodes.cc
HttpResponse list_nodes(AdminContext& context, const AdminCall& call);
// jobs.cc
HttpResponse list_jobs(AdminContext& context, const AdminCall& call);
HttpResponse get_job(AdminContext& context, const AdminCall& call);
HttpResponse pause_job(AdminContext& context, const AdminCall& call);
HttpResponse resume_job(AdminContext& context, const AdminCall& call);
HttpResponse cancel_job(AdminContext& context, const AdminCall& call);
// job_creation.cc
HttpResponse create_job(AdminContext& context, const AdminCall& call);
// rounds.cc
HttpResponse list_rounds(AdminContext& context, const AdminCall& call);
HttpResponse get_round_trace(AdminContext& context, const AdminCall& call);
// curves.cc
HttpResponse get_curves(AdminContext& context, const AdminCall& call);
// round_why.cc
HttpResponse get_round_why(AdminContext& context, const AdminCall& call);
// admin_events.cc
HttpResponse stream_events(AdminContext& context, const AdminCall& call);
HttpResponse stream_all_events(AdminContext& context, const AdminCall& call);
// models.cc
HttpResponse upload_model(AdminContext& context, const AdminCall& call);
HttpResponse upload_dataset(AdminContext& context, const AdminCall& call);
HttpResponse list_models(AdminContext& context, const AdminCall& call);
HttpResponse get_model(AdminContext& context, const AdminCall& call);
HttpResponse get_model_content(AdminContext& context, const AdminCall& call);
// model_view.cc
HttpResponse get_model_graph(AdminContext& context, const AdminCall& call);
HttpResponse list_model_parameters(AdminContext& context, const AdminCall& call);
// analytics.cc
HttpResponse get_analytics_result(AdminContext& context, const AdminCall& call);
// deletion.cc
HttpResponse delete_job(AdminContext& context, const AdminCall& call);
HttpResponse delete_model(AdminContext& context, const AdminCall& call);
HttpResponse delete_model_upload(AdminContext& context, const AdminCall& call);
HttpResponse delete_dataset(AdminContext& context, const AdminCall& call);
// releases.cc
HttpResponse promote_model(AdminContext& context, const AdminCall& call);
HttpResponse roll_back_model(AdminContext& context, const AdminCall& call);
// canaries.cc
HttpResponse open_canary(AdminContext& context, const AdminCall& call);
HttpResponse list_canaries(AdminContext& context, const AdminCall& call);
HttpResponse get_canary(AdminContext& context, const AdminCall& call);
HttpResponse observe_canary(AdminContext& context, const AdminCall& call);
HttpResponse end_canary(AdminContext& context, const AdminCall& call);
// vertical_jobs.cc
HttpResponse list_vertical_jobs(AdminContext& context, const AdminCall& call);
HttpResponse get_vertical_job(AdminContext& context, const AdminCall& call);
HttpResponse pause_vertical_job(AdminContext& context, const AdminCall& call);
HttpResponse resume_vertical_job(AdminContext& context, const AdminCall& call);
HttpResponse cancel_vertical_job(AdminContext& context, const AdminCall& call);
// ledger.cc
HttpResponse list_ledger(AdminContext& context, const AdminCall& call);
// privacy_budgets.cc
HttpResponse list_privacy_budgets(AdminContext& context, const AdminCall& call);
HttpResponse set_privacy_budget(AdminContext& context, const AdminCall& call);
// devices.cc
HttpResponse list_devices(AdminContext& context, const AdminCall& call);
HttpResponse revoke_device(AdminContext& context, const AdminCall& call);
// enrollment_tokens.cc
HttpResponse list_tokens(AdminContext& context, const AdminCall& call);
HttpResponse create_token(AdminContext& context, const AdminCall& call);
HttpResponse remove_token(AdminContext& context, const AdminCall& call);
// admin_tokens.cc
HttpResponse list_admin_tokens(AdminContext& context, const AdminCall& call);
HttpResponse create_admin_token(AdminContext& context, const AdminCall& call);
HttpResponse remove_admin_token(AdminContext& context, const AdminCall& call);
// audit.cc
HttpResponse list_audit(AdminContext& context, const AdminCall& call);
// clang-format on

}  // namespace coterie::admin_handlers
