// Capacities of queues, events of completion channels, receives that are missing or too small.
#include <fcntl.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "pair.hpp"

namespace godwit::fake_verbs {
namespace {

class Queues : public Connected {
 protected:
  void SetUp() override {}

  static bool readable(int descriptor) {
    pollfd look{descriptor, POLLIN, 0};
    return poll(&look, 1, 0) == 1;
  }
};

TEST_F(Queues, UnsignalledRequestsKeepTheirSlot) {
  EndSettings settings;
  settings.send_requests = 3;
  make(settings);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 8, *b, 0, 0), 0);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 2, 8, *b), 0);
  EXPECT_EQ(a->post(IBV_WR_RDMA_WRITE, 3, 8, *b), ENOMEM) << "executed, but nothing was polled";
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 4, 8, *b, 0, 0), 0);
  EXPECT_EQ(a->post(IBV_WR_RDMA_WRITE, 5, 8, *b), ENOMEM) << "none of the three was signalled: it is full for good";
}

TEST_F(Queues, ChainIsAcceptedUpToTheBadRequest) {
  make({});
  ibv_send_wr chain[3]{};
  ibv_sge entry = a->piece(0, 8);
  for (int i = 0; i < 3; ++i) {
    chain[i].wr_id = static_cast<std::uint64_t>(i);
    chain[i].next = i < 2 ? &chain[i + 1] : nullptr;
    chain[i].sg_list = &entry;
    chain[i].num_sge = i == 1 ? 5 : 1;
    chain[i].opcode = IBV_WR_RDMA_WRITE;
    chain[i].send_flags = IBV_SEND_SIGNALED;
    chain[i].wr.rdma = {b->address(), b->region->rkey};
  }
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(a->pair, chain, &bad), EINVAL);
  EXPECT_EQ(bad, &chain[1]);
  const auto done = a->poll();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].wr_id, 0U);
  EXPECT_EQ(a->process.counters().doorbells, 1U);
}

TEST_F(Queues, SharedReceivesAreLimitedUntilPolled) {
  EndSettings settings;
  settings.shared = true;
  settings.receives = 2;
  make(settings);
  ASSERT_EQ(b->receive(1, 0, 8), 0);
  ASSERT_EQ(b->receive(2, 8, 8), 0);
  EXPECT_EQ(b->receive(3, 16, 8), ENOMEM);
  ASSERT_EQ(a->send(1, 0, 8), 0);
  EXPECT_EQ(b->receive(3, 16, 8), ENOMEM) << "not polled yet";
  EXPECT_EQ(b->only(), IBV_WC_SUCCESS);
  EXPECT_EQ(b->receive(3, 16, 8), 0);
}

TEST_F(Queues, OverrunOfACompletionQueueIsADefect) {
  defects_expected = true;
  EndSettings settings;
  settings.completions = 2;
  make(settings);
  for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, i, 8, *b), 0);
  ASSERT_EQ(fabric.defects().size(), 1U);
  EXPECT_NE(fabric.defects()[0].find("overran"), std::string::npos);
  const auto events = a->events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(events[0].element.cq, a->queue);
  EXPECT_EQ(events[1].event_type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(a->state(), IBV_QPS_ERR);
}

TEST_F(Queues, MissingReceiveIsCountedAndWaitedFor) {
  make({});
  a->write(0, "wait");
  ASSERT_EQ(a->send(1, 0, 4), 0);
  EXPECT_TRUE(a->poll().empty());
  EXPECT_EQ(a->process.counters().not_ready, 1U);
  ASSERT_EQ(b->receive(2, 0, 8), 0);
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
  EXPECT_EQ(b->read(0, 4), "wait");
  EXPECT_EQ(a->process.counters().not_ready, 1U);
}

