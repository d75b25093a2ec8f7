// JobFolder: a coordinator's jobs on disk, a JSON file each, written whole and durably; and beside it, of a regression
// that is not over, the 32 bytes that its dealing is made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vertical/coordinator/coordinator_server.h"

namespace coterie {

class JobFolder final : public vertical::JobStore {
 public:
  explicit JobFolder(std::string path) : path_(std::move(path)) {}

  // All jobs. data_loss, with the file's name, for one that is not as it was written. Secrets of jobs that are over go.
  Result<std::vector<vertical::JobRecord>> read_all() const;

  Status put(const vertical::JobRecord& record) override;
  Status remove(const vertical::VerticalJobId& job) override;
  Result<Secret<32>> dealing_secret(const vertical::VerticalJobId& job) override;

 private:
  Status erase_old_secrets(const std::vector<std::string>& names,
                           const std::vector<vertical::JobRecord>& records) const;
  std::string secret_file_of(const vertical::VerticalJobId& job) const;
  std::string file_of(const vertical::VerticalJobId& job) const;
  std::string path_;
};

// "label_party", "feature_party", "feature_party_2": what a party is in a record's file, and in `status --json`.
std::string job_party_key(vertical::PartyIndex party);

std::string write_job_record(const vertical::JobRecord& record);
// malformed or invalid_argument; unauthenticated if an approval's signature is not valid.
Result<vertical::JobRecord> parse_job_record(std::string_view text);

}  // namespace coterie
