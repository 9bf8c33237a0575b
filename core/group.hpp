// Group: the ranks of a communicator, its message contexts, and what it knows about its health.
#pragma once

#include <godwit/collective.hpp>
#include <godwit/communicator.hpp>
#include <godwit/error.hpp>
#include <godwit/types.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace godwit::core {

/// What a collective's messages carry in WireHeader::signature: equal exactly for calls that belong together
/// (up to hashing). Never 0. `lengths`: hash of what else all ranks must have alike: lengths
/// of blocks, measured tables.
std::uint32_t signature_of(const CollectiveCall& call, std::uint64_t lengths = 0) noexcept;
/// "allreduce of 1000 float, sum" or "broadcast of 8 uint8 from root 2".
std::string describe(const CollectiveCall& call);

/// A collective that this rank has started.
struct CollectiveRecord {
  std::uint64_t sequence = 0;
  std::uint32_t signature = 0;  // 0: the entry is empty
  CollectiveCall call;
};

/// Contexts from here on belong to the agreement of from_ranks() itself and to nothing that lasts.
inline constexpr std::uint32_t first_temporary_context = 0x80000000U;

struct Group {
  /// Even: user messages. context + 1: collectives.
  std::uint32_t context = 0;
  Rank rank = 0;
  bool broken = false;                   // an abort has been seen: every operation fails with `error`
  bool identity = false;                 // ranks of the group are ranks of the job
  std::vector<Rank> world;               // rank in the group -> rank in the job
  std::unordered_map<Rank, Rank> local;  // the inverse, when it is not the identity
  Status error;

  std::uint64_t collective_sequence = 0;         // of the next collective
  std::array<CollectiveRecord, 64> collectives;  // the last ones, by sequence % 64
  std::map<std::uint16_t, ActiveMessageHandler> handlers;

  int size() const noexcept { return static_cast<int>(world.size()); }
  Rank to_world(Rank rank_in_group) const noexcept {
    return identity ? rank_in_group : world[static_cast<std::size_t>(rank_in_group)];
  }
  /// any_source if it is no member.
  Rank to_group(Rank rank_in_job) const noexcept {
    if (identity) return rank_in_job < size() ? rank_in_job : any_source;
    const auto found = local.find(rank_in_job);
    return found == local.end() ? any_source : found->second;
  }
  /// Takes the next sequence number and remembers the call, for the detection of mismatches.
  std::uint64_t begin_collective(const CollectiveCall& call, std::uint32_t signature) noexcept;
  /// The record of a sequence number, if it is among the last 64.
  const CollectiveRecord* find_collective(std::uint64_t sequence) const noexcept;
};

/// `world`: ranks in the job; this process is world[rank].
Group make_group(std::uint32_t context, Rank rank, std::vector<Rank> world);

}  // namespace godwit::core
