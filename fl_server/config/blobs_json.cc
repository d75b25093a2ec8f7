#include "fl_server/config/blobs_json.h"

#include <string_view>

namespace coterie {
namespace {

void forbid_keys_of_s3(JsonReader& reader) {
  for (const char* key :
       {"endpoint", "region", "bucket", "prefix", "ca_file", "path_style", "access_key_id_file", "secret_key_file"}) {
    if (reader.has(key)) reader.problem(key, "is only for kind s3");
  }
}

}  // namespace

BlobsConfig read_blobs(JsonReader reader) {
  BlobsConfig config;
  S3Settings s3;
  size_t kind = 0;
  reader.read_choice("kind", {"directory", "s3"}, kind);
  reader.read("endpoint", s3.endpoint);
  reader.read("region", s3.region);
  reader.read("bucket", s3.bucket);
  reader.read("prefix", s3.prefix);
  reader.read("ca_file", s3.ca_file);
  reader.read("path_style", s3.path_style);
  reader.read("access_key_id_file", config.access_key_id_file);
  reader.read("secret_key_file", config.secret_key_file);
  if (kind == 1) {
    for (const Problem& problem : validate(s3)) {
      reader.problem(std::string_view(problem.pointer).substr(1), problem.detail);  // "/endpoint"
    }
    if (config.access_key_id_file.empty())
      reader.problem("access_key_id_file", "is required with s3: a file with the id of an access key");
    if (config.secret_key_file.empty())
      reader.problem("secret_key_file", "is required with s3: a file with the secret of that key");
    config.s3 = std::move(s3);
  } else {
    forbid_keys_of_s3(reader);
  }
  reader.finish();
  return config;
}

}  // namespace coterie
