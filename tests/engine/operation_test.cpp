// The pool of operations: what is released comes back as new, under another id.
#include "core/operation.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace godwit::core {
namespace {

TEST(OperationPool, AReleasedOperationIsAsNewUnderAnotherId) {
  OperationPool pool;
  Operation& operation = pool.acquire(Operation::Kind::send);
  const OperationId id = operation.id;
  EXPECT_NE(id, 0U);
  EXPECT_EQ(pool.find(id), &operation);
  auto* somewhere = reinterpret_cast<Peer*>(&pool);  // never looked at
  operation.peer = somewhere;
  operation.state = Operation::State::done;
  operation.status = ErrorCode::truncated;
  operation.in_flight = 3;
  operation.tag = 5;
  operation.notify = 7;
  operation.patience = 9;
  operation.detail = "words";
  operation.key.emplace();
  operation.own_buffer = std::make_unique<std::byte[]>(10);
  operation.registration = std::make_unique<Registration>();
  pool.release(operation);
  EXPECT_EQ(pool.find(id), nullptr) << "a stale id finds nothing";

  Operation& again = pool.acquire(Operation::Kind::recv);
  ASSERT_EQ(&again, &operation);
  EXPECT_NE(again.id, id);
  EXPECT_EQ(pool.find(again.id), &again);
  EXPECT_EQ(again.kind, Operation::Kind::recv);
  EXPECT_EQ(again.state, Operation::State::posted);
  EXPECT_EQ(again.status, ErrorCode::ok);
  EXPECT_EQ(again.in_flight, 0);
  EXPECT_EQ(again.tag, 0);
  EXPECT_EQ(again.peer, nullptr);
  EXPECT_FALSE(again.notify);
  EXPECT_EQ(again.patience, 0);
  EXPECT_EQ(again.width, 8U);
  EXPECT_TRUE(again.detail.empty());
  EXPECT_FALSE(again.key || again.own_buffer || again.registration);
}

TEST(OperationPool, IdsOfAllSlabsAreFound) {
  OperationPool pool;
  std::vector<Operation*> all;
  for (int i = 0; i < 1000; ++i) all.push_back(&pool.acquire(Operation::Kind::recv));
  for (Operation* operation : all) EXPECT_EQ(pool.find(operation->id), operation);
  for (Operation* operation : all) pool.release(*operation);
  EXPECT_EQ(pool.find(0), nullptr);
}

}  // namespace
}  // namespace godwit::core
