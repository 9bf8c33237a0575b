// What a peer costs: queue pairs, completion queue entries, receive buffers, registered bytes, memory, at 2, 64 and
// 1024 peers. The peers are played on the side channel; the queue pairs are connected. README.md of verbs/ has the
// figures.
#include "raw_peer.hpp"
#include "verbs/adapter.hpp"
#include "verbs/handle.hpp"

#include <fmt/format.h>

#include <cstring>

#include <malloc.h>
#include <sys/resource.h>

namespace godwit::verbs {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

bool allow_descriptors(rlim_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  if (limit.rlim_cur >= wanted) return true;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  return limit.rlim_cur == wanted && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// Sanitizers have their own allocators.
std::size_t allocated() { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; }

struct Cost {
  fake_verbs::Counters counters;
  std::size_t memory = 0;    // without registered buffers, bytes
  std::size_t promised = 0;  // receives
};

Cost cost_of(std::size_t peers) {
  Stage stage;
  Node& node = stage.node(0);
  std::vector<RawPeer> raw;
  raw.reserve(peers);
  const auto memory = [&] { return sanitized ? 0 : allocated() - stage.process(0).counters().registered_bytes; };
  const core::Card card = node.card();
  std::size_t promised = 0;
  const std::size_t before = memory();
  for (std::size_t i = 0; i < peers; ++i) {
    RawPeer& peer = raw.emplace_back(node);
    peer.send(hello_of(static_cast<Rank>(i + 1), 0));
    SideMessage kind{};
    std::vector<std::byte> bytes;
    Hello answer;
    EXPECT_TRUE(peer.receive(kind, bytes) && bytes.size() == sizeof answer);
    std::memcpy(&answer, bytes.data(), sizeof answer);
    promised += answer.credits + credit_frames;
    peer.send(SideMessage::ready);
    node.open(static_cast<Rank>(i + 1), card);
  }
  EXPECT_TRUE(until([&] { node.poll(); }, [&] { return node.count(Kind::connected) == peers; }));
  node.received.clear();
  node.received.shrink_to_fit();
  return {stage.process(0).counters(), memory() - before, promised};
}

// What the fake allocates for a queue pair like ours, where an adapter's driver has its own queues.
double memory_of_fake_pair() {
  Stage stage;
  Process& api = stage.process(0);
  ibv_device** const list = api.get_device_list(nullptr);
  const ContextHandle context(api, api.open_device(list[0]));
  api.free_device_list(list);
  const DomainHandle domain(api, api.alloc_pd(context.get()));
  const CompletionQueueHandle queue(api, api.create_cq(context.get(), 64, nullptr, nullptr));
  ibv_srq_init_attr shared{};
  shared.attr = {64, 1, 0};
  const SharedReceiveHandle receives(api, api.create_srq(domain.get(), &shared));
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = queue.get();
  attributes.srq = receives.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {128, 0, 2, 0, 220};
  constexpr std::size_t pairs = 64;
  std::vector<PairHandle> made(pairs);
  const std::size_t before = allocated();
  for (PairHandle& pair : made) pair = {api, api.create_qp(domain.get(), &attributes)};
  return static_cast<double>(allocated() - before) / pairs;
}

TEST(Scale, APeerCostsLittleAndAlwaysTheSame) {
  if (!allow_descriptors(4096)) GTEST_SKIP() << "fewer than 4096 descriptors are allowed (ulimit -n)";
  cost_of(2);  // what is made once
  std::map<std::size_t, Cost> costs;
  for (const std::size_t peers : {2U, 64U, 1024U}) {
    const Cost& cost = costs[peers] = cost_of(peers);
    const auto& c = cost.counters;
    fmt::print(
        "{:5} peers: {} queue pairs, {} CQ entries, {} send slots, {} receive slots, {} receives posted, {} promised, "
        "{} KiB registered, {} KiB of other memory\n",
        peers, c.queue_pairs, c.completion_entries, c.send_slots, c.receive_slots, c.of(Call::post_srq_recv),
        cost.promised, c.registered_bytes >> 10, cost.memory >> 10);
    EXPECT_EQ(c.queue_pairs, peers);
    EXPECT_EQ(c.completion_queues, 1U);
    EXPECT_EQ(c.receive_queues, 1U);
    EXPECT_EQ(c.completion_entries, 32768U) << "for all peers together";
    EXPECT_EQ(c.send_slots, 128 * peers);
    EXPECT_EQ(c.receive_slots, 24576U) << "shared by all";
    EXPECT_GE(c.of(Call::post_srq_recv), cost.promised) << "a receive for each frame that all peers may send at once";
    EXPECT_LE(c.of(Call::post_srq_recv), cost.promised + 63);
    EXPECT_LE(cost.promised, 34 * std::min<std::size_t>(peers, 248) + 6 * (std::max<std::size_t>(peers, 248) - 248));
    EXPECT_LE(c.registered_bytes, (c.of(Call::post_srq_recv) + 64) * std::size_t{8320});
  }
  if (sanitized) return;
  const double fake_pair = memory_of_fake_pair();
  const auto per_peer = [&](std::size_t few, std::size_t many) {
    return static_cast<double>(costs[many].memory - costs[few].memory) / static_cast<double>(many - few) - fake_pair;
  };
  const double first = per_peer(2, 64), later = per_peer(64, 1024);
  fmt::print(
      "memory per peer: {:.0f} bytes from 2 to 64, {:.0f} bytes from 64 to 1024; an adapter's queue pair and "
      "receive buffers come on top\n",
      first, later);
  EXPECT_NEAR(later / first, 1, 0.3) << "not linear";
  EXPECT_LE(later, 49152);
}

}  // namespace
}  // namespace godwit::verbs
