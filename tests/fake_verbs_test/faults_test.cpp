// What a test can break: calls, requests, completions, ports, paths, devices, peers.
#include "pair.hpp"

namespace godwit::fake_verbs {
namespace {

using Faults = Connected;

TEST_F(Faults, NthCallFails) {
  a->process.fail(Call::alloc_pd, 2, ENOMEM, 2);
  ibv_pd* const first = a->process.alloc_pd(a->context);
  EXPECT_NE(first, nullptr);
  for (int i = 0; i < 2; ++i) {
    errno = 0;
    EXPECT_EQ(a->process.alloc_pd(a->context), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  ibv_pd* const last = a->process.alloc_pd(a->context);
  EXPECT_NE(last, nullptr);
  a->process.fail(Call::dealloc_pd, 1, EIO);
  EXPECT_EQ(a->process.dealloc_pd(first), EIO);
  EXPECT_EQ(a->process.dealloc_pd(first), 0);
  EXPECT_EQ(a->process.dealloc_pd(last), 0);
  EXPECT_EQ(b->process.counters().of(Call::alloc_pd), 1U) << "another process counts for itself";
}

TEST_F(Faults, DataPathCallsFail) {
  a->process.fail(Call::post_send, 2, ENOMEM);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 4, *b), 0);
  EXPECT_EQ(a->post(IBV_WR_RDMA_WRITE, 2, 4, *b), ENOMEM);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 3, 4, *b), 0);
  a->process.fail(Call::post_recv, 1, ENOMEM);
  EXPECT_EQ(a->receive(1, 0, 4), ENOMEM);
  a->process.fail(Call::poll_cq, 1, EIO);
  ibv_wc completion{};
  EXPECT_LT(ibv_poll_cq(a->queue, 1, &completion), 0);
  EXPECT_EQ(a->poll().size(), 2U);
}

TEST_F(Faults, RequestFailsAsWished) {
  a->process.fail_request(IBV_WR_RDMA_WRITE, 2, IBV_WC_REM_OP_ERR);
  a->process.fail_request(IBV_WR_RDMA_READ, 1, IBV_WC_RETRY_EXC_ERR);
  a->write(0, "data");
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 4, *b, 100, 0), 0);
  EXPECT_TRUE(a->poll().empty());
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 2, 4, *b, 200, 0), 0);
  const auto done = a->poll();
  ASSERT_EQ(done.size(), 1U) << "an error completes though it was not signalled";
  EXPECT_EQ(done[0].status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(done[0].wr_id, 2U);
  EXPECT_NE(done[0].vendor_err, 0U);
  EXPECT_EQ(b->read(100, 4), "data");
  EXPECT_EQ(b->read(200, 4), std::string(4, '\0'));
  EXPECT_EQ(a->state(), IBV_QPS_ERR);
}

TEST_F(Faults, RequestFailsThoughThePeerHasIt) {
  a->process.fail_request(IBV_WR_SEND, 1, IBV_WC_RETRY_EXC_ERR, Executed::yes);
  ASSERT_EQ(b->receive(1, 0, 8), 0);
  ASSERT_EQ(a->send(1, 0, 4), 0);
  EXPECT_EQ(a->only(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(b->only(), IBV_WC_SUCCESS);
}

TEST_F(Faults, ReceiveFails) {
  b->process.fail_receive(2, IBV_WC_LOC_PROT_ERR);
  for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(b->receive(i, 0, 8), 0);
  ASSERT_EQ(a->send(1, 0, 4), 0);
  ASSERT_EQ(a->send(2, 0, 4), 0);
  const auto got = b->poll();
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(got[1].status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(got[2].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(a->poll().at(1).status, IBV_WC_REM_OP_ERR);
}

TEST_F(Faults, LostAndLateCompletions) {
  a->process.lose_completion(2);
  for (unsigned i = 1; i <= 3; ++i) ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, i, 4, *b), 0);
  auto done = a->poll();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[1].wr_id, 3U);
  a->process.hold_completions(true);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 4, 4, *b), 0);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 5, 4, *b), 0);
  EXPECT_TRUE(a->poll().empty());
  a->process.hold_completions(false);
  done = a->poll();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].wr_id, 4U);
}

TEST_F(Faults, PortDownAndUp) {
  fabric.manual_time_outs(true);
  fabric.set_port(port_b, false);
  EXPECT_TRUE(a->events().empty());
  const auto events = b->events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].event_type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(events[0].element.port_num, 1);
  ibv_port_attr port{};
  ASSERT_EQ(b->process.query_port(b->context, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_DOWN);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 4, *b), 0);
  EXPECT_TRUE(a->poll().empty()) << "still retrying";
  fabric.set_port(port_b, true);
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS) << "a short outage is survived";
  EXPECT_EQ(b->events().at(0).event_type, IBV_EVENT_PORT_ACTIVE);
  fabric.manual_time_outs(false);
  fabric.set_port(port_a, false);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 2, 4, *b), 0);
  EXPECT_EQ(a->only(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(b->state(), IBV_QPS_RTS) << "it is never told";
}

TEST_F(Faults, PathDown) {
  fabric.set_path(port_a, port_b, false);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 4, *b), 0);
  EXPECT_EQ(a->only(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_TRUE(a->events().empty());
  fabric.set_path(port_a, port_b, true);
  EXPECT_EQ(a->state(), IBV_QPS_ERR);
  ASSERT_EQ(b->send(1, 0, 4), 0);
  EXPECT_EQ(b->only(), IBV_WC_RETRY_EXC_ERR) << "the peer is in ERR";
}

TEST_F(Faults, KilledPeerSaysNothing) {
  ASSERT_EQ(a->receive(1, 0, 8), 0);
  fabric.kill(b->process);
  EXPECT_TRUE(a->poll().empty());
  EXPECT_TRUE(a->events().empty());
  EXPECT_EQ(b->send(1, 0, 4), 0) << "its calls do nothing";
  EXPECT_TRUE(b->poll().empty());
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 2, 4, *b), 0);
  const auto done = a->poll();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(done[1].status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Faults, FatalEvents) {
  ASSERT_EQ(a->receive(1, 0, 8), 0);
  fabric.fail_pair(a->number());
  EXPECT_EQ(a->only(), IBV_WC_WR_FLUSH_ERR);
  auto events = a->events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].event_type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(events[0].element.qp, a->pair);
  fabric.fail_queue(b->queue);
  events = b->events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].event_type, IBV_EVENT_CQ_ERR);
}

TEST_F(Faults, DeviceRemoval) {
  ASSERT_EQ(a->receive(1, 0, 8), 0);
  fabric.remove_device("node0", "dev0");
  EXPECT_EQ(a->only(), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(a->events().at(0).event_type, IBV_EVENT_DEVICE_FATAL);
  EXPECT_EQ(a->process.alloc_pd(a->context), nullptr);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(a->send(1, 0, 4), EIO);
  int count = -1;
  ibv_device** const list = a->process.get_device_list(&count);
  EXPECT_EQ(count, 0);
  a->process.free_device_list(list);
  ASSERT_EQ(b->send(1, 0, 4), 0);
  EXPECT_EQ(b->only(), IBV_WC_RETRY_EXC_ERR);
}

}  // namespace
}  // namespace godwit::fake_verbs
