// What the commands that talk to a server share: the connection, the form of the output, and how errors end.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/admin/admin_client.h"
#include "tools/admin/connection.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct AdminCommand {
  ConnectionOptions connection;
  std::string output = "table";  // or "json"

  bool wants_json() const { return output == "json"; }
};

// Connects and does `work`; an error is printed after "coterie <name>: " and decides the exit code.
ExitCode with_admin(const AdminCommand& command, std::string_view name,
                    const std::function<Status(AdminClient&)>& work);

// A command to go on with on the same server, as a user types it: "coterie --data-dir DIR job list".
std::string next_command(const AdminCommand& command, const std::string& rest);

// A member of a server's answer as text for a table: strings as they are, numbers in JSON's form, "-" if it
// is absent. `pointer` is a JSON pointer: "/spec/name".
std::string cell_of(const nlohmann::json& json, const std::string& pointer);

// "2026-11-21T06:30:00.123Z" -> "2026-11-21 06:30:00".
std::string short_time(const std::string& rfc3339);

// A whole input file. An error is the user's: it names the file.
Result<Bytes> read_input(const std::string& path);

}  // namespace coterie
