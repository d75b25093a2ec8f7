// ModelSource: where the versions of a served model come from. Asked again and again; tells each version once, and one
// that is promoted again once more.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/os/file.h"
#include "base/result.h"

namespace coterie {

struct SourcedVersion {
  Bytes file;
  uint64_t number = 0;
};

class ModelSource {
 public:
  virtual ~ModelSource() = default;
  // The newest version, if it was not told before. not_found: there is none yet.
  virtual Result<std::optional<SourcedVersion>> next() = 0;
  // Which version applications should use, if anybody said so.
  virtual std::optional<uint64_t> promoted() const { return {}; }
};

// A file: whenever it was written anew, with other bytes, that is the next version: 1, 2, ... One that has weights of
// few bits comes as the float32 file that it stands for; one that computes in int8 comes as it is.
class FileSource final : public ModelSource {
 public:
  static constexpr uint64_t kFileBytesMax = 4ull << 30;

  explicit FileSource(std::string path) : path_(std::move(path)) {}
  Result<std::optional<SourcedVersion>> next() override;

 private:
  const std::string path_;
  struct Look {
    os::FileIdentity identity;
    WallTime modified;
    uint64_t size = 0;
    friend bool operator==(const Look&, const Look&) = default;
  };
  std::optional<Look> seen_;
  Digest told_;
  uint64_t number_ = 0;
};

// A job of a server, by its admin plane: its newest model, numbered as there, and the one that was promoted.
class JobSource final : public ModelSource {
 public:
  // Targets below /admin/v1/ (AdminClient::get, get_pages with the key "models", download).
  struct Calls {
    std::function<Result<nlohmann::json>(const std::string& target)> get, get_models;
    std::function<Result<Bytes>(const std::string& target)> download;
  };
  JobSource(Calls calls, const std::string& job);
  Result<std::optional<SourcedVersion>> next() override;
  std::optional<uint64_t> promoted() const override { return promoted_; }

 private:
  Result<std::optional<SourcedVersion>> fetch(uint64_t number);

  const Calls calls_;
  const std::string target_;  // "jobs/JOB"
  std::optional<uint64_t> newest_, promoted_, told_promoted_;
};

}  // namespace coterie
