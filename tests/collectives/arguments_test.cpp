#include "collectives/arguments.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace godwit::collectives {
namespace {

std::vector<float> send(64), recv(64);

CollectiveCall good(Collective collective) {
  return {.collective = collective, .send = send.data(), .recv = recv.data(), .count = 4, .type = DataType::float32};
}

Problem check(const CollectiveCall& call, Rank rank = 1) { return check_arguments(call, rank, 4, {}); }

TEST(Arguments, GoodCallsPass) {
  for (std::size_t i = 0; i < collective_count; ++i) {
    if (is_uneven(static_cast<Collective>(i))) continue;
    const Problem problem = check(good(static_cast<Collective>(i)));
    EXPECT_EQ(problem.count, i == 0 ? 0U : 4U);
    EXPECT_FALSE(problem.in_place);
  }
  EXPECT_EQ(check({.collective = Collective::barrier}).count, 0U);
}

TEST(Arguments, WrongCallsAreErrorsThatSayWhy) {
  struct Case {
    Collective collective;
    std::function<void(CollectiveCall&)> spoil;
    const char* words;
  };
  const std::vector<Case> cases = {
      {Collective::allreduce, [](CollectiveCall& c) { c.send = nullptr; }, "send buffer of 4 elements is null"},
      {Collective::allgather, [](CollectiveCall& c) { c.recv = nullptr; }, "receive buffer of 16 elements is null"},
      {Collective::broadcast, [](CollectiveCall& c) { c.root = 4; }, "root 4"},
      {Collective::reduce, [](CollectiveCall& c) { c.root = -1; }, "root -1"},
      {Collective::allreduce, [](CollectiveCall& c) { c.count = static_cast<std::size_t>(-5); }, "negative"},
      {Collective::alltoall, [](CollectiveCall& c) { c.count = PTRDIFF_MAX / 8; }, "4 ranks"},
      {Collective::allreduce, [](CollectiveCall& c) { c.type = static_cast<DataType>(99); }, "type with number 99"},
      {Collective::allreduce, [](CollectiveCall& c) { c.op = static_cast<ReduceOp>(77); }, "reduction with number 77"},
      {Collective::allreduce, [](CollectiveCall& c) { c.collective = static_cast<Collective>(50); }, "number 50"},
      {Collective::allreduce, [](CollectiveCall& c) { c.recv = send.data() + 1; }, "overlap"},
      {Collective::scan, [](CollectiveCall& c) { c.op = ReduceOp::avg; }, "avg is of all ranks"},
      {Collective::exscan, [](CollectiveCall& c) { c.op = ReduceOp::avg; }, "avg is of all ranks"},
      {Collective::allgather, [](CollectiveCall& c) { c.recv = send.data(); }, "overlap"},  // rank 1's block is at 4
  };
  for (const Case& c : cases) {
    CollectiveCall call = good(c.collective);
    c.spoil(call);
    try {
      check(call);
      ADD_FAILURE() << c.words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(c.words), std::string::npos) << error.what();
    }
  }
}

TEST(Arguments, BuffersThatARankDoesNotUseMayBeNull) {
  CollectiveCall call = good(Collective::broadcast);
  call.send = nullptr;
  EXPECT_NO_THROW(check(call, 1));
  EXPECT_THROW(check(call, 0), Error);
  call = good(Collective::reduce);
  call.recv = nullptr;
  EXPECT_NO_THROW(check(call, 1));
  EXPECT_THROW(check(call, 0), Error);
  call = good(Collective::exscan);
  call.recv = nullptr;
  EXPECT_NO_THROW(check(call, 0));
  EXPECT_THROW(check(call, 1), Error);
  call = good(Collective::allreduce);
  call.send = call.recv = nullptr;
  call.count = 0;
  EXPECT_NO_THROW(check(call));
}

