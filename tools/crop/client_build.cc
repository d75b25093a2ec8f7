#include "tools/crop/client_build.h"

#include <algorithm>
#include <filesystem>

#include "base/os/file.h"
#include "tools/cli/interrupt.h"
#include "tools/demo/child_process.h"

namespace coterie {
namespace {

constexpr Millis kLookEvery{50};
constexpr Millis kGrace{2000};
constexpr uint64_t kFactsBytesMax = 1 << 20;
constexpr const char* kTarget = "coterie-footprint";
constexpr const char* kFacts = "ops_of_build.txt";  // written by cmake/CoterieOps.cmake
constexpr size_t kFactLines = 4;                    // ops, families, kernels, ways left out

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).lexically_normal().string(); }

std::string log_of(const ClientBuild& build) { return build.folder + "/crop.log"; }

// `command[0]` is a path or looked for in PATH, by env: which takes a path with a = for a variable, and so is not given
// one.
Status run(const ClientBuild& build, const std::string& name, std::vector<std::string> command) {
  if (!command.front().starts_with('/')) command.insert(command.begin(), "/usr/bin/env");
  COT_ASSIGN(Child child,
             Child::start({.name = name, .command = command, .environment = {}, .log_file = log_of(build)}));
  while (!child.has_ended()) {
    if (!Interrupt::wait(kLookEvery)) {
      stop_children({&child}, kGrace);
      return interrupted_error();
    }
  }
  if (child.succeeded()) return {};
  return Error(ErrorCode::unavailable, child.obituary());
}

std::vector<std::string> names_of(std::string_view line) {
  std::vector<std::string> names;
  while (!line.empty()) {
    const std::string_view name = line.substr(0, line.find(';'));
    if (!name.empty()) names.emplace_back(name);
    line.remove_prefix(std::min(line.size(), name.size() + 1));
  }
  return names;
}

Status read_facts(const ClientBuild& build, BuiltClient& client) {
  const std::string path = build.folder + "/" + kFacts;
  COT_ASSIGN(const Bytes file, os::read_file(path, kFactsBytesMax));
  std::vector<std::string_view> lines;
  for (std::string_view text = as_text(file); !text.empty();) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
  }
  if (lines.size() != kFactLines) {
    return Error(ErrorCode::malformed, path + " has " + std::to_string(lines.size()) +
                                           " lines, and should have 4: " + "is the source tree of this version?");
  }
  client.ops = names_of(lines[0]);
  client.kernels = names_of(lines[2]);
  std::erase_if(client.kernels, [](const std::string& name) { return name.find("::") != std::string::npos; });
  client.left_out = names_of(lines[3]);
  return {};
}

Result<std::set<std::string>> rules_of(const std::string& source) {
  COT_ASSIGN(const std::vector<std::string> files, os::list_directory(source + "/device_sdk/runtime/ops"));
  std::set<std::string> rules;
  for (const std::string& file : files) {
    if (file.ends_with(".cc")) rules.insert(file.substr(0, file.size() - 3));
  }
  return rules;
}

}  // namespace

Result<BuiltClient> build_client(const ClientBuild& build) {
  if (!os::exists(build.source + "/cmake/ops_from.py")) {
    return Error(ErrorCode::not_found, build.source + " is no source tree of Coterie: it has no cmake/ops_from.py; " +
                                           "--source DIR says where one is");
  }
  COT_TRY(os::make_directories(build.folder));
  COT_TRY(os::remove_file(log_of(build)));
  const std::string folder = absolute(build.folder);
  COT_TRY(run(build, "cmake",
              {"cmake", "-S", absolute(build.source), "--preset", "engine", "-B", folder,
               "-DCOTERIE_OPS_FROM=" + absolute(build.list)}));
  COT_TRY(run(build, "the build", {"cmake", "--build", folder, "--target", kTarget}));
  BuiltClient client{.program = folder + "/bin/" + kTarget};
  COT_ASSIGN(const os::File program, os::File::open_read(client.program));
  COT_ASSIGN(client.bytes, program.size());
  COT_ASSIGN(const Bytes map, os::read_file(client.program + ".map", kLinkMapBytesMax));
  COT_ASSIGN(client.pieces, read_link_map(as_text(map)));
  COT_ASSIGN(client.rules, rules_of(build.source));
  COT_TRY(read_facts(build, client));
  return client;
}

Status client_takes(const BuiltClient& client, const ClientBuild& build, ByteView model) {
  const std::string path = absolute(build.folder) + "/crop.cotf";
  COT_TRY(os::write_file_atomically(path, model));
  const Status taken = run(build, "the client", {client.program, path});
  COT_TRY(os::remove_file(path));
  return taken;
}

}  // namespace coterie