TEST_F(Queues, MissingReceiveIsAnErrorWhenRetriesEnd) {
  EndSettings settings;
  settings.rnr_retry = 3;
  make(settings);
  ASSERT_EQ(a->send(1, 0, 4), 0);
  EXPECT_EQ(a->only(), IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(a->state(), IBV_QPS_ERR);
  EXPECT_EQ(b->state(), IBV_QPS_RTS);
}

TEST_F(Queues, MessageLongerThanTheReceive) {
  make({});
  ASSERT_EQ(b->receive(1, 0, 8), 0);
  ASSERT_EQ(b->receive(2, 8, 8), 0);
  ASSERT_EQ(a->send(3, 0, 9), 0);
  EXPECT_EQ(a->only(), IBV_WC_REM_INV_REQ_ERR);
  const auto got = b->poll();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(got[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(b->state(), IBV_QPS_ERR);
}

TEST_F(Queues, EventOnlyForCompletionsAfterArming) {
  EndSettings settings;
  settings.channel = true;
  make(settings);
  for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(b->receive(i, 0, 8), 0);
  ASSERT_EQ(a->send(1, 0, 8), 0);
  EXPECT_FALSE(readable(b->channel->fd)) << "not armed";
  ASSERT_EQ(ibv_req_notify_cq(b->queue, 0), 0);
  EXPECT_FALSE(readable(b->channel->fd)) << "it was there before";
  ASSERT_EQ(a->send(2, 0, 8), 0);
  ASSERT_EQ(a->send(3, 0, 8), 0);
  ASSERT_TRUE(readable(b->channel->fd));
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  ASSERT_EQ(b->process.get_cq_event(b->channel, &queue, &context), 0);
  EXPECT_EQ(queue, b->queue);
  EXPECT_EQ(context, b.get());
  EXPECT_FALSE(readable(b->channel->fd)) << "one event for each arming";
  b->process.ack_cq_events(queue, 1);
  fcntl(b->channel->fd, F_SETFL, O_NONBLOCK);
  EXPECT_EQ(b->process.get_cq_event(b->channel, &queue, &context), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Queues, SolicitedArmingWaitsForSolicitedOrFailed) {
  EndSettings settings;
  settings.channel = true;
  make(settings);
  for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(b->receive(i, 0, 8), 0);
  ASSERT_EQ(ibv_req_notify_cq(b->queue, 1), 0);
  ASSERT_EQ(a->send(1, 0, 8), 0);
  EXPECT_FALSE(readable(b->channel->fd));
  ASSERT_EQ(a->send(2, 0, 8, IBV_SEND_SOLICITED), 0);
  EXPECT_TRUE(readable(b->channel->fd));
  EXPECT_EQ(b->process.counters().events, 1U);
}

TEST_F(Queues, UnacknowledgedEventsWouldHangTheDestruction) {
  defects_expected = true;
  fabric.set_patience(std::chrono::milliseconds{1});
  EndSettings settings;
  settings.channel = true;
  make(settings);
  ASSERT_EQ(ibv_req_notify_cq(a->queue, 0), 0);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 8, *b), 0);
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  ASSERT_EQ(a->process.get_cq_event(a->channel, &queue, &context), 0);
  ASSERT_EQ(a->process.destroy_qp(a->pair), 0);
  EXPECT_EQ(a->process.destroy_cq(queue), EBUSY);
  EXPECT_NE(fabric.defects().at(0).find("1 events that were not acknowledged"), std::string::npos);
  a->process.ack_cq_events(queue, 1);
  ibv_qp_init_attr again{};
  again.send_cq = again.recv_cq = queue;
  again.cap = {1, 1, 1, 1, 0};
  again.qp_type = IBV_QPT_RC;
  a->pair = a->process.create_qp(a->domain, &again);
}

TEST_F(Queues, DestructionWaitsForTheThreadThatHasTheEvent) {
  make({});
  fabric.fail_pair(a->pair->qp_num);
  ibv_async_event event{};
  ASSERT_EQ(a->process.get_async_event(a->context, &event), 0);
  std::atomic<bool> acknowledged = false;
  std::thread service([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});  // so that the destruction most likely waits
    acknowledged = true;
    a->process.ack_async_event(&event);
  });
  EXPECT_EQ(a->process.destroy_qp(a->pair), 0);
  EXPECT_TRUE(acknowledged);
  service.join();
  ibv_qp_init_attr again{};
  again.send_cq = again.recv_cq = a->queue;
  again.cap = {1, 1, 1, 1, 0};
  again.qp_type = IBV_QPT_RC;
  a->pair = a->process.create_qp(a->domain, &again);
}

TEST_F(Queues, CompletionsOfADestroyedQueuePairAreGone) {
  EndSettings settings;
  settings.shared = true;
  settings.receives = 1;
  make(settings);
  ASSERT_EQ(b->receive(1, 0, 8), 0);
  ASSERT_EQ(a->send(1, 0, 8), 0);
  ASSERT_EQ(b->process.destroy_qp(b->pair), 0);
  EXPECT_TRUE(b->poll().empty());
  EXPECT_EQ(b->receive(2, 0, 8), 0) << "its slot in the shared queue is free again";
  ibv_qp_init_attr again{};
  again.send_cq = again.recv_cq = b->queue;
  again.srq = b->shared;
  again.cap = {1, 0, 1, 0, 0};
  again.qp_type = IBV_QPT_RC;
  b->pair = b->process.create_qp(b->domain, &again);
  ASSERT_EQ(a->send(2, 0, 8), 0);
  EXPECT_EQ(a->poll().back().status, IBV_WC_RETRY_EXC_ERR);
}

}  // namespace
}  // namespace godwit::fake_verbs
