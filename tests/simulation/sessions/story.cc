#include "tests/simulation/sessions/story.h"

#include <algorithm>

#include "secure/crypto/signature.h"
#include "secure/secagg/fault.h"
#include "secure/secagg/survivors.h"

namespace coterie::simulation {
namespace {

Secret<32> random_secret(SessionWorld& world) {
  const Bytes bytes = world.random_bytes(32);
  return Secret<32>(std::span<const uint8_t, 32>(bytes.data(), 32));
}

Status anybody(const DeviceIdentity&) { return {}; }

Error closed() { return Error(ErrorCode::round_closed, "the cohort goes on without this device"); }

}  // namespace

Story::Story(SessionWorld& world, const secagg::SessionParameters& parameters, secagg::Server server,
             std::set<uint32_t> followers)
    : world_(&world),
      parameters_(parameters),
      server_(std::move(server)),
      followers_(std::move(followers)),
      deadline_(world.queue().now() + world.options().phase_max) {}

Result<Story> Story::make(SessionWorld& world, const secagg::SessionParameters& parameters,
                          const std::vector<KeyAdvert>& adverts, std::set<uint32_t> followers) {
  COT_ASSIGN(secagg::Server server, secagg::Server::make(parameters, world.prng().next(), anybody));
  Story story(world, parameters, std::move(server), std::move(followers));
  for (const KeyAdvert& advert : adverts) (void)story.server_.receive(advert);  // one of another model is refused
  COT_TRY(story.add_accomplices());
  if (world.options().attack.sybils) COT_TRY(story.add_sybil());
  COT_TRY(story.server_.close_adverts());
  COT_TRY(story.share_as_accomplices());
  return story;
}

Status Story::add_accomplices() {
  // A third of this roster, however few honest devices came: more is beyond what a session promises anything for.
  const bool all = world_->options().mutant == SessionMutant::too_many_corrupt;
  const uint32_t most =
      all ? world_->options().accomplices : std::min(world_->options().accomplices, server_.size() / 2);
  for (uint32_t who = world_->device_count(); who < world_->device_count() + most; ++who) {
    const secagg::DeviceCredentials credentials{.signer = &world_->signer(who), .certificate = {}};
    COT_ASSIGN(secagg::Client client, secagg::Client::make(parameters_, random_secret(*world_), credentials, anybody));
    COT_TRY(server_.receive(client.advert()));
    accomplices_.emplace(who, std::move(client));
  }
  return {};
}

// A device that does not exist, with a key pair of the server's own.
Status Story::add_sybil() {
  COT_ASSIGN(const std::unique_ptr<Signer> signer, make_signer(KeyAlgorithm::ed25519, world_->random_bytes(32)));
  COT_ASSIGN(const secagg::Client client, secagg::Client::make(parameters_, random_secret(*world_),
                                                               {.signer = signer.get(), .certificate = {}}, anybody));
  return server_.receive(client.advert());
}

std::optional<uint32_t> Story::place_of(uint32_t who) const {
  return server_.device_of(world_->signer(who).public_key());
}

Status Story::share_as_accomplices() {
  for (auto& [who, client] : accomplices_) {
    COT_ASSIGN(const SealedShares shares, client.share(server_.view(*place_of(who))));
    COT_TRY(server_.receive(shares));
  }
  return {};
}

// One whose inbox is not to its liking is as good as gone; what it knows is not.
void Story::mask_as_accomplices() {
  for (auto& [who, client] : accomplices_) {
    const Result<ShareInbox> inbox = server_.inbox(*place_of(who));
    if (!inbox) continue;
    if (const Result<secagg::Masking> masking = client.mask(*inbox)) (void)server_.receive(masking->head());
  }
}

// ---- Steps

void Story::advance() {
  const bool all_answered = std::ranges::includes(answered_, followers_);
  const Instant now = world_->queue().now();
  if (step_ == Step::unmasking || (!all_answered && now < deadline_)) return;
  if (step_ == Step::sharing) {
    if (!server_.close_shares()) return followers_.clear();
    mask_as_accomplices();
    step_ = Step::masking;
  } else if (step_ == Step::masking) {
    draw_sets();
    if (sets_.empty()) return followers_.clear();
    step_ = Step::confirming;
  } else {
    step_ = Step::unmasking;
  }
  answered_.clear();
  deadline_ = now + world_->options().phase_max;
}

Answer Story::tell(uint32_t who, const DeviceMessage& message) {
  Status heard;
  if (const auto* shares = std::get_if<SealedShares>(&message)) heard = server_.receive(*shares);
  if (const auto* update = std::get_if<MaskedUpdate>(&message)) heard = server_.receive(update->head);
  if (const auto* confirmation = std::get_if<Confirmation>(&message)) {
    const auto place = place_of(who);
    // It does not say what it is of: perhaps of one that it was told before.
    for (size_t set = 0; place && set < sets_.size(); ++set) {
      const Bytes text = secagg::confirmation_text(session(), set_of(set));
      const Signer& signer = world_->signer(who);
      const bool is_its = signature_is_valid(signer.algorithm(), signer.public_key(), text, confirmation->signature);
      if (is_its) confirmations_[set][*place] = confirmation->signature;
    }
  }
  if (heard) answered_.insert(who);
  advance();
  return Heard{};  // it is all the same to a server that wants shares
}

Answer Story::ask(uint32_t who, CohortQuestion question) {
  advance();
  const auto place = place_of(who);
  if (!place || !followers_.contains(who)) return closed();
  switch (question) {
    case CohortQuestion::roster: return ServerMessage(server_.view(*place));
    case CohortQuestion::share_inbox: {
      if (step_ < Step::masking) return NotYet{server_.size()};
      Result<ShareInbox> inbox = server_.inbox(*place);
      return inbox ? Answer(ServerMessage(std::move(*inbox))) : Answer(closed());
    }
    case CohortQuestion::confirm_request:
      if (step_ < Step::confirming) return NotYet{server_.size()};
      return ServerMessage(ConfirmRequest{session(), set_of(set_for(who))});
    case CohortQuestion::unmask_request:
      if (step_ < Step::unmasking) return NotYet{server_.size()};
      return ServerMessage(unmask_request(set_for(who)));
  }
  return closed();
}

// ---- Survivor sets

// All who sent their lanes; and all but some of them.
void Story::draw_sets() {
  Places all;
  for (uint32_t place = 0; place < server_.size(); ++place) {
    if (server_.has_input(place)) all.push_back(place);
  }
  if (all.empty()) return;
  sets_ = {all};
  Prng& prng = world_->prng();
  if (world_->options().attack.two_sets) {
    // As few as the rest still opens a secret: a device whose holders are fewer would refuse. Seldom more.
    const size_t spare = all.size() > server_.shape().threshold ? all.size() - server_.shape().threshold : 0;
    const size_t most = prng.chance(0.1) ? all.size() - 1 : spare;
    Places honest, fewer = all;
    for (const uint32_t who : followers_) {
      const auto place = place_of(who);
      if (place && std::ranges::binary_search(all, *place)) honest.push_back(*place);
    }
    prng.shuffle(honest);
    honest.resize(std::min(honest.size(), most == 0 ? 0 : 1 + prng.below(most)));
    for (const uint32_t dropped : honest) std::erase(fewer, dropped);
    if (fewer != all && !fewer.empty()) sets_.push_back(fewer);
  }
  confirmations_.resize(sets_.size());
  // Those who are left out hear of the larger set; of the others as many of each, as far as it goes.
  const size_t out = all.size() - sets_.back().size();
  size_t told_all = out;
  for (const uint32_t who : followers_) {
    const auto place = place_of(who);
    const bool is_in = place && std::ranges::binary_search(sets_.back(), *place);
    const bool is_told_all = !is_in || 2 * told_all < followers_.size();
    told_[who] = is_told_all ? 0 : sets_.size() - 1;
    told_all += is_in && is_told_all;
  }
}

SurvivorSet Story::set_of(size_t index) const { return secagg::make_survivors(server_.size(), sets_[index]); }

size_t Story::set_for(uint32_t who) {
  size_t& told = told_[who];
  if (world_->options().attack.fickle) told = world_->prng().below(sets_.size());
  return told;
}

// Accomplices confirm whatever is asked of them.
UnmaskRequest Story::unmask_request(size_t set) const {
  UnmaskRequest request{.session = session(), .survivors = set_of(set), .confirmations = {}};
  std::map<uint32_t, Bytes> by = confirmations_[set];
  for (const auto& [who, client] : accomplices_) {
    const auto place = place_of(who);
    if (!place || !std::ranges::binary_search(sets_[set], *place)) continue;
    const Result<Bytes> signature = world_->signer(who).sign(secagg::confirmation_text(session(), request.survivors));
    if (signature) by[*place] = *signature;
  }
  for (const auto& [place, signature] : by) request.confirmations.push_back({place, signature});
  return request;
}

std::optional<ConfirmRequest> Story::other_set(uint32_t who) const {
  const auto told = told_.find(who);
  if (told == told_.end() || sets_.size() < 2) return std::nullopt;
  return ConfirmRequest{session(), set_of(another_than(told->second))};
}

std::optional<UnmaskRequest> Story::other_unmasking(uint32_t who) const {
  const auto told = told_.find(who);
  if (told == told_.end() || sets_.size() < 2) return std::nullopt;
  return unmask_request(another_than(told->second));
}

}  // namespace coterie::simulation
