// CrashScene: a server that is killed at one of its crash points while devices and operators keep it busy, and started
// again: it must come to that point, be back soon, go on with its rounds, and have counted whoever it told so once.
#pragma once

#include <optional>
#include <string>

#include "tests/chaos/scene.h"

namespace coterie::chaos {

// Where a point lies: what brings a server there.
enum class CrashWay : uint8_t {
  first_start,  // on an empty directory
  start,        // any, and what goes on in the life that follows
  stop,         // SIGTERM
};

struct CrashResult {
  Millis ready{0};  // from the next process to its answer that it is ready
  Millis leads{0};  // ... to the one that it leads: later, where its own lease from before must run out
  uint64_t rounds = 0;
};

class CrashScene final : public Scene {
 public:
  // A server on PostgreSQL if there is a `conninfo`; then `schema` is its own.
  explicit CrashScene(const std::string& conninfo = {}, const std::string& schema = {});

  // Kills it at `point` ("name" or "name:n"), and the rest. Nothing after a failure, which is reported.
  std::optional<CrashResult> run(const std::string& point, CrashWay way, SceneJob job);

 private:
  void TestBody() override {}
  bool is_dead_at(const std::string& name, const Status& started);
  void keep_busy(bool stops);
  void operate();
};

}  // namespace coterie::chaos
