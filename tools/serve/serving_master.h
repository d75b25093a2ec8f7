// The master of several processes that answer at one port with one model: it binds the port, follows the model, keeps
// the processes going, and answers nothing itself.
#pragma once

#include "base/result.h"
#include "tools/cli/admin_command.h"
#include "tools/cli/exit_code.h"
#include "tools/serve/serve_options.h"

namespace coterie {

// Until it is told to stop: processes then answer what is under way. Errors: what the first process would have said of
// keys, source and port; cancelled (a signal). A code: of the first process, which has said why it does not serve.
Result<ExitCode> serve_by_processes(const ServeOptions& options, const AdminCommand& admin);

}  // namespace coterie
