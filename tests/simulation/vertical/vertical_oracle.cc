#include "tests/simulation/vertical/vertical_oracle.h"

#include <algorithm>

#include "vertical/psi/psi_wire.h"

namespace coterie::simulation {

using namespace vertical;

namespace {

// Whether the second may be stored behind the first.
bool may_follow(JobState before, JobState after) {
  switch (before) {
    case JobState::created: return after != JobState::running && after != JobState::paused && after != JobState::done;
    case JobState::approved: return after != JobState::created && after != JobState::done;
    case JobState::running: return after != JobState::created && after != JobState::approved;
    case JobState::paused: return after != JobState::created;
    case JobState::done:
    case JobState::failed:
    case JobState::cancelled: return false;
  }
  return false;
}

}  // namespace

VerticalVerdict& VerticalVerdict::operator+=(const VerticalVerdict& other) {
  for (uint64_t VerticalVerdict::*const field :
       {&VerticalVerdict::jobs,         &VerticalVerdict::done,       &VerticalVerdict::cancelled,
        &VerticalVerdict::given_up,     &VerticalVerdict::kills,      &VerticalVerdict::coordinator_kills,
        &VerticalVerdict::cuts,         &VerticalVerdict::stalls,     &VerticalVerdict::pauses,
        &VerticalVerdict::meetings,     &VerticalVerdict::replayed,   &VerticalVerdict::events,
        &VerticalVerdict::wrong,        &VerticalVerdict::stuck,      &VerticalVerdict::unexplained,
        &VerticalVerdict::replayed_far, &VerticalVerdict::unapproved, &VerticalVerdict::off_list,
        &VerticalVerdict::illegal,      &VerticalVerdict::untrue,     &VerticalVerdict::leaked,
        &VerticalVerdict::dealt_alike,  &VerticalVerdict::mismatched, &VerticalVerdict::rings,
        &VerticalVerdict::ring_kills}) {
    this->*field += other.*field;
  }
  said.insert(other.said.begin(), other.said.end());
  trace = (trace ^ other.trace) * 0x100000001b3;
  if (first_problem.empty()) first_problem = other.first_problem;
  return *this;
}

VerticalOracle::VerticalOracle(uint64_t seed, const std::vector<VerticalJob>& jobs) : seed_(seed), jobs_(jobs) {
  verdict_.jobs = jobs.size();
}

std::optional<size_t> VerticalOracle::index_of(const VerticalJobId& job) const {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].manifest.job == job) return i;
  }
  return std::nullopt;
}

std::string VerticalOracle::name(size_t job) const {
  return "job " + std::to_string(job) + " (" + std::string(vertical_model_name(jobs_[job].manifest.model)) + ")";
}

void VerticalOracle::note(uint64_t value) { verdict_.trace = (verdict_.trace ^ value) * 0x100000001b3; }

void VerticalOracle::problem(uint64_t VerticalVerdict::*kind, const std::string& what) {
  ++(verdict_.*kind);
  if (verdict_.first_problem.empty()) verdict_.first_problem = "seed " + std::to_string(seed_) + ": " + what;
}

const JobRecord* VerticalOracle::record(size_t job) const {
  const auto found = records_.find(job);
  return found == records_.end() ? nullptr : &found->second;
}

void VerticalOracle::stored(const JobRecord& record) {
  const std::optional<size_t> job = index_of(record.job);
  if (!job) return problem(&VerticalVerdict::illegal, "a job is stored that nobody has submitted");
  const JobRecord* const before = this->record(*job);
  const bool is_new = before == nullptr || before->state != record.state;
  if (before == nullptr ? record.state != JobState::created : is_new && !may_follow(before->state, record.state)) {
    problem(&VerticalVerdict::illegal, name(*job) + " is " + std::string(job_state_name(record.state)) + " behind " +
                                           std::string(before ? job_state_name(before->state) : "nothing"));
  }
  note(static_cast<uint64_t>(record.state) + 16 * *job);
  records_[*job] = record;
}

void VerticalOracle::told(ByteView answer) {
  const std::span<const uint8_t, kCoordinatorHeaderBytes> header(answer.data(), kCoordinatorHeaderBytes);
  const Result<JobView> view = read_answer(header, answer.subspan(kCoordinatorHeaderBytes));
  if (!view) return;  // a refusal
  const std::optional<size_t> job = index_of(view->job);
  const JobRecord* const record = job ? this->record(*job) : nullptr;
  if (record == nullptr || record->state != view->state || record->reason != view->reason) {
    problem(&VerticalVerdict::untrue,
            "somebody is told that a job is " + std::string(job_state_name(view->state)) + ", which is not stored");
  }
}

void VerticalOracle::paired(size_t job, Way way) {
  for (const Way one : {way, Way{.from = way.to, .to = way.from}}) words_[{job, one}] = {};
  buckets_[job].repeated.clear();
}

void VerticalOracle::matcher_begins(size_t job) {
  const auto parties = static_cast<PartyIndex>(jobs_[job].manifest.parties.size());
  for (PartyIndex party = 0; party < parties; ++party) paired(job, {.from = party, .to = kMatcher});
  matchers_.insert_or_assign(job, MatcherOracle(parties));
}

