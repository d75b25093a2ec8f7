#include "tests/simulation/vertical/vertical_world.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/assert.h"
#include "base/os/file.h"
#include "secure/crypto/sha256.h"
#include "tools/vertical/party.h"
#include "vertical/coordinator/coordinator_client.h"
#include "vertical/stage/wire.h"

namespace coterie::simulation {

using namespace vertical;

namespace {

constexpr Millis kTimeMax{3 * 86'400'000};
constexpr uint64_t kStepsMax = 3'000'000;
constexpr Millis kCommandAgain{2'000};
constexpr size_t kStranger = kVerticalParties.size();
constexpr uint64_t kResultBytesMax = 1 << 20;

void write_plainly(const std::string& path, ByteView bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<VerticalJob> make_jobs(const std::vector<uint32_t>& numbers) {
  std::vector<VerticalJob> jobs;
  for (const uint32_t number : numbers) jobs.push_back(make_vertical_job(number));
  return jobs;
}

}  // namespace

VerticalWorld::VerticalWorld(VerticalOptions options)
    : options_(std::move(options)),
      prng_(Prng::derived(options_.seed, 0x776f726c64)),
      made_(make_jobs(options_.jobs)),
      oracle_(options_.seed, made_),
      parties_(made_.size()),
      coordinator_(*this, directory_ / "jobs") {
  COT_ASSERT(os::make_directories(directory_ / "jobs"));
  for (uint8_t i = 0; i < kVerticalParties.size(); ++i) {
    signers_[i] = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, static_cast<uint8_t>(i + 1))));
    identities_[i] = {
        .names = {kVerticalParties[i]}, .algorithm = KeyAlgorithm::ed25519, .public_key = signers_[i]->public_key()};
  }
  identities_[kStranger] = {.names = {"stranger"}, .algorithm = {}, .public_key = {}};
  for (size_t job = 0; job < made_.size(); ++job) {
    parties_[job] = std::vector<Party>(made_[job].tables.size());
    for (PartyIndex party = 0; party < parties_[job].size(); ++party) {
      Party& made = parties_[job][party];
      made.config = config_of(job, party);
      COT_ASSERT(os::make_directories(made.config.out));
      write_plainly(made.config.manifest_file, as_bytes(made_[job].text));
      write_plainly(made.config.table_file, as_bytes(made_[job].tables[party]));
    }
  }
}

VerticalWorld::~VerticalWorld() = default;

PartyConfig VerticalWorld::config_of(size_t job, PartyIndex party) const {
  const std::string folder = directory_ / (std::to_string(job) + "." + kVerticalParties[party]);
  PartyConfig config;
  config.is_label_party = party == 0;
  if (made_[job].manifest.is_ring()) config.name = kVerticalParties[party];
  config.manifest_file = folder + "/manifest.json";
  config.table_file = folder + "/table.csv";
  config.approved = made_[job].digest;
  config.coordinator = CoordinatorDoor{.host = "coordinator", .port = 1, .tls = {}};
  config.out = folder;
  return config;
}

CoordinatorLimits VerticalWorld::limits() const {
  // Five programs are each killed four times at most, and are away for a quarter of an hour each time: 5 hours.
  return {.pairs_max = options_.pairs_max, .resume_time = Millis(6 * 3'600'000)};
}

Millis VerticalWorld::some_delay() {
  return Millis(prng_.below(static_cast<uint64_t>(options_.delay_max.count()) + 1));
}

std::shared_ptr<Connection> VerticalWorld::connect(const SimulatedProcess& from) {
  return coordinator_.take(from, std::make_shared<Connection>(queue_, prng_, options_.delay_max));
}

void VerticalWorld::draw(size_t job, uint32_t who, std::span<uint8_t> bytes) const {
  Prng drawn = Prng::derived(options_.jobs[job], 0x64726177 + who);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(drawn.next());
}

// ---- Programs and people

