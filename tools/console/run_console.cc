#include "tools/console/run_console.h"

#include <cstdio>

#include "fl_server/console/console_bundle.h"
#include "fl_server/net/http_server.h"
#include "fl_server/net/immediate_service.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/report.h"
#include "tools/console/run_page.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "console";
constexpr size_t kThreads = 2;  // one reads a large folder while the other has the page
constexpr Millis kDrainMax{2'000};
constexpr Millis kWait{3'600'000};

Status serve(const RunConsoleOptions& options) {
  if (console_bundle().script.empty()) {
    return Error(ErrorCode::unavailable,
                 "this build has no console: install npm and build again with -DCOTERIE_CONSOLE=ON (docs/CONSOLE.md)");
  }
  COT_ASSIGN(FolderFiles files, FolderFiles::open(options.folder));
  const RunPage page(std::move(files));
  ImmediateService service(
      kCommand, [&page](const RequestHead& head) { return page.answer(head); }, RunPage::refuse);
  Metrics metrics(COTERIE_VERSION);
  HttpServer http(kThreads, metrics);
  COT_ASSIGN(const uint16_t port, http.listen({"console", "127.0.0.1", options.port, {}}, {}, service));
  http.start();
  print_text("http://127.0.0.1:" + std::to_string(port) + "/\n");
  std::fputs("The page is read-only. Every process of this machine may ask for it. Ctrl-C ends it.\n", stderr);
  Status ended;
  while (ended) ended = Interrupt::wait(kWait);
  http.stop_accepting();
  (void)http.wait_until_quiet(kDrainMax);
  http.stop();
  return ended;
}

}  // namespace

ExitCode run_console(const RunConsoleOptions& options) {
  const Status ended = serve(options);
  if (ended.error().code() == ErrorCode::cancelled && Interrupt::requested()) return ExitCode::interrupted;
  print_error(kCommand, ended.error());
  return ended.error().code() == ErrorCode::not_found ? ExitCode::usage : ExitCode::failure;
}

}  // namespace coterie
