#include "fl_server/config/endpoints.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace coterie {
namespace {

TEST(Endpoints, AreJsonWithEveryFieldUnderItsName) {
  const Endpoints endpoints{.device_url = "https://localhost:8443",
                            .admin_url = "https://127.0.0.1:8444",
                            .ca_file = "/data/\"ca\".pem",
                            .admin_token_file = "/data/admin\ntoken",
                            .pid = 4711};
  const std::string text = to_json_text(endpoints);
  EXPECT_EQ(text.back(), '\n') << "a text file ends its last line";
  const nlohmann::json expected = {{"device_url", "https://localhost:8443"},
                                   {"admin_url", "https://127.0.0.1:8444"},
                                   {"ca_file", "/data/\"ca\".pem"},
                                   {"admin_token_file", "/data/admin\ntoken"},
                                   {"pid", 4711}};
  EXPECT_EQ(nlohmann::json::parse(text), expected);
}

TEST(Endpoints, SayWhereModelsAreServedIfTheyAre) {
  const nlohmann::json json = nlohmann::json::parse(to_json_text({.device_url = "d",
                                                                  .admin_url = "a",
                                                                  .ca_file = "",
                                                                  .admin_token_file = "t",
                                                                  .pid = 1,
                                                                  .serving_url = "https://127.0.0.1:8500",
                                                                  .serving_token_file = "/data/serving-token"}));
  EXPECT_EQ(json["serving_url"], "https://127.0.0.1:8500");
  EXPECT_EQ(json["serving_token_file"], "/data/serving-token");
}

// Paths are bytes to the system and need not be UTF-8.
TEST(Endpoints, AreJsonWhateverBytesAPathHas) {
  const std::string text =
      to_json_text({.device_url = "", .admin_url = "", .ca_file = "/\xff/ca", .admin_token_file = ""});
  EXPECT_EQ(nlohmann::json::parse(text)["ca_file"], "/\xef\xbf\xbd/ca");
}

TEST(Endpoints, AreReachedOnThisMachineAlsoWhereTheyListenEverywhere) {
  EXPECT_EQ(url_of("127.0.0.1", 8443), "https://127.0.0.1:8443");
  EXPECT_EQ(url_of("0.0.0.0", 1), "https://127.0.0.1:1");
  EXPECT_EQ(url_of("::", 65535), "https://127.0.0.1:65535");
  EXPECT_EQ(url_of("::1", 8443), "https://[::1]:8443");
}

}  // namespace
}  // namespace coterie
