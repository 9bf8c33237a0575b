// What a connected queue pair transfers, and what completes.
#include <arpa/inet.h>

#include "pair.hpp"

namespace godwit::fake_verbs {
namespace {

using Transfer = Connected;

class TransferOverRoce : public Connected {
 protected:
  void SetUp() override {
    roce = true;
    make({});
  }
};

class TransferOverIwarp : public Connected {
 protected:
  void SetUp() override {
    iwarp = true;
    EndSettings settings;
    make(settings);
  }
};

TEST_F(Transfer, SendFillsTheOldestReceive) {
  a->write(0, "hello");
  ASSERT_EQ(b->receive(7, 100, 64), 0);
  ASSERT_EQ(b->receive(8, 200, 64), 0);
  ASSERT_EQ(a->send(1, 0, 5), 0);
  const auto got = b->poll();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].wr_id, 7U);
  EXPECT_EQ(got[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(got[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(got[0].byte_len, 5U);
  EXPECT_EQ(got[0].qp_num, b->number());
  EXPECT_EQ(got[0].wc_flags, 0U);
  EXPECT_EQ(b->read(100, 5), "hello");
  const auto sent = a->poll();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].wr_id, 1U);
  EXPECT_EQ(sent[0].opcode, IBV_WC_SEND);
  EXPECT_TRUE(a->poll().empty());
}

TEST_F(Transfer, ListsOfPiecesAreGatheredAndScattered) {
  a->write(0, "abc");
  a->write(50, "defgh");
  ibv_sge to[] = {b->piece(0, 2), b->piece(10, 4), b->piece(20, 100)};
  ibv_recv_wr receive{};
  receive.sg_list = to;
  receive.num_sge = 3;
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(ibv_post_recv(b->pair, &receive, &bad_receive), 0);
  ibv_sge from[] = {a->piece(0, 3), a->piece(50, 5)};
  ibv_send_wr send{};
  send.sg_list = from;
  send.num_sge = 2;
  send.opcode = IBV_WR_SEND_WITH_IMM;
  send.imm_data = htonl(77);
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(a->pair, &send, &bad), 0);
  const auto got = b->poll();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].byte_len, 8U);
  EXPECT_EQ(got[0].wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(got[0].imm_data, htonl(77));
  EXPECT_EQ(b->read(0, 2) + b->read(10, 4) + b->read(20, 2), "abcdefgh");
  EXPECT_TRUE(a->poll().empty()) << "not signalled";
}

TEST_F(Transfer, WriteReadAndWriteWithImmediate) {
  a->write(0, "written");
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 7, *b, 300), 0);
  EXPECT_EQ(b->read(300, 7), "written");
  EXPECT_TRUE(b->poll().empty());
  b->write(400, "to read");
  ASSERT_EQ(a->post(IBV_WR_RDMA_READ, 2, 7, *b, 400), 0);
  EXPECT_EQ(a->read(0, 7), "to read");
  ASSERT_EQ(b->receive(9, 0, 0), 0);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE_WITH_IMM, 3, 7, *b, 500), 0);
  const auto got = b->poll();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(got[0].byte_len, 7U);
  EXPECT_EQ(got[0].wr_id, 9U);
  EXPECT_EQ(got[0].imm_data, 0x01020304U);
  EXPECT_EQ(b->read(500, 7), "to read");
  const auto done = a->poll();
  ASSERT_EQ(done.size(), 3U);
  EXPECT_EQ(done[0].opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(done[1].opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(done[2].opcode, IBV_WC_RDMA_WRITE);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(done[i].wr_id, i + 1);
}

TEST_F(Transfer, AtomicsReturnTheOldValue) {
  auto* const word = reinterpret_cast<std::uint64_t*>(b->memory + 64);
  auto* const old = reinterpret_cast<std::uint64_t*>(a->memory);
  *word = 40;
  ASSERT_EQ(a->atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, *b, 2, 0, 64), 0);
  EXPECT_EQ(*word, 42U);
  EXPECT_EQ(*old, 40U);
  ASSERT_EQ(a->atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 2, *b, 41, 7, 64), 0);
  EXPECT_EQ(*word, 42U);
  EXPECT_EQ(*old, 42U);
  ASSERT_EQ(a->atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 3, *b, 42, 7, 64), 0);
  EXPECT_EQ(*word, 7U);
  const auto done = a->poll();
  ASSERT_EQ(done.size(), 3U);
  EXPECT_EQ(done[0].opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(done[1].opcode, IBV_WC_COMP_SWAP);
  ASSERT_EQ(a->atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 4, *b, 1, 0, 68), 0);
  EXPECT_EQ(a->only(), IBV_WC_REM_INV_REQ_ERR) << "not aligned";
}

TEST_F(Transfer, ZeroBytesWithoutPieces) {
  ASSERT_EQ(b->receive(1, 0, 0), 0);
  ASSERT_EQ(a->send(1, 0, 0), 0);
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 2, 0, *b), 0);
  ASSERT_EQ(a->post(IBV_WR_RDMA_READ, 3, 0, *b), 0);
  EXPECT_EQ(a->poll().size(), 3U);
  const auto got = b->poll();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].byte_len, 0U);
}

