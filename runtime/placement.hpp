// Where the launcher has put the ranks of this host, by their cards: are there more than CPUs for them, do some share
// a core while others are idle? Functions over tables. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/bootstrap.hpp"
#include "core/card.hpp"
#include "core/worker.hpp"

namespace godwit::core {
class Log;
}

namespace godwit::runtime {

/// More ranks on this host than CPUs that they may use? Launchers bind ranks: those with equal masks share.
bool is_oversubscribed(const core::JobInfo& job, const core::Card& own, core::PeerDirectory& directory);

/// Which core a rank is bound to, as its card says; core::no_core: to none.
struct Place {
  Rank rank = 0;
  std::uint16_t core = core::no_core;
};

/// Ranks that are bound to one and the same core.
struct SharedCore {
  std::vector<Rank> ranks;  // ascending
  int core = 0;             // its first CPU
  int more = 0;             // other cores that are shared like this
  int used = 0;             // cores with at least one rank bound to them
  friend bool operator==(const SharedCore&, const SharedCore&) = default;
};

/// The first one, if there is any.
std::optional<SharedCore> find_shared_core(std::span<const Place> places);
/// What to tell the user on a host with `cores` cores for the job; empty when none of them is idle.
std::string advice(const SharedCore& shared, int cores);

/// Warns, once for each host, of ranks that share a core without need. Costs a look at the cards of this host's ranks
/// on one of them, at most some hundred.
void warn_of_shared_cores(core::Log& log, const core::JobInfo& job, const core::Card& own,
                          core::PeerDirectory& directory);

}  // namespace godwit::runtime
