// New communicators: members agree on a context that none of them uses.
#include <godwit/communicator.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"
#include "runtime/communicator_state.hpp"
#include "runtime/context_state.hpp"

namespace godwit {

namespace {

using detail::CommunicatorState;
using detail::ContextState;

using core::first_temporary_context;

std::shared_ptr<ContextState> keep_alive(const std::shared_ptr<CommunicatorState>& parent) {
  // The world's handle shares ownership of the context; others hold it themselves.
  if (parent->keep) return parent->keep;
  return std::shared_ptr<ContextState>(parent, &parent->context);
}

std::shared_ptr<CommunicatorState> make_child(const std::shared_ptr<CommunicatorState>& parent, std::uint32_t context,
                                              Rank rank, std::vector<Rank> world) {
  if (context >= first_temporary_context)
    throw Error(ErrorCode::no_memory, "a billion communicators have been made: the context numbers are used up");
  return std::make_shared<CommunicatorState>(parent->context, keep_alive(parent),
                                             core::make_group(context, rank, std::move(world)));
}

// Threads of a member may be making several communicators at once: a number that one of them has taken meanwhile is
// proposed again higher up.
std::uint32_t agreed_context(Communicator& among, core::Worker& worker) {
  for (;;) {
    std::uint32_t context = 0;
    {
      const auto held = worker.lock();
      context = worker.next_context();
    }
    among.allreduce(context, max);
    std::uint8_t claimed = 0;
    {
      const auto held = worker.lock();
      claimed = worker.claim_context(context) ? 1 : 0;
    }
    std::uint8_t everywhere = claimed;
    among.allreduce(everywhere, min);
    if (everywhere != 0) return context;
    const auto held = worker.lock();
    if (claimed != 0) worker.unclaim_context(context);
  }
}

}  // namespace

Communicator Communicator::dup() {
  const core::Group& group = runtime::state_of(state_).group;
  const std::uint32_t context = agreed_context(*this, state_->worker);
  return Communicator(make_child(state_, context, group.rank, group.world));
}

Communicator Communicator::split(int color, int key) {
  struct Wish {
    std::int32_t color, key, rank;
  };
  const core::Group& group = runtime::state_of(state_).group;
  const Wish own{color, key, group.rank};
  std::vector<Wish> wishes(static_cast<std::size_t>(group.size()));
  allgather(own, wishes);
  const std::uint32_t context = agreed_context(*this, state_->worker);
  if (color < 0) {
    const auto held = state_->worker.lock();
    state_->worker.unclaim_context(context);
    return {};
  }
  std::erase_if(wishes, [&](const Wish& wish) { return wish.color != color; });
  std::stable_sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) { return a.key < b.key; });
  Rank rank = 0;
  std::vector<Rank> world;
  for (const Wish& wish : wishes) {
    if (wish.rank == group.rank) rank = static_cast<Rank>(world.size());
    world.push_back(group.to_world(wish.rank));
  }
  return Communicator(make_child(state_, context, rank, std::move(world)));
}

Communicator Communicator::from_ranks(std::span<const Rank> ranks) {
  const core::Group& group = runtime::state_of(state_).group;
  Rank own = any_source;
  std::vector<Rank> world;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    runtime::check_rank(group, ranks[i], "from_ranks");
    if (ranks[i] == group.rank) own = static_cast<Rank>(i);
    world.push_back(group.to_world(ranks[i]));
    if (std::count(ranks.begin(), ranks.end(), ranks[i]) != 1)
      throw Error(ErrorCode::invalid_argument, fmt::format("from_ranks: rank {} is listed more than once", ranks[i]));
  }
  if (own == any_source)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("from_ranks: rank {} called it, but is not in its list: only the listed ranks call it",
                            group.rank));

  // The members agree over a passing group of their own, so that others need not take part, nor be alive. Its
  // context comes from the list and from how often it was used, which all of them know.
  std::uint32_t turn = 0;
  {
    const auto held = state_->worker.lock();
    turn = state_->context.group_creations[world]++;
  }
  std::vector<Rank> named = world;
  named.push_back(static_cast<Rank>(turn));
  const std::uint64_t hash = core::hash64({reinterpret_cast<const char*>(named.data()), named.size() * sizeof(Rank)});
  const std::uint32_t temporary =
      first_temporary_context | (static_cast<std::uint32_t>(hash ^ (hash >> 32)) & 0x7ffffffeU);
  Communicator passing(std::make_shared<CommunicatorState>(state_->context, keep_alive(state_),
                                                           core::make_group(temporary, own, world)));
  const std::uint32_t context = agreed_context(passing, state_->worker);
  return Communicator(make_child(state_, context, own, std::move(world)));
}

}  // namespace godwit
