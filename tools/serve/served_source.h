// What `coterie serve` is told to serve: where versions come from, and what clients ask by.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tools/cli/admin_command.h"
#include "tools/serve/model_source.h"
#include "tools/serve/serve_options.h"

namespace coterie {

// Errors: find_admin's, AdminClient::make's.
Result<std::unique_ptr<ModelSource>> open_model_source(const ServeOptions& options, const AdminCommand& admin);
std::string served_name(const ServeOptions& options);
// A source may have nothing yet: a job without a model has one after its first round.
bool may_come_later(const ServeOptions& options, const Error& error);

}  // namespace coterie
