#include "runtime/placement.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "core/log.hpp"
#include "pmi/cores.hpp"
#include "pmi/rank_list.hpp"

namespace godwit::runtime {

namespace {

// Beyond this the launcher's word on who shares a host must do.
constexpr int max_counted_ranks = 256;

bool here(const core::Card& own, const core::Card& other) { return own.host.boot == other.host.boot; }

// False where several ranks of a host might answer yes, or none.
bool is_first_of_host(const core::JobInfo& job, const core::Card& own, core::PeerDirectory& directory) {
  if (job.local_size > 0) return job.local_rank == 0;
  if (job.size > max_counted_ranks) return false;
  for (Rank rank = 0; rank < job.rank; ++rank)
    if (here(own, directory.card(rank))) return false;
  return true;
}

void add_if_here(std::vector<Place>& places, Rank rank, const core::Card& own, core::PeerDirectory& directory) {
  const core::Card& card = directory.card(rank);
  if (here(own, card)) places.push_back({rank, card.core});
}

// For the first rank of a host. Most launchers fill one node after the other; else all cards of a small job are read.
std::vector<Place> places_here(const core::JobInfo& job, const core::Card& own, core::PeerDirectory& directory) {
  std::vector<Place> places;
  const Rank end = std::min(job.rank + std::min(job.local_size, max_counted_ranks), job.size);
  for (Rank rank = job.rank; rank < end; ++rank) add_if_here(places, rank, own, directory);
  if (static_cast<int>(places.size()) >= std::max(job.local_size, 1) || job.size > max_counted_ranks) return places;
  places.clear();
  for (Rank rank = 0; rank < job.size; ++rank) add_if_here(places, rank, own, directory);
  return places;
}

}  // namespace

bool is_oversubscribed(const core::JobInfo& job, const core::Card& own, core::PeerDirectory& directory) {
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (job.local_size > online) return true;
  if (job.local_size > 0 && job.local_size <= own.cpu_count) return false;
  if (job.size > max_counted_ranks) return false;
  int count = 0;
  int sharing = 0;
  for (Rank rank = 0; rank < job.size; ++rank) {
    const core::Card& card = directory.card(rank);
    if (!here(own, card)) continue;
    ++count;
    if (card.cpu_hash == own.cpu_hash) ++sharing;
  }
  return count > online || sharing > own.cpu_count;
}

std::optional<SharedCore> find_shared_core(std::span<const Place> places) {
  std::map<int, std::vector<Rank>> cores;
  for (const Place& place : places)
    if (place.core != core::no_core) cores[place.core].push_back(place.rank);
  std::optional<SharedCore> found;
  for (auto& [core, ranks] : cores) {
    if (ranks.size() < 2) continue;
    if (found)
      ++found->more;
    else
      found = SharedCore{std::move(ranks), core, 0, static_cast<int>(cores.size())};
  }
  return found;
}

std::string advice(const SharedCore& shared, int cores) {
  const int idle = cores - shared.used;
  if (idle <= 0) return {};
  return fmt::format(
      "{} are bound to one core (CPU {}){}, while {} of this host's {} cores {} no rank bound to {}: they take turns, "
      "and every message waits for the other's turn. Give each rank a core: mpirun --bind-to core --map-by core, srun "
      "--cpu-bind=cores, godwit run --bind core; a taskset around the launcher limits all its ranks",
      pmi::rank_list(shared.ranks), shared.core,
      shared.more > 0 ? fmt::format(" and so are those of {} more", shared.more) : "", idle, cores,
      idle == 1 ? "has" : "have", idle == 1 ? "it" : "them");
}

void warn_of_shared_cores(core::Log& log, const core::JobInfo& job, const core::Card& own,
                          core::PeerDirectory& directory) {
  if (job.size == 1 || !is_first_of_host(job, own, directory)) return;
  const auto shared = find_shared_core(places_here(job, own, directory));
  if (!shared) return;
  try {
    const std::string words = advice(*shared, pmi::core_count());
    if (!words.empty()) log.warn("{}", words);
  } catch (const Error& error) {
    log.info("{} are bound to one core (CPU {}); whether others are idle is not known: {}",
             pmi::rank_list(shared->ranks), shared->core, error.what());
  }
}

}  // namespace godwit::runtime
