// Story: what a hostile server tells some of the devices: a cohort with its accomplices in it, run by the real server
// machine as far as the masked updates; then one survivor set or two, whoever asks.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "secure/secagg/client.h"
#include "secure/secagg/server.h"
#include "tests/simulation/sessions/session_world.h"

namespace coterie::simulation {

class Story {
 public:
  // `adverts` are of honest devices, shown to those who are told the story; `followers` those among them who will
  // answer.
  static Result<Story> make(SessionWorld& world, const secagg::SessionParameters& parameters,
                            const std::vector<KeyAdvert>& adverts, std::set<uint32_t> followers);

  Answer tell(uint32_t who, const DeviceMessage& message);
  Answer ask(uint32_t who, CohortQuestion question);

  const Digest& session() const { return server_.session(); }
  // Another set than the one that this device was last told, if there is one.
  std::optional<ConfirmRequest> other_set(uint32_t who) const;
  // With all that there is to show for that set.
  std::optional<UnmaskRequest> other_unmasking(uint32_t who) const;

 private:
  enum class Step : uint8_t { sharing, masking, confirming, unmasking };
  using Places = std::vector<uint32_t>;

  Story(SessionWorld& world, const secagg::SessionParameters& parameters, secagg::Server server,
        std::set<uint32_t> followers);

  Status add_accomplices();
  Status add_sybil();
  Status share_as_accomplices();
  void mask_as_accomplices();
  void advance();
  void draw_sets();
  SurvivorSet set_of(size_t index) const;
  size_t set_for(uint32_t who);
  size_t another_than(size_t index) const { return (index + 1) % sets_.size(); }
  UnmaskRequest unmask_request(size_t set) const;
  std::optional<uint32_t> place_of(uint32_t who) const;

  SessionWorld* world_;
  secagg::SessionParameters parameters_;
  secagg::Server server_;
  std::map<uint32_t, secagg::Client> accomplices_;  // by who
  std::set<uint32_t> followers_;
  Step step_ = Step::sharing;
  Instant deadline_;
  std::set<uint32_t> answered_;  // in this step, by who
  std::vector<Places> sets_;
  std::map<uint32_t, size_t> told_;                       // the set that a device was told last
  std::vector<std::map<uint32_t, Bytes>> confirmations_;  // of each set, by place
};

}  // namespace coterie::simulation
