// Keys, bounds and access rights.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "pair.hpp"

namespace godwit::fake_verbs {
namespace {

class Memory : public Connected {
 protected:
  /// A request of a with these keys: the status of its completion.
  ibv_wc_status transfer(ibv_wr_opcode opcode, const ibv_sge& local, std::uint64_t remote, std::uint32_t rkey) {
    ibv_sge entry = local;
    ibv_send_wr request{};
    request.sg_list = &entry;
    request.num_sge = 1;
    request.opcode = opcode;  // not signalled: an error completes all the same
    request.wr.rdma = {remote, rkey};
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(a->pair, &request, &bad), 0);
    const auto done = a->poll();
    return done.empty() ? IBV_WC_SUCCESS : done[0].status;
  }
};

TEST_F(Memory, WrongRemoteKeyFailsBothQueuePairs) {
  ASSERT_EQ(b->receive(5, 0, 8), 0);
  EXPECT_EQ(transfer(IBV_WR_RDMA_WRITE, a->piece(0, 8), b->address(), b->region->lkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(a->state(), IBV_QPS_ERR);
  EXPECT_EQ(b->state(), IBV_QPS_ERR);
  EXPECT_EQ(b->events().at(0).event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(b->only(), IBV_WC_WR_FLUSH_ERR);
  ASSERT_EQ(a->send(1, 0, 8), 0);
  EXPECT_EQ(a->only(), IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Memory, RemoteBounds) {
  EXPECT_EQ(transfer(IBV_WR_RDMA_WRITE, a->piece(0, 8), b->address(4088), b->region->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(transfer(IBV_WR_RDMA_READ, a->piece(0, 9), b->address(4088), b->region->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Memory, RemoteAccessOfTheRegion) {
  ibv_mr* const read_only = b->process.reg_mr(b->domain, b->memory, 64, IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(transfer(IBV_WR_RDMA_READ, a->piece(0, 8), b->address(), read_only->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(transfer(IBV_WR_RDMA_WRITE, a->piece(0, 8), b->address(), read_only->rkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(b->process.dereg_mr(read_only), 0);
}

TEST_F(Memory, RemoteAccessOfTheQueuePair) {
  ibv_qp_attr attributes{};
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  ASSERT_EQ(b->process.modify_qp(b->pair, &attributes, IBV_QP_ACCESS_FLAGS), 0);
  EXPECT_EQ(transfer(IBV_WR_RDMA_WRITE, a->piece(0, 8), b->address(), b->region->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(transfer(IBV_WR_RDMA_READ, a->piece(0, 8), b->address(), b->region->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Memory, LocalKeyAndAccess) {
  ibv_mr* const constant = a->process.reg_mr(a->domain, a->memory, 64, 0);
  ibv_sge piece{a->address(), 8, constant->lkey};
  EXPECT_EQ(transfer(IBV_WR_RDMA_WRITE, piece, b->address(), b->region->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(transfer(IBV_WR_RDMA_READ, piece, b->address(), b->region->rkey), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(b->state(), IBV_QPS_RTS);
  EXPECT_EQ(a->process.dereg_mr(constant), 0);
}

TEST_F(Memory, DeregisteredKeysAreNotUsedAgain) {
  const std::uint32_t old = b->region->rkey;
  ASSERT_EQ(b->process.dereg_mr(b->region), 0);
  b->region = b->process.reg_mr(b->domain, b->memory, sizeof b->memory, all_access);
  EXPECT_NE(b->region->rkey, old);
  EXPECT_EQ(transfer(IBV_WR_RDMA_WRITE, a->piece(0, 8), b->address(), old), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Memory, KeyOfAnotherDomain) {
  ibv_pd* const other = b->process.alloc_pd(b->context);
  ibv_mr* const region = b->process.reg_mr(other, b->memory, 64, all_access);
  EXPECT_EQ(transfer(IBV_WR_RDMA_WRITE, a->piece(0, 8), b->address(), region->rkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(b->process.dereg_mr(region), 0);
  EXPECT_EQ(b->process.dealloc_pd(other), 0);
}

TEST_F(Memory, ReceiveIntoForeignMemory) {
  ibv_sge entry{b->address(), 16, a->region->lkey};
  ibv_recv_wr receive{};
  receive.sg_list = &entry;
  receive.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(b->pair, &receive, &bad), 0);
  ASSERT_EQ(a->send(1, 0, 8), 0);
  EXPECT_EQ(a->only(), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(b->only(), IBV_WC_LOC_PROT_ERR);
}

TEST_F(Memory, RegistrationIsCheckedAndLimited) {
  verbs::Api& api = a->process;
  EXPECT_EQ(api.reg_mr(a->domain, a->memory, 64, IBV_ACCESS_REMOTE_WRITE), nullptr) << "without local write";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(api.reg_mr(a->domain, a->memory, 0, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(a->process.counters().registered_bytes, 4096U);
  a->process.limit_registered(5000);
  EXPECT_EQ(api.reg_mr(a->domain, a->memory, 905, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  ibv_mr* const small = api.reg_mr(a->domain, a->memory, 904, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(api.dereg_mr(small), 0);
  EXPECT_EQ(api.reg_dmabuf_mr(a->domain, 0, 64, 0, -1, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST(Dmabuf, IsReachedByItsOwnAddresses) {
  Fabric fabric;
  DeviceSetup setup = infiniband_device("dev0", 1);
  setup.dmabuf = true;
  fabric.add_host("node0", {setup});
  End a(fabric.add_process("node0"), {});
  End b(fabric.add_process("node0"), {});
  for (End* end : {&a, &b}) ASSERT_EQ(end->to_init(), 0);
  ASSERT_EQ(a.to_rtr(b), 0);
  ASSERT_EQ(b.to_rtr(a), 0);
  for (End* end : {&a, &b}) ASSERT_EQ(end->to_rts(), 0);
  const int file = memfd_create("buffer", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, 8192), 0);
  ibv_mr* const region = b.process.reg_dmabuf_mr(b.domain, 4200, 1000, 0x10000000, file, all_access);
  ASSERT_NE(region, nullptr);
  a.write(0, "to the GPU");
  ibv_sge entry = a.piece(0, 10);
  ibv_send_wr write{};
  write.sg_list = &entry;
  write.num_sge = 1;
  write.opcode = IBV_WR_RDMA_WRITE;
  write.wr.rdma = {0x10000000 + 100, region->rkey};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(a.pair, &write, &bad), 0);
  char text[10];
  ASSERT_EQ(pread(file, text, 10, 4300), 10);
  EXPECT_EQ(std::string(text, 10), "to the GPU");
  EXPECT_EQ(b.process.dereg_mr(region), 0);
  close(file);
}

}  // namespace
}  // namespace godwit::fake_verbs
