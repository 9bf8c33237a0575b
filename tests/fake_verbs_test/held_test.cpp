// Delivery by hand: order, late acknowledgements, fences, loss.
#include <random>

#include "pair.hpp"

namespace godwit::fake_verbs {
namespace {

class Held : public Connected {
 protected:
  void SetUp() override {
    make({});
    for (unsigned i = 0; i < 4; ++i) ASSERT_EQ(b->receive(10 + i, 16 * i, 16), 0);
    fabric.hold(Hold::everything);
  }
};

TEST_F(Held, RequestAndAcknowledgementAreSeparateSteps) {
  ASSERT_EQ(a->send(1, 0, 4), 0);
  ASSERT_EQ(a->send(2, 0, 4), 0);
  EXPECT_TRUE(b->poll().empty());
  auto pending = fabric.pending();
  ASSERT_EQ(pending.size(), 1U);
  EXPECT_EQ(pending[0].pair, a->number());
  EXPECT_EQ(pending[0].wr_id, 1U);
  EXPECT_FALSE(pending[0].acknowledgement);
  EXPECT_FALSE(fabric.acknowledge(a->number()));
  EXPECT_TRUE(fabric.deliver(a->number()));
  EXPECT_EQ(b->only(), IBV_WC_SUCCESS);
  EXPECT_TRUE(a->poll().empty());
  EXPECT_TRUE(fabric.acknowledge(a->number()));
  EXPECT_EQ(a->poll().at(0).wr_id, 1U);
  EXPECT_EQ(fabric.run(), 2U);
  EXPECT_EQ(a->poll().at(0).wr_id, 2U);
  EXPECT_FALSE(fabric.step());
}

TEST_F(Held, BufferIsReadWhenItIsDelivered) {
  a->write(0, "first");
  ASSERT_EQ(a->send(1, 0, 5), 0);
  a->write(0, "reuse");
  fabric.run();
  EXPECT_EQ(b->read(0, 5), "reuse") << "the caller's mistake shows";
}

TEST_F(Held, QueuePairsAreIndependent) {
  ASSERT_EQ(a->receive(1, 0, 8), 0);
  ASSERT_EQ(a->send(1, 0, 4), 0);
  ASSERT_EQ(b->send(2, 0, 4), 0);
  EXPECT_TRUE(fabric.deliver(b->number()));
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
  EXPECT_TRUE(b->poll().empty());
  fabric.hold(b->number(), Hold::nothing);
  EXPECT_EQ(b->only(), IBV_WC_SUCCESS);
  EXPECT_EQ(fabric.pending().size(), 1U);
}

TEST_F(Held, ReadIsTakenAtThePeerAndArrivesLater) {
  b->write(100, "then");
  ASSERT_EQ(a->post(IBV_WR_RDMA_READ, 1, 4, *b, 100), 0);
  ASSERT_TRUE(fabric.deliver(a->number()));
  b->write(100, "now!");
  EXPECT_EQ(a->read(0, 4), std::string(4, '\0'));
  ASSERT_TRUE(fabric.acknowledge(a->number()));
  EXPECT_EQ(a->read(0, 4), "then");
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
}

TEST_F(Held, OnlyAFenceWaitsForAReadBefore) {
  b->write(100, "data");
  ASSERT_EQ(a->post(IBV_WR_RDMA_READ, 1, 4, *b, 100), 0);
  ASSERT_EQ(a->send(2, 0, 4), 0);
  ASSERT_TRUE(fabric.deliver(a->number()));
  ASSERT_TRUE(fabric.deliver(a->number())) << "no fence: it overtakes the response";
  EXPECT_EQ(b->read(0, 4), std::string(4, '\0'));
  fabric.run();
  b->write(100, "more");
  ASSERT_EQ(a->post(IBV_WR_RDMA_READ, 3, 4, *b, 100), 0);
  ASSERT_EQ(a->send(4, 0, 4, IBV_SEND_SIGNALED | IBV_SEND_FENCE), 0);
  ASSERT_TRUE(fabric.deliver(a->number()));
  EXPECT_FALSE(fabric.deliver(a->number()));
  ASSERT_TRUE(fabric.acknowledge(a->number()));
  EXPECT_TRUE(fabric.deliver(a->number()));
  EXPECT_EQ(b->read(16, 4), "more");
}

TEST_F(Held, ReadsWaitForTheResponderResources) {
  for (unsigned i = 0; i < 5; ++i) ASSERT_EQ(a->post(IBV_WR_RDMA_READ, i, 4, *b), 0);
  for (unsigned i = 0; i < 4; ++i) EXPECT_TRUE(fabric.deliver(a->number()));
  EXPECT_FALSE(fabric.deliver(a->number()));
  EXPECT_TRUE(fabric.acknowledge(a->number()));
  EXPECT_TRUE(fabric.deliver(a->number()));
}

TEST_F(Held, LateAcknowledgementsOnly) {
  fabric.hold(Hold::acknowledgements);
  ASSERT_EQ(a->send(1, 0, 4), 0);
  EXPECT_EQ(b->only(), IBV_WC_SUCCESS);
  EXPECT_TRUE(a->poll().empty());
  fabric.hold(Hold::nothing);
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
}

TEST_F(Held, LostRequestAndLostAcknowledgementLookAlike) {
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 4, *b, 100), 0);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 2, 4, *b, 200, 0), 0);
  a->write(0, "here");
  ASSERT_TRUE(fabric.deliver(a->number()));
  EXPECT_TRUE(fabric.time_out(a->number()));
  const auto done = a->poll();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(done[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(b->read(100, 4), "here") << "its acknowledgement was lost";
  EXPECT_EQ(b->read(200, 4), std::string(4, '\0'));
  EXPECT_FALSE(fabric.time_out(a->number()));
}

TEST_F(Held, RemoteErrorCompletesAfterItsPredecessors) {
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 4, *b), 0);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 2, 4, *b, 5000), 0);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 3, 4, *b), 0);
  EXPECT_TRUE(fabric.deliver(a->number()));
  EXPECT_TRUE(fabric.deliver(a->number()));
  EXPECT_FALSE(fabric.deliver(a->number())) << "after an error";
  fabric.run();
  const auto done = a->poll();
  ASSERT_EQ(done.size(), 3U);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(done[1].status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(done[2].status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Held, RandomOrderKeepsTheOrderOfAQueuePair) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    for (unsigned i = 0; i < 4; ++i) {
      ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, i, 4, *b, 100), 0);
      ASSERT_EQ(b->post(IBV_WR_RDMA_READ, i, 4, *a, 100), 0);
    }
    while (fabric.step(random)) {
    }
    for (End* end : {a.get(), b.get()}) {
      const auto done = end->poll();
      ASSERT_EQ(done.size(), 4U);
      for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(done[i].wr_id, i);
    }
  }
}

}  // namespace
}  // namespace godwit::fake_verbs
