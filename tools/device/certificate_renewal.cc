#include "tools/device/certificate_renewal.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "tools/cli/table.h"
#include "tools/device/log_line.h"

namespace coterie {
namespace {

constexpr Millis kAskAgain{60'000};
constexpr size_t kAnswerBytesMax = 2 * COTERIE_CERTIFICATE_BYTES_MAX + 2;  // hexadecimal, and the end of the line

Error failed(const std::string& what) { return Error(ErrorCode::unavailable, "the command for certificates " + what); }

// What the command prints.
Result<Bytes> run(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return failed("does not start");
  std::string text(kAnswerBytesMax, 0);
  text.resize(std::fread(text.data(), 1, text.size(), pipe));
  const int status = ::pclose(pipe);
  if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return failed("did not give one");
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return from_hex(text);
}

Status of_client(coterie_client* client, coterie_status status) {
  return status == COTERIE_OK ? Status() : Error(ErrorCode::unavailable, coterie_client_last_error(client));
}

Status renew(coterie_client* client, const std::string& command, const std::string& request_file) {
  std::vector<uint8_t> request(COTERIE_CERTIFICATE_REQUEST_BYTES_MAX);
  size_t size = request.size();
  COT_TRY(of_client(client, coterie_client_certificate_request(client, nullptr, request.data(), &size)));
  COT_TRY(os::write_file_atomically(request_file, ByteView(request).first(size)));
  COT_ASSIGN(const Bytes certificate, run(command + " " + shell_word(request_file)));
  return of_client(client, coterie_client_take_certificate(client, certificate.data(), certificate.size()));
}

}  // namespace

void CertificateRenewal::look(coterie_client* client) {
  if (command_.empty() || coterie_client_certificate_is_due(client) == 0) return;
  if (asked_ && os::monotonic_now() - *asked_ < kAskAgain) return;
  asked_ = os::monotonic_now();
  const Status renewed = renew(client, command_, request_file_);
  const std::vector<LogField> fields =
      renewed ? std::vector<LogField>() : std::vector<LogField>{{"error", renewed.error().message()}};
  write_line(to_json_line(renewed ? LogLevel::info : LogLevel::warning,
                          renewed ? "certificate_renewed" : "certificate_not_renewed", fields));
}

}  // namespace coterie
