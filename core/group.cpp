#include "core/group.hpp"

#include <fmt/format.h>

#include "core/text.hpp"

namespace godwit::core {

std::uint32_t signature_of(const CollectiveCall& call, std::uint64_t lengths) noexcept {
  struct Key {
    std::uint64_t count;
    std::uint32_t root;
    std::uint8_t collective, type, op, pad;
  } key{call.count ^ lengths,
        is_rooted(call.collective) ? static_cast<std::uint32_t>(call.root) : 0,
        static_cast<std::uint8_t>(call.collective),
        static_cast<std::uint8_t>(call.type),
        is_reduction(call.collective) ? static_cast<std::uint8_t>(call.op) : std::uint8_t{0},
        0};
  const std::uint64_t hash = hash64({reinterpret_cast<const char*>(&key), sizeof key});
  const auto folded = static_cast<std::uint32_t>(hash ^ (hash >> 32));
  return folded == 0 ? 1 : folded;
}

std::string describe(const CollectiveCall& call) {
  switch (call.collective) {
    case Collective::barrier: return "barrier";
    case Collective::allreduce:
    case Collective::reduce_scatter:
    case Collective::scan:
    case Collective::exscan:
    case Collective::reduce_scatterv:
      return fmt::format("{} of {} {}, {}", to_string(call.collective), call.count, to_string(call.type),
                         to_string(call.op));
    case Collective::reduce:
      return fmt::format("reduce of {} {}, {}, to root {}", call.count, to_string(call.type), to_string(call.op),
                         call.root);
    case Collective::broadcast:
    case Collective::scatter:
      return fmt::format("{} of {} {} from root {}", to_string(call.collective), call.count, to_string(call.type),
                         call.root);
    case Collective::gather:
      return fmt::format("gather of {} {} to root {}", call.count, to_string(call.type), call.root);
    case Collective::allgatherv: return fmt::format("allgatherv of {} {} in all", call.count, to_string(call.type));
    case Collective::gatherv: return fmt::format("gatherv of {} to root {}", to_string(call.type), call.root);
    case Collective::scatterv: return fmt::format("scatterv of {} from root {}", to_string(call.type), call.root);
    case Collective::alltoallv: return fmt::format("alltoallv of {}", to_string(call.type));
    case Collective::allgather:
    case Collective::alltoall:
      return fmt::format("{} of {} {} per rank", to_string(call.collective), call.count, to_string(call.type));
  }
  return "unknown collective";
}

std::uint64_t Group::begin_collective(const CollectiveCall& call, std::uint32_t signature) noexcept {
  const std::uint64_t sequence = collective_sequence++;
  collectives[sequence % collectives.size()] = {sequence, signature, call};
  return sequence;
}

const CollectiveRecord* Group::find_collective(std::uint64_t sequence) const noexcept {
  const CollectiveRecord& record = collectives[sequence % collectives.size()];
  return record.signature != 0 && record.sequence == sequence ? &record : nullptr;
}

Group make_group(std::uint32_t context, Rank rank, std::vector<Rank> world) {
  Group group;
  group.context = context;
  group.rank = rank;
  group.identity = true;
  for (std::size_t i = 0; i < world.size(); ++i) group.identity = group.identity && world[i] == static_cast<Rank>(i);
  if (!group.identity)
    for (std::size_t i = 0; i < world.size(); ++i) group.local.emplace(world[i], static_cast<Rank>(i));
  group.world = std::move(world);
  return group;
}

}  // namespace godwit::core
