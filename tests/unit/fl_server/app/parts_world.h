// The parts that every other part of a server is made from, on a directory of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "base/os/clock.h"
#include "fl_server/app/observers.h"
#include "fl_server/app/server_keys.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/config/server_config.h"
#include "fl_server/net/http_server.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {

class PartsWorld : public testing::Test {
 protected:
  PartsWorld() {
    config_.data_dir = directory_ / "data";
    config_.device = {.address = "127.0.0.1", .port = 0, .limits = {}};
    config_.admin.port = 0;
    config_.threads = 1;
  }
  // Keys, stores and the rest of what stands at the beginning of a server.
  void open() {
    auto keys = ServerKeys::open(config_, os::wall_now());
    ASSERT_OK(keys);
    keys_ = std::move(*keys);
    auto stores = ServerStores::open(config_, keys_->data);
    ASSERT_OK(stores);
    stores_ = std::move(*stores);
    observers_ = std::make_unique<Observers>("0123456789abcdef");
    http_ = std::make_unique<HttpServer>(config_.threads, observers_->metrics);
  }

  TemporaryDirectory directory_{memory_disk()};
  ServerConfig config_;
  std::unique_ptr<ServerKeys> keys_;
  std::unique_ptr<ServerStores> stores_;
  std::unique_ptr<Observers> observers_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace coterie::test