TEST(Arguments, InPlaceIsRecognised) {
  CollectiveCall call = good(Collective::allreduce);
  call.recv = send.data();
  EXPECT_TRUE(check(call).in_place);
  call.collective = Collective::allgather;
  call.send = send.data() + 4;
  EXPECT_TRUE(check(call, 1).in_place);
  EXPECT_THROW(check(call, 0), Error);
  call.collective = Collective::reduce_scatter;
  call.send = send.data();
  call.recv = send.data() + 4;
  EXPECT_TRUE(check(call, 1).in_place);
}

// Four ranks; the checks of rank 1.
struct Lengths {
  std::vector<std::size_t> counts{4, 2, 0, 6}, offsets{};
};

UnevenCall good_uneven(Collective collective, const Lengths& lengths) {
  UnevenCall call;
  static_cast<CollectiveCall&>(call) = good(collective);
  call.count = 2;
  call.root = 1;
  const BlockLengths blocks{lengths.counts, lengths.offsets};
  const Collective kind = without_v(collective);
  if (kind == Collective::reduce_scatter || kind == Collective::scatter || kind == Collective::alltoall)
    call.send_blocks = blocks;
  if (kind == Collective::allgather || kind == Collective::gather || kind == Collective::alltoall)
    call.recv_blocks = blocks;
  return call;
}

TEST(UnevenArguments, GoodCallsPass) {
  const Lengths packed, spread{.offsets = {20, 10, 0, 0}};
  for (const Collective collective : {Collective::allgatherv, Collective::reduce_scatterv, Collective::gatherv,
                                      Collective::scatterv, Collective::alltoallv})
    for (const Lengths* lengths : {&packed, &spread}) {
      BlockTable sends, receives;
      const Problem problem = check_arguments(good_uneven(collective, *lengths), 1, 4, {}, sends, receives);
      const BlockTable& table = problem.sends ? sends : receives;
      EXPECT_EQ(table.total(), 12U);
      EXPECT_EQ(table.block(1).begin, lengths == &packed ? 4U : 10U);
      EXPECT_EQ(table.end(), lengths == &packed ? 12U : 24U);
    }
}

TEST(UnevenArguments, OnlyTheRootNeedsLengths) {
  for (const Collective collective : {Collective::gatherv, Collective::scatterv}) {
    UnevenCall call = good_uneven(collective, {});
    call.send_blocks = call.recv_blocks = {};
    BlockTable sends, receives;
    EXPECT_NO_THROW(check_arguments(call, 2, 4, {}, sends, receives));
    EXPECT_THROW(check_arguments(call, 1, 4, {}, sends, receives), Error);
  }
}

TEST(UnevenArguments, WrongCallsAreErrorsThatSayWhy) {
  struct Case {
    Collective collective;
    Lengths lengths;
    std::function<void(UnevenCall&)> spoil;
    const char* words;
  };
  const auto nothing = [](UnevenCall&) {};
  const std::vector<Case> cases = {
      {Collective::allgatherv, {.counts = {1, 2, 3}}, nothing, "recv_blocks has 3 counts, but there are 4 ranks"},
      {Collective::scatterv, {.offsets = {1}}, nothing, "send_blocks has 1 offsets"},
      {Collective::gatherv, {.offsets = {0, 3, 9, 20}}, nothing, "blocks of ranks 0 and 1 overlap"},
      {Collective::reduce_scatterv, {}, [](UnevenCall& c) { c.count = 3; }, "count is 3, but send_blocks has 2"},
      {Collective::alltoallv, {.counts = {static_cast<std::size_t>(-1), 2, 2, 2}}, nothing, "is one a negative number"},
      {Collective::alltoallv, {}, [](UnevenCall& c) { c.recv = const_cast<void*>(c.send); }, "cannot be done in place"},
      {Collective::allgather, {}, nothing, "takes a CollectiveCall"},
  };
  for (const Case& c : cases) {
    UnevenCall call = good_uneven(c.collective, c.lengths);
    c.spoil(call);
    try {
      BlockTable sends, receives;
      check_arguments(call, 1, 4, {}, sends, receives);
      ADD_FAILURE() << c.words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(c.words), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(check(good(Collective::allgatherv)), Error) << "without lengths";
}

}  // namespace
}  // namespace godwit::collectives
