#include "tools/delegate/open_delegate.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "device_sdk/delegates/delegate_module.h"
#include "device_sdk/runtime/delegate/fence.h"

namespace coterie {
namespace {

struct KnownDelegate {
  const char* name;
  const char* packages;  // Debian's, that a build needs
};

constexpr KnownDelegate kKnown[] = {
    {"onednn", "libdnnl-dev and ocl-icd-opencl-dev"},
    {"opencl", "ocl-icd-opencl-dev"},
};

// Never a relative path: code is not loaded from where somebody happens to work.
Result<std::filesystem::path> path_of(const std::string& file) {
  std::error_code unread, ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unread);
  if (unread || !program.is_absolute()) {
    return Error(ErrorCode::unavailable, "modules lie beside the program, and /proc/self/exe does not say where it is");
  }
  const std::filesystem::path folder = program.parent_path(), beside = folder / file;
  return std::filesystem::exists(beside, ignored) ? beside : folder / "../lib/coterie" / file;
}

}  // namespace

std::vector<std::string> delegate_names() {
  std::vector<std::string> names;
  for (const KnownDelegate& known : kKnown) names.emplace_back(known.name);
  return names;
}

Result<std::shared_ptr<Delegate>> open_delegate(const std::string& name) {
  const auto* const known = std::ranges::find(kKnown, name, &KnownDelegate::name);
  if (known == std::end(kKnown)) return Error(ErrorCode::invalid_argument, "there is no delegate " + name);
  COT_ASSIGN(const std::filesystem::path path, path_of("coterie-" + name + ".so"));
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    return Error(ErrorCode::unsupported_version, "this build has no delegate " + name + " (" + ::dlerror() +
                                                     "): build it with " + known->packages + " installed");
  }
  const auto entry = reinterpret_cast<const DelegateModule* (*)()>(::dlsym(module, "coterie_delegate_module"));
  const DelegateModule* const offered = entry == nullptr ? nullptr : entry();
  if (offered == nullptr || std::string(offered->release) != COTERIE_VERSION) {
    return Error(ErrorCode::unsupported_version, path.string() + " is of another release of coterie");
  }
  std::unique_ptr<Delegate> opened;
  COT_TRY(fenced([&]() -> Status {
    COT_ASSIGN(opened, offered->open());
    return {};
  }));
  return std::shared_ptr<Delegate>(std::move(opened));
}

}  // namespace coterie
