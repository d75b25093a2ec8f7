#include "tools/data/shard_folder.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tools/data/feature_shift.h"

namespace coterie {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSchema = "coterie.data.v1";
constexpr const char* kContractFile = "contract.json";
constexpr const char* kManifestFile = "data.json";
constexpr const char* kHeldOutFile = "held-out.cotf";
constexpr uint64_t kManifestBytesMax = 1 << 28;

// As many digits as the last one has, two at least: names sort as numbers.
std::string device_file(size_t device, size_t devices) {
  const size_t digits = std::max<size_t>(2, std::to_string(devices).size());
  const std::string number = std::to_string(device);
  return "device-" + std::string(digits - std::min(digits, number.size()), '0') + number + ".cotf";
}

ordered_json json_of(const ShardRecord& record) {
  ordered_json json = {{"file", record.file}};
  if (!record.group.empty()) json["group"] = record.group;
  json["examples"] = record.examples;
  if (!record.classes.empty()) json["classes"] = record.classes;
  return json;
}

// Nothing but a name in the directory: what a manifest says is not trusted to name files elsewhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && !name.starts_with('.');
}

ShardRecord parse_record(const ordered_json& json, size_t classes) {
  ShardRecord record{.file = json.at("file").get<std::string>()};
  record.group = json.value("group", "");
  record.examples = json.at("examples").get<uint64_t>();
  if (json.contains("classes")) record.classes = json.at("classes").get<std::vector<uint32_t>>();
  const bool fits = record.classes.empty() || record.classes.size() == classes;
  if (!is_plain_name(record.file) || !fits) throw std::invalid_argument("a record with another file or other classes");
  return record;
}

Result<ShardFolder> parse_manifest(std::string_view text, InputContract contract) {
  ShardFolder folder;
  folder.contract = std::move(contract);
  const size_t classes = folder.contract.target.classes.size();
  try {
    const ordered_json json = ordered_json::parse(text);
    const std::string schema = json.at("schema").get<std::string>();
    if (schema != kSchema) {
      return Error(ErrorCode::unsupported_version, "expected schema " + std::string(kSchema) + ", is " + schema);
    }
    folder.source = json.at("source").get<std::string>();
    folder.split = json.at("split").get<std::string>();
    folder.seed = json.at("seed").get<uint64_t>();
    for (const ordered_json& record : json.at("devices")) folder.devices.push_back(parse_record(record, classes));
    if (json.contains("held_out")) folder.held_out = parse_record(json.at("held_out"), classes);
    folder.notes = json.value("notes", std::vector<std::string>());
  } catch (const std::exception& error) {
    return Error(ErrorCode::malformed, std::string("is not what `coterie data make` writes: ") + error.what());
  }
  if (folder.devices.empty()) return Error(ErrorCode::malformed, "names no device");
  return folder;
}

// Takes away what was written, unless it is kept.
class Draft {
 public:
  explicit Draft(std::string directory) : directory_(std::move(directory)) {}
  ~Draft() {
    for (const std::string& path : written_) (void)os::remove_file(path);
    std::error_code ignored;
    if (made_directory_) std::filesystem::remove(directory_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  Status begin() {
    made_directory_ = !os::exists(directory_);
    COT_TRY(os::make_directories(directory_));
    COT_ASSIGN(const std::vector<std::string> names, os::list_directory(directory_));
    if (names.empty()) return {};
    return Error(ErrorCode::conflict, directory_ + " exists and is not empty; name another folder with -o");
  }
  Status write(const std::string& name, ByteView bytes) {
    const std::string path = directory_ + "/" + name;
    COT_TRY(os::write_file_atomically(path, bytes));
    written_.push_back(path);
    return {};
  }
  void keep() {
    written_.clear();
    made_directory_ = false;
  }

 private:
  std::string directory_;
  std::vector<std::string> written_;
  bool made_directory_ = false;
};

}  // namespace

std::string manifest_text(const ShardFolder& folder) {
  ordered_json json = {{"schema", kSchema},
                       {"source", folder.source},
                       {"split", folder.split},
                       {"seed", folder.seed},
                       {"contract", kContractFile}};
  json["devices"] = ordered_json::array();
  for (const ShardRecord& record : folder.devices) json["devices"].push_back(json_of(record));
  if (folder.held_out) json["held_out"] = json_of(*folder.held_out);
  json["notes"] = folder.notes;
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ShardFolder describe(const FederatedData& data, const std::string& source) {
  ShardFolder folder;
  folder.source = source;
  folder.split = to_string(data.split);
  folder.seed = data.seed;
  folder.contract = data.contract;
  folder.notes = data.notes;
  for (size_t i = 0; i < data.shards.size(); ++i) {
    folder.devices.push_back(
        {.file = device_file(i + 1, data.shards.size()),
         .group = data.groups.empty() ? "" : data.groups[i],
         .examples = data.shards[i].size(),
         .classes = shifted_counts(data.split, static_cast<uint32_t>(i), count_labels(data.examples, data.shards[i]))});
  }
  if (data.held_out) {
    std::vector<uint32_t> all(data.held_out->size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    folder.held_out = ShardRecord{
        .file = kHeldOutFile, .examples = data.held_out->size(), .classes = count_labels(*data.held_out, all)};
  }
  return folder;
}

Result<ShardFolder> write_shards(const FederatedData& data, const std::string& source, const std::string& directory,
                                 const ShardProgress& progress) {
  ShardFolder folder = describe(data, source);
  folder.path = directory;
  Draft draft(directory);
  if (const Status begun = draft.begin(); !begun) {
    draft.keep();  // nothing of it is ours
    return begun.error();
  }
  for (uint32_t i = 0; i < folder.devices.size(); ++i) {
    COT_TRY(draft.write(folder.devices[i].file, dataset_file(data.shard(i))));
    COT_TRY(progress(i + 1, folder.devices.size()));
  }
  if (folder.held_out) COT_TRY(draft.write(folder.held_out->file, dataset_file(*data.held_out)));
  COT_TRY(draft.write(kContractFile, as_bytes(to_json_text(folder.contract))));
  COT_TRY(draft.write(kManifestFile, as_bytes(manifest_text(folder))));
  draft.keep();
  return folder;
}

bool is_shard_folder(const std::string& path) {
  std::error_code ignored;
  return path != "digits" && std::filesystem::is_directory(path, ignored);
}

Result<ShardFolder> open_shards(const std::string& path) {
  const std::string manifest = path + "/" + kManifestFile;
  if (!os::exists(manifest)) {
    return Error(ErrorCode::not_found,
                 path + " has no " + kManifestFile + ": it was not made by `coterie data make`, or was not finished");
  }
  COT_ASSIGN(InputContract contract, read_contract(path + "/" + kContractFile));
  COT_ASSIGN(const Bytes file, os::read_file(manifest, kManifestBytesMax));
  Result<ShardFolder> folder = parse_manifest(as_text(file), std::move(contract));
  if (!folder) return folder.error().with_context(manifest);
  folder->path = path;
  return folder;
}

}  // namespace coterie
