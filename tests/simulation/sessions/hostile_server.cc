#include "tests/simulation/sessions/hostile_server.h"

#include "tests/simulation/sessions/session_device.h"

namespace coterie::simulation {
namespace {

Error closed() { return Error(ErrorCode::round_closed, "the session is over"); }

}  // namespace

HostileServer::HostileServer(SessionWorld& world) : world_(world), second_context_(world.random_digest()) {}

bool HostileServer::follows_second(uint32_t who) const { return world_.options().attack.two_rosters && who % 2 == 1; }

Digest HostileServer::context_for(uint32_t who) const {
  const bool is_other = world_.options().attack.two_models && follows_second(who);
  return is_other ? second_context_ : world_.parameters().context;
}

void HostileServer::start() {
  world_.queue().after(world_.options().advertising_max, [this] { begin_stories(); });
}

void HostileServer::begin_stories() {
  if (has_begun_) return;
  has_begun_ = true;
  begin_story(false);
  if (world_.options().attack.two_rosters) begin_story(true);
}

// Everybody's adverts may stand in both rosters, whichever of the two a device is told of.
void HostileServer::begin_story(bool is_second) {
  std::vector<KeyAdvert> adverts;
  std::set<uint32_t> followers;
  for (const auto& [who, advert] : adverts_) {
    const bool follows = follows_second(who) == is_second;
    if (follows) followers.insert(who);
    if (follows || world_.prng().chance(0.3)) adverts.push_back(advert);
  }
  secagg::SessionParameters parameters = world_.parameters();
  if (is_second && world_.options().attack.two_models) parameters.context = second_context_;
  Result<Story> story = Story::make(world_, parameters, adverts, std::move(followers));
  if (story) stories_.push_back(std::move(*story));
}

Story* HostileServer::story_of(uint32_t who) {
  if (stories_.empty()) return nullptr;
  return follows_second(who) ? &stories_.back() : &stories_.front();
}

void HostileServer::tell(uint32_t who, const DeviceMessage& message, Reply reply) {
  if (const auto* advert = std::get_if<KeyAdvert>(&message)) {
    adverts_.emplace(who, *advert);
    if (adverts_.size() == world_.device_count()) begin_stories();
    return reply(Heard{});
  }
  Story* story = story_of(who);
  if (story == nullptr) return reply(closed());
  reply(story->tell(who, message));
  if (world_.options().attack.pushes) push_later(who, message);
}

void HostileServer::ask(uint32_t who, CohortQuestion question, Reply reply) {
  if (!has_begun_) return reply(NotYet{0});
  Story* story = story_of(who);
  if (story == nullptr) return reply(closed());
  Answer answer = story->ask(who, question);
  if (world_.prng().chance(world_.options().attack.lie)) answer = lie(who, question, std::move(answer));
  reply(std::move(answer));
}

// ---- Lies

Answer HostileServer::lie(uint32_t who, CohortQuestion question, Answer answer) {
  auto* message = std::get_if<ServerMessage>(&answer);
  if (message == nullptr) return answer;
  ++world_.oracle().verdict().lies;
  const uint64_t kind = world_.prng().below(3);
  if (kind == 0) {
    change(*message);
    return answer;
  }
  // What another device would be told, in this story or in the other one; as if it were of this session.
  const auto other = static_cast<uint32_t>(world_.prng().below(world_.device_count()));
  Story& story = stories_[world_.prng().below(stories_.size())];
  Answer others = story.ask(other, question);
  auto* foreign = std::get_if<ServerMessage>(&others);
  if (foreign == nullptr) return answer;
  const Digest session = world_.device(who)->session();
  std::visit(
      [&](auto& m) {
        if constexpr (requires { m.session; }) {
          if (kind == 1) m.session = session;
        }
      },
      *foreign);
  return others;
}

// A bit here, an entry there.
void HostileServer::change(ServerMessage& message) {
  Prng& prng = world_.prng();
  const auto flip = [&](auto& bytes) {
    if (!bytes.empty()) bytes[prng.below(bytes.size())] ^= static_cast<uint8_t>(1u << prng.below(8));
  };
  const auto drop = [&](auto& list) {
    if (!list.empty()) list.erase(list.begin() + static_cast<ptrdiff_t>(prng.below(list.size())));
  };
  if (auto* view = std::get_if<RosterView>(&message)) {
    RosterEntry& entry = view->entries[prng.below(view->entries.size())];
    switch (prng.below(4)) {
      case 0: return flip(entry.advert.mask_key);
      case 1: return flip(entry.advert.identity.public_key);
      case 2: return drop(view->entries);
      default: --view->size; return;
    }
  }
  if (auto* inbox = std::get_if<ShareInbox>(&message)) {
    if (prng.chance(0.5)) return drop(inbox->present);
    if (prng.chance(0.5)) return drop(inbox->boxes);
    if (!inbox->boxes.empty()) flip(inbox->boxes[prng.below(inbox->boxes.size())].box);
  }
  if (auto* request = std::get_if<ConfirmRequest>(&message)) flip(request->survivors.bits);
  if (auto* request = std::get_if<UnmaskRequest>(&message)) {
    if (prng.chance(0.5)) return flip(request->survivors.bits);
    if (prng.chance(0.5)) return drop(request->confirmations);
    if (!request->confirmations.empty())
      flip(request->confirmations[prng.below(request->confirmations.size())].signature);
  }
}

// Behind an answer, seldom before it: the request for the other set.
void HostileServer::push_later(uint32_t who, const DeviceMessage& told) {
  const bool has_confirmed = std::holds_alternative<Confirmation>(told);
  const bool has_opened = std::holds_alternative<Unmasking>(told);
  if (!has_opened && !(has_confirmed && world_.prng().chance(0.2))) return;
  const Story& story = *story_of(who);
  std::optional<ServerMessage> pushed;
  if (const auto other = story.other_set(who); has_confirmed && other) pushed = *other;
  if (const auto other = story.other_unmasking(who); has_opened && other) pushed = *other;
  if (!pushed) return;
  ++world_.oracle().verdict().lies;
  world_.send([this, who, message = *pushed] { world_.device(who)->push(message); });
}

}  // namespace coterie::simulation
