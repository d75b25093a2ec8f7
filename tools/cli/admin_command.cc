#include "tools/cli/admin_command.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr uint64_t kInputBytesMax = 1ull << 34;

}  // namespace

ExitCode with_admin(const AdminCommand& command, std::string_view name,
                    const std::function<Status(AdminClient&)>& work) {
  const Result<AdminEndpoint> endpoint = find_admin(command.connection);
  if (!endpoint) {
    print_error(name, endpoint.error());
    return ExitCode::config;
  }
  Result<std::unique_ptr<AdminClient>> client = AdminClient::make(*endpoint, Interrupt::flag());
  if (!client) {
    print_error(name, client.error());
    return ExitCode::config;
  }
  Status done;
  try {
    done = work(**client);
  } catch (const nlohmann::json::exception&) {
    done = Error(ErrorCode::malformed, "the server's answer is not what was expected; is it of another version?");
  }
  if (done) return ExitCode::ok;
  print_error(name, done.error());
  return exit_code_of(done.error().code());
}

std::string next_command(const AdminCommand& command, const std::string& rest) {
  const ConnectionOptions& connection = command.connection;
  std::string text = "coterie";
  for (const auto& [option, value] :
       {std::pair("--data-dir", connection.data_dir), std::pair("--admin-url", connection.admin_url),
        std::pair("--ca", connection.ca_file), std::pair("--token-file", connection.token_file)}) {
    if (!value.empty()) text += std::string(" ") + option + " " + shell_word(value);
  }
  return text + " " + rest;
}

std::string cell_of(const nlohmann::json& json, const std::string& pointer) {
  const nlohmann::json::json_pointer at(pointer);
  if (!json.contains(at) || json.at(at).is_null()) return "-";
  const nlohmann::json& value = json.at(at);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string short_time(const std::string& rfc3339) {
  constexpr size_t kDate = 10, kSeconds = 19;
  if (rfc3339.size() < kSeconds || rfc3339[kDate] != 'T') return rfc3339;
  return rfc3339.substr(0, kDate) + " " + rfc3339.substr(kDate + 1, kSeconds - kDate - 1);
}

Result<Bytes> read_input(const std::string& path) {
  Result<Bytes> bytes = os::read_file(path, kInputBytesMax);
  if (bytes) return bytes;
  return Error(ErrorCode::invalid_argument, bytes.error().message());
}

}  // namespace coterie
