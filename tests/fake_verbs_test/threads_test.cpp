// Two threads use the fabric at once; the thread sanitizer looks on.
#include <poll.h>

#include <atomic>
#include <thread>

#include "pair.hpp"

namespace godwit::fake_verbs {
namespace {

class Threads : public Connected {
 protected:
  void SetUp() override {
    EndSettings settings;
    settings.channel = settings.shared = true;
    make(settings);
  }
};

/// Arms, looks again, then sleeps for the event.
ibv_wc wait_for_one(End& end) {
  ibv_wc completion{};
  while (ibv_poll_cq(end.queue, 1, &completion) == 0) {
    EXPECT_EQ(ibv_req_notify_cq(end.queue, 0), 0);
    if (ibv_poll_cq(end.queue, 1, &completion) == 1) break;
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    EXPECT_EQ(end.process.get_cq_event(end.channel, &queue, &context), 0);
    end.process.ack_cq_events(queue, 1);
  }
  return completion;
}

TEST_F(Threads, PingPongByEvents) {
  constexpr unsigned rounds = 500;
  for (End* end : {a.get(), b.get()}) ASSERT_EQ(end->receive(0, 64, 16), 0);
  const auto play = [](End& end, bool first) {
    for (unsigned i = 0; i < rounds; ++i) {
      if (first) {
        EXPECT_EQ(end.send(1, 0, 8), 0);
      }
      bool received = false, sent = !first;
      while (!received || !sent) {
        const ibv_wc completion = wait_for_one(end);
        ASSERT_EQ(completion.status, IBV_WC_SUCCESS);
        (completion.opcode == IBV_WC_RECV ? received : sent) = true;
        if (completion.opcode != IBV_WC_RECV) continue;
        EXPECT_EQ(end.receive(0, 64, 16), 0);
        if (first) continue;
        EXPECT_EQ(end.send(1, 0, 8), 0);
        sent = false;
      }
    }
  };
  std::thread other([&] { play(*b, false); });
  play(*a, true);
  other.join();
  EXPECT_EQ(a->process.counters().not_ready + b->process.counters().not_ready, 0U);
}

TEST_F(Threads, PolledMemoryIsSeenInOrder) {
  constexpr std::uint64_t rounds = 1000;
  std::atomic_ref<std::uint64_t> flag(*reinterpret_cast<std::uint64_t*>(b->memory + 32));
  std::thread poller([&] {
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      while (flag.load(std::memory_order_acquire) < i) std::this_thread::yield();
    }
  });
  auto* const words = reinterpret_cast<std::uint64_t*>(a->memory);
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    words[3] = i;
    ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, i, 32, *b, 8), 0);
    EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
  }
  poller.join();
}

}  // namespace
}  // namespace godwit::fake_verbs
