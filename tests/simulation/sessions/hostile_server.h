// HostileServer: tells devices whatever gets it at a single update: two cohorts, two models, two survivor sets,
// requests that nobody asked for, messages of others and of other sessions, devices that do not exist. It never
// releases a sum: what it could know is the oracle's to say.
#pragma once

#include <map>
#include <vector>

#include "tests/simulation/sessions/story.h"

namespace coterie::simulation {

class HostileServer final : public ServerPort {
 public:
  explicit HostileServer(SessionWorld& world);

  void start() override;
  Digest context_for(uint32_t who) const override;
  void tell(uint32_t who, const DeviceMessage& message, Reply reply) override;
  void ask(uint32_t who, CohortQuestion question, Reply reply) override;
  bool is_over() const override { return true; }  // it has all the time there is

 private:
  bool follows_second(uint32_t who) const;
  Story* story_of(uint32_t who);
  void begin_stories();
  void begin_story(bool is_second);
  // Instead of `answer`, perhaps.
  Answer lie(uint32_t who, CohortQuestion question, Answer answer);
  void change(ServerMessage& message);
  void push_later(uint32_t who, const DeviceMessage& told);

  SessionWorld& world_;
  Digest second_context_;
  std::map<uint32_t, KeyAdvert> adverts_;  // by who; of one that began anew, the first
  std::vector<Story> stories_;             // one or two, once the adverts are in
  bool has_begun_ = false;
};

}  // namespace coterie::simulation