SimulatedProcess& VerticalWorld::begin(ProcessTerms terms, std::function<void()> body, std::function<void()> ended) {
  processes_.push_back(std::make_unique<SimulatedProcess>(*this, std::move(terms), std::move(body), std::move(ended)));
  SimulatedProcess& process = *processes_.back();
  queue_.after(Millis(0), [&process] {
    if (!process.has_ended()) process.begin();
  });
  return process;
}

void VerticalWorld::command(size_t job, const PeerIdentity& who, Request request, std::function<void()> then) {
  struct Heard {
    bool is_to_repeat = true;
  };
  const auto heard = std::make_shared<Heard>();
  const CoordinatorDoor door{.host = "coordinator", .port = 1, .tls = {}};
  begin(
      {.identity = who, .job = job, .party = {}},
      [door, request, heard] {
        const Result<JobView> view = ask_coordinator(door, request, {.time = Millis(30'000)});
        const ErrorCode code = view ? ErrorCode::internal : view.error().code();
        heard->is_to_repeat = code == ErrorCode::unavailable || code == ErrorCode::timed_out;
      },
      [this, job, who, request, heard, then = std::move(then)] {
        if (!heard->is_to_repeat) return then();
        queue_.after(kCommandAgain, [this, job, who, request, then] { command(job, who, request, then); });
      });
}

void VerticalWorld::submit(size_t job) {
  const VerticalJob& made = made_[job];
  const auto approve_by = [this, job, &made](PartyIndex party) {
    Request request{.kind = RequestKind::approve, .job = made.manifest.job, .digest = made.digest};
    request.signature = *signers_[party]->sign(approval_message(made.manifest.job, made.digest));
    queue_.after(Millis(prng_.below(5'000)),
                 [this, job, party, request] { command(job, identities_[party], request, [] {}); });
  };
  const PartyIndex by = static_cast<PartyIndex>(prng_.below(parties_[job].size()));
  command(job, identities_[by], {.kind = RequestKind::submit, .manifest = made.text, .job = made.manifest.job},
          [this, job, approve_by] {
            for (PartyIndex party = 0; party < parties_[job].size(); ++party) approve_by(party);
          });
}

void VerticalWorld::start_party(size_t job, PartyIndex party) {
  Party& started = parties_[job][party];
  if (queue_.now() < started.away_until) {
    queue_.at(started.away_until, [this, job, party] { start_party(job, party); });
    return;
  }
  if (options_.mutant == VerticalMutant::stale_position) {
    restore_old_checkpoint(started);
  } else {
    started.checkpoints.clear();
  }
  ProcessTerms terms{.identity = identities_[party], .job = job, .party = party};
  if (started.kills < options_.kills_max && prng_.chance(options_.kill_chance)) {
    terms.effects_until_killed = 1 + prng_.below(options_.kill_effects_max);
  }
  started.life = &begin(
      std::move(terms),
      [&started] {
        const Result<PartyReport> report = run_party(started.config, PartyTask::training);
        started.has_ended = report || report.error().reason() == refusal_name(vertical::Refusal::job_over);
      },
      [this, job, party] { party_ended(job, party); });
}

void VerticalWorld::party_ended(size_t job, PartyIndex party) {
  Party& ended = parties_[job][party];
  if (ended.life->is_killed()) {
    ++ended.kills;
    ++oracle_.verdict().kills;
    if (made_[job].manifest.is_ring()) ++oracle_.verdict().ring_kills;
  }
  ended.life = nullptr;
  if (ended.has_ended) return;
  // Somebody, or what watches over the process, starts it again.
  queue_.after(Millis(prng_.below(static_cast<uint64_t>(options_.restart_max.count()))),
               [this, job, party] { start_party(job, party); });
}

void VerticalWorld::kill(size_t job, PartyIndex party) {
  if (parties_[job][party].life != nullptr) parties_[job][party].life->kill();
}

uint64_t VerticalWorld::effects_of_coordinator() {
  constexpr uint64_t kEffectsMax = 40;
  if (coordinator_kills_ >= options_.kills_max || !prng_.chance(options_.kill_chance / 2)) return 0;
  return 1 + prng_.below(kEffectsMax);
}

void VerticalWorld::coordinator_killed() {
  ++coordinator_kills_;
  ++oracle_.verdict().coordinator_kills;
  queue_.after(Millis(1 + prng_.below(static_cast<uint64_t>(options_.restart_max.count()))),
               [this] { coordinator_.start(); });
}

// ---- What happens to them

void VerticalWorld::piece_carried() {
  ++pieces_;
  for (const PlannedFault& fault : options_.faults) {
    // Behind what carries it now.
    if (fault.at_piece == pieces_) queue_.after(Millis(0), [this, &fault] { strike(fault); });
  }
}

void VerticalWorld::strike(const PlannedFault& fault) {
  const auto [at, what, job, party] = fault;
  VerticalVerdict& verdict = oracle_.verdict();
  const std::vector<std::shared_ptr<Connection>> links = coordinator_.links_of(job);
  const std::shared_ptr<Connection> link = links.empty() ? nullptr : links[prng_.below(links.size())];
  const auto ask = [this, job = job, party = party](RequestKind kind, std::function<void()> then) {
    command(job, identities_[party], {.kind = kind, .job = made_[job].manifest.job}, std::move(then));
  };
  switch (what) {
    case VerticalFault::cut:
      if (link) {
        link->cut();
        ++verdict.cuts;
      }
      break;
    case VerticalFault::stall:
      if (link) {
        link->stall(Millis(1'000 + prng_.below(100'000)));
        ++verdict.stalls;
      }
      break;
    case VerticalFault::kill_party: kill(job, party); break;
    case VerticalFault::kill_all:
      for (PartyIndex one = 0; one < parties_[job].size(); ++one) kill(job, one);
      break;
    case VerticalFault::kill_coordinator: coordinator_.kill(); break;
    case VerticalFault::pause:
      ++verdict.pauses;
      ask(RequestKind::pause,
          [this, ask] { queue_.after(Millis(prng_.below(1'200'000)), [ask] { ask(RequestKind::resume, [] {}); }); });
      break;
    case VerticalFault::cancel:
      oracle_.may_be(job, JobState::cancelled, party == 0 ? "label_party_cancelled" : "feature_party_cancelled");
      ask(RequestKind::cancel, [] {});
      break;
    case VerticalFault::abandon:
      for (const char* const reason : {"party_lost", "coordinator_lost"}) {
        oracle_.may_be(job, JobState::failed, reason);
      }
      parties_[job][party].away_until = queue_.now() + 2 * limits().resume_time;
      kill(job, party);
      break;
  }
}

// ---- What parties write

bool VerticalWorld::party_writes(size_t job, PartyIndex party, const std::string& path, ByteView bytes) {
  constexpr size_t kMagicBytes = 4;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "meetings" && !bytes.empty()) oracle_.met(job, party);
  if (!name.starts_with("training.") || bytes.size() <= kMagicBytes) return true;
  oracle_.wrote_checkpoint(job, party, WireReader(bytes.subspan(kMagicBytes)).u32());
  return is_checkpoint_written(parties_[job][party], path, bytes);
}

bool VerticalWorld::is_checkpoint_written(Party& party, const std::string& path, ByteView bytes) const {
  constexpr size_t kUnitsLate = 2, kKeptOneIn = 3;
  if (options_.mutant == VerticalMutant::none) return true;
  party.checkpoints.emplace_back(path, Bytes(bytes.begin(), bytes.end()));
  const size_t count = party.checkpoints.size();
  if (options_.mutant == VerticalMutant::checkpoints_forgotten) return count % kKeptOneIn == 0;
  if (options_.mutant != VerticalMutant::checkpoint_after_words) return true;
  if (count > kUnitsLate) {
    const auto& [late, content] = party.checkpoints[count - 1 - kUnitsLate];
    write_plainly(late, content);
  }
  return false;
}

void VerticalWorld::restore_old_checkpoint(const Party& party) const {
  if (party.checkpoints.size() < 3) return;
  const auto& [path, bytes] = party.checkpoints[party.checkpoints.size() - 3];
  for (const auto& [other, newer] : party.checkpoints) {
    if (os::exists(other)) COT_ASSERT(os::remove_file(other));
  }
  if (os::exists(os::parent_directory(path))) write_plainly(path, bytes);
}

// ---- The whole

bool VerticalWorld::is_over() const {
  return std::ranges::all_of(parties_, [](const auto& all) { return std::ranges::all_of(all, &Party::has_ended); });
}

Digest VerticalWorld::model_of(size_t job) const {
  std::vector<std::string> files;
  for (const Party& party : parties_[job]) files.push_back(party.config.out + "/model.part");
  files.push_back(parties_[job][0].config.out + "/scores.csv");
  Bytes all;
  for (const std::string& file : files) {
    const Result<Bytes> bytes = os::read_file(file, kResultBytesMax);
    if (!bytes) return {};
    const Digest digest = sha256(*bytes);
    all.insert(all.end(), digest.bytes.begin(), digest.bytes.end());
  }
  return sha256(all);
}

std::vector<std::string> VerticalWorld::scores_of(size_t job) const {
  std::vector<std::string> lines;
  std::ifstream file(parties_[job][0].config.out + "/scores.csv");
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

void VerticalWorld::check_pooled(uint32_t job, const VerticalWorld& undisturbed_world) {
  const VerticalManifest& manifest = undisturbed_world.made_[0].manifest;
  if (!manifest.is_ring() || manifest.trees.goss) return;
  VerticalWorld world(undisturbed(pooled(job)));
  (void)world.run();
  const std::vector<std::string> scores = world.scores_of(0);
  if (scores.empty() || scores != undisturbed_world.scores_of(0)) {
    oracle_.problem(&VerticalVerdict::wrong, "trees of several parties score otherwise than those of one table");
  }
}

const Digest& VerticalWorld::undisturbed_model(uint32_t job) {
  // Once a job: nothing of a world but its jobs is in it.
  static std::map<uint32_t, Digest> models;
  const auto known = models.find(job);
  if (known != models.end()) return known->second;
  VerticalWorld world(undisturbed(job));
  const VerticalVerdict verdict = world.run();
  if (!verdict.clean()) oracle_.problem(&VerticalVerdict::wrong, "undisturbed, of " + verdict.first_problem);
  check_pooled(job, world);
  return models.emplace(job, world.model_of(0)).first->second;
}

VerticalVerdict VerticalWorld::run() {
  const bool is_disturbed = made_.size() > 1;
  coordinator_.start();
  for (size_t job = 0; job < made_.size(); ++job) {
    queue_.after(Millis(prng_.below(1'000)), [this, job] { submit(job); });
    for (PartyIndex party = 0; party < parties_[job].size(); ++party) {
      queue_.after(Millis(prng_.below(10'000)), [this, job, party] { start_party(job, party); });
    }
  }
  if (options_.has_stranger) {
    queue_.after(Millis(prng_.below(20'000)), [this] {
      for (const RequestKind kind : {RequestKind::join, RequestKind::cancel, RequestKind::status}) {
        command(0, identities_[kStranger], {.kind = kind, .job = made_[0].manifest.job, .digest = made_[0].digest},
                [] {});
      }
    });
  }
  while (!is_over() && queue_.now() < Instant(kTimeMax) && queue_.steps() < kStepsMax && queue_.step()) {
  }
  oracle_.verdict().events = queue_.steps();
  for (size_t job = 0; job < made_.size(); ++job) {
    const Digest model = model_of(job);
    oracle_.ended(job, model, is_disturbed ? undisturbed_model(options_.jobs[job]) : model);
    for (const Party& party : parties_[job]) {
      if (!party.has_ended) oracle_.problem(&VerticalVerdict::stuck, "a party has not heard how its job ended");
    }
  }
  return oracle_.verdict();
}

VerticalVerdict simulate_vertical(const VerticalOptions& options) { return VerticalWorld(options).run(); }

}  // namespace coterie::simulation