TEST_F(Transfer, PieceOfLengthZeroIsADefect) {
  defects_expected = true;
  ibv_sge entry = a->piece(0, 0);
  ibv_send_wr send{};
  send.sg_list = &entry;
  send.num_sge = 1;
  send.opcode = IBV_WR_RDMA_WRITE;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(a->pair, &send, &bad), 0);
  ASSERT_EQ(fabric.defects().size(), 1U);
  EXPECT_NE(fabric.defects()[0].find("length 0"), std::string::npos);
}

TEST_F(Transfer, InlineNeedsNoKeyAndHasALimit) {
  std::string text(64, 'x');
  ibv_sge entry{reinterpret_cast<std::uintptr_t>(text.data()), 64, 0};
  ibv_send_wr write{};
  write.sg_list = &entry;
  write.num_sge = 1;
  write.opcode = IBV_WR_RDMA_WRITE;
  write.send_flags = IBV_SEND_INLINE;
  write.wr.rdma = {b->address(), b->region->rkey};
  ibv_send_wr* bad = nullptr;
  fabric.hold(Hold::everything);
  ASSERT_EQ(ibv_post_send(a->pair, &write, &bad), 0);
  text.assign(64, 'y');  // the caller may
  fabric.hold(Hold::nothing);
  EXPECT_EQ(b->read(0, 64), std::string(64, 'x'));
  text.assign(65, 'z');
  entry = {reinterpret_cast<std::uintptr_t>(text.data()), 65, 0};
  EXPECT_EQ(ibv_post_send(a->pair, &write, &bad), EINVAL);
  EXPECT_EQ(bad, &write);
  write.opcode = IBV_WR_RDMA_READ;
  entry.length = 8;
  EXPECT_EQ(ibv_post_send(a->pair, &write, &bad), EINVAL);
}

TEST_F(TransferOverRoce, SendReadAndEndlessRetries) {
  a->write(0, "roce");
  ASSERT_EQ(b->receive(1, 0, 16), 0);
  ASSERT_EQ(a->send(1, 0, 4), 0);
  EXPECT_EQ(b->read(0, 4), "roce");
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
  EndSettings endless;
  endless.retry_count = 7;
  make(endless);
  fabric.kill(b->process);
  ASSERT_EQ(a->send(1, 0, 4), 0);
  EXPECT_TRUE(a->poll().empty()) << "soft-RoCE takes retry_cnt 7 for ever";
  EXPECT_TRUE(fabric.time_out(a->number()));
  EXPECT_EQ(a->only(), IBV_WC_RETRY_EXC_ERR);
}

TEST_F(TransferOverIwarp, KnowsNoImmediateAndNoAtomics) {
  EXPECT_EQ(a->post(IBV_WR_RDMA_WRITE_WITH_IMM, 1, 4, *b), -EINVAL);
  EXPECT_EQ(a->post(IBV_WR_SEND_WITH_IMM, 1, 4, *b), -EINVAL);
  EXPECT_EQ(a->atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, *b, 1), -EINVAL);
  a->write(0, "iwarp");
  ASSERT_EQ(a->post(IBV_WR_RDMA_WRITE, 1, 5, *b), 0);
  EXPECT_EQ(b->read(0, 5), "iwarp");
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
  b->write(0, "fetch");
  ASSERT_EQ(a->post(IBV_WR_RDMA_READ, 2, 5, *b), 0);
  EXPECT_EQ(a->read(0, 5), "fetch");
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
}

TEST_F(TransferOverIwarp, SendIsCompleteBeforeItIsReceived) {
  a->write(0, "early");
  ASSERT_EQ(a->send(1, 0, 5), 0);
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
  a->write(0, "later");  // the buffer is the caller's again
  ASSERT_EQ(b->receive(2, 0, 16), 0);
  EXPECT_EQ(b->only(), IBV_WC_SUCCESS);
  EXPECT_EQ(b->read(0, 5), "early");
}

TEST_F(TransferOverIwarp, WrongKeyIsASuccessThenSilence) {
  ibv_sge entry = a->piece(0, 4);
  ibv_send_wr write{};
  write.sg_list = &entry;
  write.num_sge = 1;
  write.opcode = IBV_WR_RDMA_WRITE;
  write.send_flags = IBV_SEND_SIGNALED;
  write.wr.rdma = {b->address(), b->region->rkey + 0x100};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(a->pair, &write, &bad), 0);
  EXPECT_EQ(a->only(), IBV_WC_SUCCESS);
  EXPECT_EQ(b->state(), IBV_QPS_ERR);
  ASSERT_EQ(a->send(2, 0, 4), 0);
  EXPECT_TRUE(a->poll().empty());
  ASSERT_EQ(a->to(IBV_QPS_ERR), 0);
  EXPECT_EQ(a->only(), IBV_WC_WR_FLUSH_ERR);
}

}  // namespace
}  // namespace godwit::fake_verbs
