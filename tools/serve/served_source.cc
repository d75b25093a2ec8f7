#include "tools/serve/served_source.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/admin/admin_client.h"
#include "tools/cli/interrupt.h"

namespace coterie {
namespace {

std::string file_of(const std::string& source) {
  return std::filesystem::is_directory(source) ? source + "/model.cotf" : source;
}

// Keeps its client.
class RemoteJob final : public ModelSource {
 public:
  RemoteJob(std::unique_ptr<AdminClient> client, const std::string& job)
      : client_(std::move(client)),
        source_({.get = [this](const std::string& target) { return client_->get(target); },
                 .get_models = [this](const std::string& target) { return client_->get_pages(target, "models"); },
                 .download = [this](const std::string& target) { return client_->download(target); }},
                job) {}
  Result<std::optional<SourcedVersion>> next() override { return source_.next(); }
  std::optional<uint64_t> promoted() const override { return source_.promoted(); }

 private:
  std::unique_ptr<AdminClient> client_;
  JobSource source_;
};

}  // namespace

std::string served_name(const ServeOptions& options) {
  if (!options.name.empty()) return options.name;
  return options.source.empty() ? options.job : std::filesystem::path(file_of(options.source)).stem().string();
}

Result<std::unique_ptr<ModelSource>> open_model_source(const ServeOptions& options, const AdminCommand& admin) {
  if (options.job.empty()) return std::unique_ptr<ModelSource>(new FileSource(file_of(options.source)));
  COT_ASSIGN(const AdminEndpoint endpoint, find_admin(admin.connection));
  COT_ASSIGN(auto client, AdminClient::make(endpoint, Interrupt::flag()));
  return std::unique_ptr<ModelSource>(new RemoteJob(std::move(client), options.job));
}

bool may_come_later(const ServeOptions& options, const Error& error) {
  return !options.job.empty() && error.code() == ErrorCode::not_found;
}

}  // namespace coterie
