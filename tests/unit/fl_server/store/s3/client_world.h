// An S3Client on an S3Double.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "fl_server/store/s3/s3_client.h"
#include "tests/support/matchers.h"
#include "tests/support/s3_double.h"

namespace coterie::test {

inline std::unique_ptr<s3::S3Client> client_of(const S3Double& store, const S3Settings& settings) {
  return std::make_unique<s3::S3Client>(settings, store.credentials(), [] { return os::wall_now(); });
}
inline std::unique_ptr<s3::S3Client> client_of(const S3Double& store) { return client_of(store, store.settings()); }

inline nlohmann::json state_of(S3Double& store) { return nlohmann::json::parse(store.state()); }

}  // namespace coterie::test
