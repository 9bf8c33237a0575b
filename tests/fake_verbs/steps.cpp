// Fabric: delivery by hand.
#include <algorithm>

#include "fake_verbs/fabric.hpp"
#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

struct Candidate {
  std::uint64_t order = 0;
  QueuePair* pair = nullptr;
  bool acknowledgement = false;
};

/// What is next on each queue pair, oldest first. A request may turn out to have to wait.
std::vector<Candidate> candidates(const World& world) {
  std::vector<Candidate> found;
  for (const auto& [number, pair] : world.pairs) {
    if (pair->condition != IBV_QPS_RTS || pair->home->process->dead) continue;
    if (pair->done < pair->sent) found.push_back({pair->request(pair->done).order, pair, true});
    if (pair->sent < pair->posted && !pair->failing && !pair->silent) {
      found.push_back({pair->request(pair->sent).order, pair, false});
    }
  }
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) { return a.order < b.order; });
  return found;
}

bool happen(World& world, const Candidate& candidate) {
  QueuePair& pair = *candidate.pair;
  const bool happened = candidate.acknowledgement ? acknowledge_next(world, pair) : deliver_next(world, pair);
  if (happened && pair.hold != Hold::everything) advance(world, pair);
  return happened;
}

template <class Range>
bool first_that_happens(World& world, const Range& range) {
  return std::any_of(range.begin(), range.end(), [&](const Candidate& candidate) { return happen(world, candidate); });
}

void set_hold(World& world, QueuePair& pair, Hold what) {
  pair.hold = what;
  if (what == Hold::everything) return;
  while (what == Hold::nothing && acknowledge_next(world, pair)) {
  }
  if (pair.condition == IBV_QPS_RTS) advance(world, pair);
}

}  // namespace

void Fabric::hold(Hold what) {
  const std::lock_guard lock(world_->mutex);
  world_->hold = what;
  if (what == Hold::nothing) {  // in order over all queue pairs
    while (first_that_happens(*world_, candidates(*world_))) {
    }
  }
  for (const auto& [number, pair] : world_->pairs) set_hold(*world_, *pair, what);
}

void Fabric::hold(std::uint32_t pair, Hold what) {
  const std::lock_guard lock(world_->mutex);
  set_hold(*world_, world_->find(pair), what);
}

std::vector<Pending> Fabric::pending() const {
  const std::lock_guard lock(world_->mutex);
  std::vector<Pending> found;
  for (const Candidate& candidate : candidates(*world_)) {
    QueuePair& pair = *candidate.pair;
    const SendRequest& request = pair.request(candidate.acknowledgement ? pair.done : pair.sent);
    found.push_back({pair.qp_num, candidate.acknowledgement, request.opcode, request.wr_id});
  }
  return found;
}

bool Fabric::step() {
  const std::lock_guard lock(world_->mutex);
  return first_that_happens(*world_, candidates(*world_));
}

bool Fabric::step(std::mt19937& random) {
  const std::lock_guard lock(world_->mutex);
  auto all = candidates(*world_);
  std::shuffle(all.begin(), all.end(), random);
  return first_that_happens(*world_, all);
}

bool Fabric::deliver(std::uint32_t pair) {
  const std::lock_guard lock(world_->mutex);
  return happen(*world_, {0, &world_->find(pair), false});
}

bool Fabric::acknowledge(std::uint32_t pair) {
  const std::lock_guard lock(world_->mutex);
  return happen(*world_, {0, &world_->find(pair), true});
}

std::size_t Fabric::run() {
  std::size_t steps = 0;
  while (step()) ++steps;
  return steps;
}

bool Fabric::time_out(std::uint32_t number) {
  const std::lock_guard lock(world_->mutex);
  QueuePair& pair = world_->find(number);
  if (pair.done >= pair.posted || pair.condition != IBV_QPS_RTS) return false;
  fail_oldest(*world_, pair, IBV_WC_RETRY_EXC_ERR);
  return true;
}

}  // namespace godwit::fake_verbs