void VerticalOracle::carried(size_t job, Way way, ByteView bytes, std::optional<size_t> to_job) {
  if (to_job != job) problem(&VerticalVerdict::leaked, name(job) + ": words reach somebody outside of the job");
  const JobRecord* const record = this->record(job);
  if (record == nullptr || !record->is_approved() || record->manifest != jobs_[job].digest) {
    problem(&VerticalVerdict::unapproved, name(job) + ": a party says something before all have approved");
  } else if (record->state != JobState::running) {
    problem(&VerticalVerdict::leaked,
            name(job) + ": words are carried while it is " + std::string(job_state_name(record->state)));
  }
  note(bytes.size() + 1'000'000 * (job << 16 | way.from << 8 | way.to));
  Words& words = words_[{job, way}];
  words.unread.insert(words.unread.end(), bytes.begin(), bytes.end());
  read_frames(job, way, words);
}

void VerticalOracle::read_frames(size_t job, Way way, Words& words) {
  const auto number = [&words](size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{words.unread[at + i]} << (8 * i);
    return value;
  };
  while (!words.is_broken && words.unread.size() >= kFrameHeaderBytes) {
    const auto stage = static_cast<StageId>(number(0, 2));
    const auto kind = static_cast<uint16_t>(number(2, 2));
    const size_t size = kFrameHeaderBytes + number(4, 4);
    if (!is_on_list(jobs_[job].manifest, way, stage, kind) || size > kFrameHeaderBytes + kMessageBytesMax) {
      words.is_broken = true;
      return problem(&VerticalVerdict::off_list, name(job) + ": party " + std::to_string(way.from) + " says kind " +
                                                     std::to_string(kind) + " to " + std::to_string(way.to) +
                                                     " in the " + std::string(stage_name(stage)));
    }
    if (words.unread.size() < size) return;
    verdict_.said.insert({.model = jobs_[job].manifest.model, .way = way, .stage = stage, .kind = kind});
    const bool is_masked = stage == StageId::matching && kind == static_cast<uint16_t>(PsiKind::masked);
    // A ring's matching begins anew in each meeting.
    if (is_masked && way.from == 0 && !jobs_[job].manifest.is_ring()) {
      said_bucket(job, static_cast<uint32_t>(number(kFrameHeaderBytes, 4)));
    }
    if (stage == StageId::matching) {
      read_matcher(job, way, kind, ByteView(words.unread).subspan(kFrameHeaderBytes, size - kFrameHeaderBytes));
    }
    words.unread.erase(words.unread.begin(), words.unread.begin() + static_cast<ptrdiff_t>(size));
  }
}

void VerticalOracle::read_matcher(size_t job, Way way, uint16_t kind, ByteView payload) {
  if (way.to == kMatcher) matchers_.at(job).told(way.from, kind, payload);
  if (way.from != kMatcher || matchers_.at(job).is_answer_to(way.to, payload)) return;
  problem(&VerticalVerdict::mismatched, name(job) + ": the matcher names party " + std::to_string(way.to) +
                                            " other places than those of the tags that all lists have");
}

void VerticalOracle::said_bucket(size_t job, uint32_t bucket) {
  // The one that was cut off, and the one before it, whose end the feature party may have missed.
  constexpr size_t kRepeatedMax = 2;
  Buckets& buckets = buckets_[job];
  if (bucket >= buckets.begun) {
    buckets.begun = bucket + 1;
    return;
  }
  if (!buckets.repeated.insert(bucket).second) return;
  ++verdict_.replayed;
  if (buckets.repeated.size() > kRepeatedMax) {
    problem(&VerticalVerdict::replayed_far, name(job) + ": its matching repeats more than one finished bucket");
  }
}

void VerticalOracle::dealt(size_t job, PartyIndex to, ByteView first_frame) {
  Bytes words(first_frame.begin(), first_frame.end());
  words.push_back(static_cast<uint8_t>(to));
  const auto [known, is_new] = dealt_.emplace(std::move(words), job);
  if (!is_new && known->second != job) {
    problem(&VerticalVerdict::dealt_alike, name(job) + " is dealt what " + name(known->second) + " was");
  }
}

void VerticalOracle::met(size_t job, PartyIndex party) {
  ++verdict_.meetings;
  progress_[{job, party}].replayed = 0;
}

void VerticalOracle::wrote_checkpoint(size_t job, PartyIndex party, uint32_t unit) {
  Progress& progress = progress_[{job, party}];
  note(unit);
  if (unit > progress.unit_max) {
    progress.unit_max = unit;
    return;
  }
  ++verdict_.replayed;
  if (++progress.replayed > 1) {
    problem(&VerticalVerdict::replayed_far,
            name(job) + ": party " + std::to_string(party) + " has more than one unit once more");
  }
}

void VerticalOracle::ended(size_t job, const Digest& model, const Digest& undisturbed) {
  const JobRecord* const record = this->record(job);
  if (record == nullptr || !is_over(record->state)) {
    return problem(&VerticalVerdict::stuck,
                   name(job) + " has no end: " +
                       (record ? std::string(job_state_name(record->state)) + " " + record->reason : "not submitted"));
  }
  if (record->state == JobState::done) {
    ++verdict_.done;
    if (jobs_[job].manifest.is_ring()) ++verdict_.rings;
    if (model != undisturbed) problem(&VerticalVerdict::wrong, name(job) + " ends with another model");
    return;
  }
  ++(record->state == JobState::cancelled ? verdict_.cancelled : verdict_.given_up);
  if (!explained_[job].contains({record->state, record->reason})) {
    problem(&VerticalVerdict::unexplained, name(job) + " is " + std::string(job_state_name(record->state)) + " (" +
                                               record->reason + "), and nothing explains it");
  }
}

}  // namespace coterie::simulation
