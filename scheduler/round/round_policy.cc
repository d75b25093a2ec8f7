#include "scheduler/round/round_policy.h"

#include <algorithm>

namespace coterie {

bool RoundPolicy::may_choose(const WaitingPool& pool) const {
  const RoundSettings& rounds = settings_.rounds;
  if (pool.nodes < rounds.nodes_min) return false;
  if (rounds.is_buffered()) return pool.devices > 0;
  const bool is_full = pool.devices >= rounds.pool_target();
  return is_full || (pool.is_overdue && pool.devices >= rounds.goal_count_min);
}

CollectedVerdict RoundPolicy::judge(const CollectedUpdates& updates) const {
  const RoundSettings& rounds = settings_.rounds;
  // With masks a round that has its goal waits for more: every device that stays helps to open them.
  const bool is_reached = updates.accepted >= rounds.goal_count && settings_.privacy.level == SecurityLevel::none;
  // Hints of accepted updates get lost, so only a count that was asked for after the deadline ends a thin round.
  if (!is_reached && !(updates.is_late && updates.is_counted)) return CollectedVerdict::wait;
  // A buffer waits for its first update as a synchronous round waits for its devices: nobody's fault, no attempt less.
  if (updates.accepted == 0 && !rounds.is_buffered()) return CollectedVerdict::fail_attempt;
  return updates.accepted < rounds.goal_count_min ? CollectedVerdict::let_more_in : CollectedVerdict::freeze;
}

CollectedVerdict RoundPolicy::judge_last(uint64_t accepted) const {
  return accepted >= std::max(1u, settings_.rounds.goal_count_min) ? CollectedVerdict::freeze
                                                                   : CollectedVerdict::fail_attempt;
}

uint32_t RoundPolicy::ticket_count(const TicketedAttempt& attempt) const {
  const RoundSettings& rounds = settings_.rounds;
  const uint32_t again = attempt.extensions * rounds.ticket_count();
  if (!rounds.is_buffered()) return again + rounds.ticket_count();
  const bool is_first = attempt.round_number == 1 && attempt.attempt == 1;
  // However long a buffer waits, it asks no more again than are to be at work.
  return std::min(again, rounds.first_ticket_count()) +
         (is_first ? rounds.first_ticket_count() : rounds.ticket_count());
}

}  // namespace coterie
