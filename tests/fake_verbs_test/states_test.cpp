// States of queue pairs, and how requests wait for or miss their peer.
#include "pair.hpp"

namespace godwit::fake_verbs {
namespace {

class States : public Connected {
 protected:
  void SetUp() override {}
};

TEST_F(States, TransitionsNeedTheirAttributes) {
  make({}, false);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  const int needed = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  EXPECT_EQ(a->process.modify_qp(a->pair, &attributes, needed & ~IBV_QP_PORT), EINVAL);
  EXPECT_EQ(a->process.modify_qp(a->pair, &attributes, needed | IBV_QP_TIMEOUT), EINVAL);
  attributes.port_num = 2;
  EXPECT_EQ(a->process.modify_qp(a->pair, &attributes, needed), EINVAL) << "there is one port";
  attributes.port_num = 1;
  attributes.pkey_index = 1;
  EXPECT_EQ(a->process.modify_qp(a->pair, &attributes, needed), EINVAL) << "there is one key";
  EXPECT_EQ(a->to_rtr(*b), EINVAL) << "from RESET";
  EXPECT_EQ(a->state(), IBV_QPS_RESET);
  ASSERT_EQ(a->to_init(), 0);
  EXPECT_EQ(a->to_rts(), EINVAL) << "from INIT";
  a->settings.reads = 17;
  EXPECT_EQ(a->to_rtr(*b), EINVAL) << "the device has 16 reads";
  a->settings.reads = 16;
  ASSERT_EQ(a->to_rtr(*b), 0);
  ASSERT_EQ(a->to_rts(), 0);
  EXPECT_EQ(a->to_init(), EINVAL);
  EXPECT_EQ(a->pair->state, IBV_QPS_RTS);
}

TEST_F(States, PostsNeedAState) {
  make({}, false);
  EXPECT_EQ(a->receive(1, 0, 8), EINVAL) << "RESET";
  EXPECT_EQ(a->send(1, 0, 8), EINVAL);
  ASSERT_EQ(a->to_init(), 0);
  EXPECT_EQ(a->receive(1, 0, 8), 0);
  EXPECT_EQ(a->send(1, 0, 8), EINVAL) << "INIT";
  ASSERT_EQ(a->to_rtr(*b), 0);
  EXPECT_EQ(a->send(1, 0, 8), EINVAL) << "RTR";
}

TEST_F(States, EthernetNeedsAGlobalRoute) {
  roce = true;
  make({}, false);
  ASSERT_EQ(a->to_init(), 0);
  fabric.set_gids(port_a, {});  // index 1 is a hole now
  EXPECT_EQ(a->to_rtr(*b), EINVAL);
  EXPECT_EQ(a->events().at(0).event_type, IBV_EVENT_GID_CHANGE);
}

TEST_F(States, RequestsWaitForAPeerThatIsNotReadyYet) {
  make({}, false);
  ASSERT_EQ(a->to_init(), 0);
  ASSERT_EQ(a->to_rtr(*b), 0);
  ASSERT_EQ(a->to_rts(), 0);
  a->write(0, "patient");
  ASSERT_EQ(a->send(1, 0, 7), 0);
  EXPECT_TRUE(a->poll().empty());
  ASSERT_EQ(b->to_init(), 0);
  ASSERT_EQ(b->receive(2, 0, 16), 0);
  ASSERT_EQ(b->to_rtr(*a), 0);
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
  EXPECT_EQ(b->only(), IBV_WC_SUCCESS);
  EXPECT_EQ(b->read(0, 7), "patient");
  EXPECT_EQ(a->process.counters().not_ready, 0U);
  EXPECT_EQ(b->events().at(0).event_type, IBV_EVENT_COMM_EST) << "it was in RTR";
}

TEST_F(States, ErrorFlushesEverythingEvenUnsignalled) {
  make({});
  fabric.hold(Hold::everything);
  ASSERT_EQ(a->receive(1, 0, 8), 0);
  ASSERT_EQ(a->receive(2, 0, 8), 0);
  ASSERT_EQ(a->send(3, 0, 8, 0), 0);
  ASSERT_EQ(a->send(4, 0, 8), 0);
  ASSERT_EQ(a->to(IBV_QPS_ERR), 0);
  auto flushed = a->poll();
  ASSERT_EQ(flushed.size(), 4U);
  for (const ibv_wc& completion : flushed) EXPECT_EQ(completion.status, IBV_WC_WR_FLUSH_ERR);
  ASSERT_EQ(a->send(5, 0, 8, 0), 0) << "ERR accepts and flushes";
  ASSERT_EQ(a->receive(6, 0, 8), 0);
  flushed = a->poll();
  ASSERT_EQ(flushed.size(), 2U);
  EXPECT_EQ(flushed[0].wr_id, 5U);
  EXPECT_EQ(flushed[1].wr_id, 6U);
}

TEST_F(States, SharedReceivesStayWhenAQueuePairFails) {
  EndSettings settings;
  settings.shared = true;
  make(settings);
  ASSERT_EQ(a->receive(1, 0, 8), 0);
  ASSERT_EQ(a->to(IBV_QPS_ERR), 0);
  EXPECT_TRUE(a->poll().empty());
  EXPECT_EQ(a->events().at(0).event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
}

TEST_F(States, ResetForgetsAndConnectsAgain) {
  make({});
  ASSERT_EQ(a->receive(1, 0, 8), 0);
  ASSERT_EQ(a->send(1, 0, 8), 0);  // waits for a receive
  ASSERT_EQ(a->to(IBV_QPS_RESET), 0);
  ASSERT_EQ(b->to(IBV_QPS_RESET), 0);
  EXPECT_TRUE(a->poll().empty());
  for (End* end : {a.get(), b.get()}) ASSERT_EQ(end->to_init(), 0);
  ASSERT_EQ(a->to_rtr(*b), 0);
  ASSERT_EQ(b->to_rtr(*a), 0);
  for (End* end : {a.get(), b.get()}) ASSERT_EQ(end->to_rts(), 0);
  ASSERT_EQ(b->receive(2, 0, 8), 0);
  ASSERT_EQ(a->send(3, 0, 8), 0);
  EXPECT_EQ(b->only(), IBV_WC_SUCCESS);
}

TEST_F(States, WrongSequenceNumberOrPeerIsNeverAnswered) {
  make({}, false);
  for (End* end : {a.get(), b.get()}) ASSERT_EQ(end->to_init(), 0);
  ASSERT_EQ(a->to_rtr(*b), 0);
  ASSERT_EQ(b->to_rtr(*b), 0) << "it expects itself";
  for (End* end : {a.get(), b.get()}) ASSERT_EQ(end->to_rts(), 0);
  ASSERT_EQ(b->receive(1, 0, 8), 0);
  ASSERT_EQ(a->send(1, 0, 8), 0);
  EXPECT_EQ(a->only(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(a->state(), IBV_QPS_ERR);
  EXPECT_TRUE(b->poll().empty());
}

TEST_F(States, PacketsMustFitThePeer) {
  make({}, false);
  for (End* end : {a.get(), b.get()}) ASSERT_EQ(end->to_init(), 0);
  a->settings.mtu = IBV_MTU_2048;
  ASSERT_EQ(a->to_rtr(*b), 0);
  ASSERT_EQ(b->to_rtr(*a), 0);
  for (End* end : {a.get(), b.get()}) ASSERT_EQ(end->to_rts(), 0);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 1024, *b), 0);
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
  ASSERT_EQ(b->post(IBV_WR_RDMA_WRITE, 2, 2048, *a), 0);
  EXPECT_EQ(b->only(), IBV_WC_SUCCESS);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 3, 1025, *b), 0);
  EXPECT_EQ(a->only(), IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(States, OrderOfDestruction) {
  defects_expected = true;
  EndSettings settings;
  settings.shared = settings.channel = true;
  make(settings);
  verbs::Api& api = a->process;
  EXPECT_EQ(api.dealloc_pd(a->domain), EBUSY);
  EXPECT_EQ(api.destroy_cq(a->queue), EBUSY);
  EXPECT_EQ(api.destroy_srq(a->shared), EBUSY);
  EXPECT_EQ(api.destroy_comp_channel(a->channel), EBUSY);
  EXPECT_EQ(fabric.defects().size(), 4U);
  EXPECT_NE(fabric.defects()[0].find("node0/0: destruction of a protection domain"), std::string::npos);
  const auto leaks = a->process.leaks();
  EXPECT_EQ(leaks.size(), 7U);
  EXPECT_NE(leaks[0].find("in RTS"), std::string::npos);
  EXPECT_EQ(a->process.counters().queue_pairs, 1U);
}

}  // namespace
}  // namespace godwit::fake_verbs
