// put, get, notifications, atomics, flush.
#include "core/segments.hpp"
#include "node.hpp"

#include <godwit/memory.hpp>

#include <algorithm>
#include <cstring>

namespace godwit::conformance {
namespace {

using core::Op;
using core::WorkRequest;

class Rma : public Conformance {};

// Memory of `owner` as `user` sees it.
struct Target {
  Target(Node& user, Node& owner, std::span<std::byte> memory, MemoryKind kind)
      : registration(owner.transport->register_memory(memory, kind)),
        handle(user.endpoint(owner.rank).import_key(registration.key)),
        address(reinterpret_cast<std::uint64_t>(memory.data())) {}
  core::RemoteAddress at(std::size_t offset) const { return {address + offset, handle.value_or(0)}; }

  core::Registration registration;
  std::optional<std::uint64_t> handle;
  std::uint64_t address;
};

// Local memory of a request: registered where the transport wants that.
struct Local {
  Local(Node& node, std::span<std::byte> memory)
      : registration(node.transport->register_memory(memory, MemoryKind::host)), bytes(memory) {}
  WorkRequest request(Op op, core::RemoteAddress remote, std::size_t size) const {
    WorkRequest r;
    r.op = op;
    r.local = bytes.first(size);
    r.lkey = registration.lkey;
    r.remote = remote;
    return r;
  }
  core::Registration registration;
  std::span<std::byte> bytes;
};

void put_and_get(Node& a, Node& b, std::span<std::byte> memory, MemoryKind kind) {
  const Target target(a, b, memory, kind);
  ASSERT_TRUE(target.handle);
  std::vector<std::byte> buffer(memory.size());
  const Local local(a, buffer);
  const std::size_t max = std::min(memory.size(), a.endpoint(b.rank).capabilities().max_rdma);
  for (std::size_t size = 0; size <= max; size = size < 3 ? size + 1 : size * 2 - 1) {
    const std::size_t offset = (memory.size() - size) / 2;
    const auto data = pattern(size, size);
    std::ranges::copy(data, buffer.begin());
    ASSERT_EQ(execute(a, b.rank, local.request(Op::put, target.at(offset), size), {&b}).status, ErrorCode::ok);
    ASSERT_EQ(execute(a, b.rank, local.request(Op::flush, target.at(offset), 0), {&b}).status, ErrorCode::ok);
    ASSERT_TRUE(std::ranges::equal(memory.subspan(offset, size), data)) << size;
    std::ranges::fill(buffer, std::byte{0});
    ASSERT_EQ(execute(a, b.rank, local.request(Op::get, target.at(offset), size), {&b}).status, ErrorCode::ok);
    ASSERT_TRUE(std::ranges::equal(std::span(buffer).first(size), data)) << size;
  }
}

TEST_P(Rma, MappedMemoryIsThePeersAndStaysWhenThePeerGivesItBack) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  std::byte* const memory = core::segments::allocate_alone(8192);
  memory[100] = std::byte{7};
  core::Mapping mapping;
  {
    const Target target(a, b, {memory, 8192}, MemoryKind::shared);
    const auto over = [&] {
      mapping = a.endpoint(1).map(target.at(0), 8192);
      return mapping.state != core::Mapping::State::later;
    };
    const auto poll = [&] {
      a.poll();
      b.poll();
    };
    if (target.handle) {
      ASSERT_TRUE(until(poll, over));
    }
    EXPECT_EQ(a.endpoint(1).map(target.at(4096), 8192).state, core::Mapping::State::never) << "beyond the memory";
    b.transport->deregister_memory(target.registration);
  }
  if (mapping.state != core::Mapping::State::mapped) {
    godwit::deallocate(memory);
    GTEST_SKIP() << "no mappings";
  }
  EXPECT_EQ(mapping.memory.get()[100], std::byte{7});
  mapping.memory.get()[101] = std::byte{8};
  EXPECT_EQ(memory[101], std::byte{8});
  godwit::deallocate(memory);
  for (int i = 0; i < 1000; ++i) a.poll(), b.poll();
  EXPECT_EQ(mapping.memory.get()[101], std::byte{8});
}

TEST_P(Rma, PutAndGetOnSharedMemory) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  if (!a.endpoint(1).capabilities().rma) GTEST_SKIP() << "no rma";
  shared_vector<std::byte> memory(100'000);
  put_and_get(a, b, memory, MemoryKind::shared);
  shared_vector<std::byte> other(3 << 20);  // another segment
  put_and_get(a, b, other, MemoryKind::shared);
  put_and_get(b, a, memory, MemoryKind::shared);
}

TEST_P(Rma, PutAndGetOnPrivateMemoryOrNoHandle) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  std::vector<std::byte> memory(100'000);
  if (a.endpoint(1).capabilities().private_rma) return put_and_get(a, b, memory, MemoryKind::host);
  EXPECT_FALSE(Target(a, b, memory, MemoryKind::host).handle);
}

TEST_P(Rma, LargestTransfer) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  const auto& capabilities = a.endpoint(1).capabilities();
  if (!capabilities.rma) GTEST_SKIP() << "no rma";
  shared_vector<std::byte> memory(std::min<std::size_t>(capabilities.max_rdma, 64 << 20));
  const Target target(a, b, memory, MemoryKind::shared);
  auto buffer = pattern(memory.size(), 5);
  const Local local(a, buffer);
  ASSERT_EQ(execute(a, 1, local.request(Op::put, target.at(0), memory.size()), {&b}).status, ErrorCode::ok);
  ASSERT_EQ(execute(a, 1, local.request(Op::flush, target.at(0), 0), {&b}).status, ErrorCode::ok);
  EXPECT_TRUE(std::ranges::equal(memory, buffer));
  std::ranges::fill(buffer, std::byte{0});
  ASSERT_EQ(execute(a, 1, local.request(Op::get, target.at(0), memory.size()), {&b}).status, ErrorCode::ok);
  EXPECT_TRUE(std::ranges::equal(memory, buffer));
}

// More than a transport may want to have under way, to a peer that is not in the library.
TEST_P(Rma, LargeGetsNeedNoHelp) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  const auto& capabilities = a.endpoint(1).capabilities();
  if (!capabilities.rma || !capabilities.private_rma) GTEST_SKIP() << "no private rma";
  constexpr std::size_t count = 9, bytes = 300'001;
  auto memory = pattern(count * bytes, 8);
  const Target target(a, b, memory, MemoryKind::host);
  std::vector<std::byte> buffer(memory.size());
  const Local local(a, buffer);
  std::vector<WorkRequest> requests;
  for (std::size_t i = 0; i < count; ++i) {
    WorkRequest request = local.request(Op::get, target.at(i * bytes), bytes);
    request.local = std::span(buffer).subspan(i * bytes, bytes);
    request.cookie = i;
    requests.push_back(request);
  }
  post_all(a.endpoint(1), requests, {&a});
  ASSERT_TRUE(until([&] { a.poll(); }, [&] { return a.count(Kind::done) == count; }));
  EXPECT_EQ(buffer, memory);
  for (Received done; a.take(Kind::done, done);) EXPECT_EQ(done.status, ErrorCode::ok) << done.detail;
}

// The notification comes after its payload, in order with sends, and is subject to back-pressure.
TEST_P(Rma, NotificationFollowsItsPayload) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  if (!a.endpoint(1).capabilities().put_notify) GTEST_SKIP() << "no put_notify";
  constexpr std::uint32_t count = 5000;
  shared_vector<std::uint64_t> memory(count);
  const Target target(a, b, std::as_writable_bytes(std::span(memory)), MemoryKind::shared);
  std::vector<std::uint64_t> values(count);
  const Local local(a, std::as_writable_bytes(std::span(values)));
  std::uint32_t next = 0;
  const auto check = [&] {
    a.poll();  // it learns that the memory is mapped
    b.poll();
    for (Received notify; b.take(Kind::notify, notify); ++next) {
      ASSERT_EQ(notify.imm, next);
      ASSERT_EQ(notify.peer, 0);
      ASSERT_EQ(std::atomic_ref(memory[next]).load(), next + 1);
    }
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    values[i] = i + 1;
    WorkRequest put = local.request(Op::put, target.at(i * 8), 8);
    put.local = local.bytes.subspan(i * 8, 8);
    put.imm = i;
    put.signalled = false;
    std::size_t accepted = 0;
    ASSERT_TRUE(until(
        [&] {
          if ((accepted = a.endpoint(1).post(std::span(&put, 1))) == 0) check();
        },
        [&] { return accepted == 1; }));
  }
  ASSERT_TRUE(until(check, [&] { return next == count || HasFatalFailure(); }));
}

TEST_P(Rma, AtomicsFromTwoPeers) {
  Node owner(GetParam(), 0), a(GetParam(), 1), b(GetParam(), 2);
  connect(a, owner);
  connect(b, owner);
  if (a.endpoint(0).capabilities().atomics == core::AtomicsDomain::none) GTEST_SKIP() << "no atomics";
  shared_vector<std::uint64_t> words(2);
  constexpr std::uint64_t rounds = 2000;
  std::vector<Target> targets;
  for (Node* node : {&a, &b})
    targets.emplace_back(*node, owner, std::as_writable_bytes(std::span(words)), MemoryKind::shared);
  const auto work = [&](Node& node, const Target& target) {
    std::uint64_t before = 0, last = 0;
    const Local local(node, std::as_writable_bytes(std::span(&before, 1)));
    EXPECT_TRUE(node.endpoint(0).has_atomics(*target.handle));
    for (std::uint64_t i = 0; i < rounds; ++i) {
      WorkRequest add = local.request(Op::fetch_add, target.at(0), 8);
      add.operand = 3;
      ASSERT_EQ(execute(node, 0, add).status, ErrorCode::ok);
      ASSERT_TRUE(before >= last && before % 3 == 0);
      last = before;
      WorkRequest swap = local.request(Op::compare_swap, target.at(8), 8);
      do {  // increments by compare_swap
        swap.compare = before;
        swap.operand = before + 1;
        ASSERT_EQ(execute(node, 0, swap).status, ErrorCode::ok);
      } while (before != swap.compare);
    }
  };
  // One after the other in steps would hide races where the transport executes at once: two threads.
  std::thread other([&] { work(b, targets[1]); });
  work(a, targets[0]);
  other.join();
  EXPECT_EQ(words[0], 2 * 3 * rounds);
  EXPECT_EQ(words[1], 2 * rounds);
}

TEST_P(Rma, HandlesWithoutAtomicsFailThemInWords) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  std::vector<std::uint64_t> memory(1);
  const Target target(a, b, std::as_writable_bytes(std::span(memory)), MemoryKind::host);
  if (!target.handle || a.endpoint(1).has_atomics(*target.handle)) GTEST_SKIP() << "there is no such handle";
  std::uint64_t result = 0;
  const Local local(a, std::as_writable_bytes(std::span(&result, 1)));
  const Received done = execute(a, 1, local.request(Op::fetch_add, target.at(0), 8));
  EXPECT_EQ(done.status, ErrorCode::not_supported);
  EXPECT_NE(done.detail, "");
  EXPECT_EQ(memory[0], 0U);
}

TEST_P(Rma, GarbageKeyGivesNoHandle) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  core::PackedKey key;
  key.bytes.fill(std::byte{0x5a});
  EXPECT_FALSE(a.endpoint(1).import_key(key));
  EXPECT_FALSE(a.endpoint(1).import_key({}));
}

// Some wires report success for a put that the target refuses: at the latest the flush must not.
TEST_P(Rma, PutsWithAKeyThatHasEndedAreNotReportedAsVisible) {
  if (!GetParam().keys_end) GTEST_SKIP() << "keys of memory stay valid, or are checked by nobody";
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  std::vector<std::byte> memory(1 << 16), data(1 << 12, std::byte{7});
  const Target target(a, b, memory, MemoryKind::host);
  const Local local(a, data);
  b.transport->deregister_memory(target.registration);
  const auto lost = [&] { return a.count(Kind::peer_lost) == 1; };
  const auto poll = [&] { a.poll(), b.poll(); };
  for (const Op op : {Op::put, Op::flush}) {
    WorkRequest request = local.request(op, target.at(0), op == Op::put ? data.size() : 0);
    request.cookie = op == Op::put ? 1 : 2;
    std::size_t accepted = 0;
    ASSERT_TRUE(until(
        [&] {
          poll();
          accepted = a.endpoint(1).post(std::span(&request, 1));
        },
        [&] { return accepted == 1 || lost(); }));
  }
  ASSERT_TRUE(until(poll, lost));
  Received end{};
  a.take(Kind::peer_lost, end);
  EXPECT_EQ(end.status, ErrorCode::transport) << end.detail;
  EXPECT_NE(end.detail.find("rank 1"), std::string::npos) << end.detail;
  for (Received done{}; a.take(Kind::done, done);) EXPECT_TRUE(done.cookie == 1 || done.status != ErrorCode::ok);
  EXPECT_EQ(std::ranges::count(memory, std::byte{7}), 0);
}

// --- memory that is mapped -------------------------------------------------------------------------------------------

// Waits until operations on it are done at once.
bool is_mapped(Node& user, Rank owner, const Target& target) {
  return until([&] { user.poll(); }, [&] { return user.endpoint(owner).put({}, target.at(0), {}); });
}

TEST_P(Rma, MappedMemoryIsReachedAtOnce) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  shared_vector<std::byte> memory(100'000);
  const Target target(a, b, memory, MemoryKind::shared);
  core::Endpoint& endpoint = a.endpoint(1);
  std::uint64_t before = 99;
  if (!GetParam().maps) {
    EXPECT_TRUE(endpoint.capabilities().early_put || !endpoint.put({}, target.at(0), {}));
    EXPECT_FALSE(endpoint.get(std::as_writable_bytes(std::span(&before, 1)), target.at(0)));
    EXPECT_FALSE(endpoint.atomic(Op::fetch_add, target.at(0), 1, 0, before));
    return;
  }
  ASSERT_TRUE(is_mapped(a, 1, target));
  for (std::size_t size = 0; size <= memory.size(); size = size < 140 ? size + 1 : size * 2 - 1) {
    const std::size_t offset = (memory.size() - size) / 2;
    const auto data = pattern(size, size);
    std::vector<std::byte> found(size);
    ASSERT_TRUE(endpoint.put(data, target.at(offset), {}));
    ASSERT_TRUE(std::ranges::equal(std::span(memory).subspan(offset, size), data)) << size;
    ASSERT_TRUE(endpoint.get(found, target.at(offset)));
    ASSERT_EQ(found, data) << size;
  }
  std::ranges::fill(memory, std::byte{0});
  EXPECT_TRUE(endpoint.atomic(Op::fetch_add, target.at(8), 5, 0, before));
  EXPECT_EQ(before, 0U);
  EXPECT_TRUE(endpoint.atomic(Op::compare_swap, target.at(8), 7, 4, before));
  EXPECT_EQ(before, 5U) << "not swapped";
  EXPECT_TRUE(endpoint.atomic(Op::compare_swap, target.at(8), 7, 5, before));
  EXPECT_TRUE(endpoint.atomic(Op::fetch_add, target.at(8), 0, 0, before));
  EXPECT_EQ(before, 7U);
  EXPECT_EQ(a.count(Kind::done), 0U) << "there are no completions";
}

// Puts that return at once keep their order with those that are posted, and a flush waits for them.
TEST_P(Rma, EarlyPutsAreThereAfterAFlush) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  core::Endpoint& endpoint = a.endpoint(1);
  if (!endpoint.capabilities().early_put) GTEST_SKIP() << "puts that return at once have taken effect";
  std::vector<std::byte> memory(20'000);
  const Target target(a, b, memory, MemoryKind::host);
  std::vector<std::byte> result(1);
  const Local local(a, result);
  std::uint64_t seed = 0;
  std::size_t refused = 0;
  for (std::size_t size = 0; size <= memory.size(); size = size < 500 ? size + 1 : size * 2 - 1) {
    auto data = pattern(size, ++seed);
    const auto sent = data;
    if (!until([&] { a.poll(), b.poll(); },
               [&] { return endpoint.put(data, target.at(0), {}) || size > endpoint.capabilities().max_inline; }))
      FAIL() << size;
    if (size > endpoint.capabilities().max_inline) {
      ++refused;
      continue;
    }
    std::ranges::fill(data, std::byte{0xee});
    ASSERT_EQ(execute(a, 1, local.request(Op::flush, target.at(0), 0), {&b}).status, ErrorCode::ok);
    ASSERT_TRUE(std::ranges::equal(std::span(memory).first(size), sent)) << size;
  }
  EXPECT_GT(refused, 0U) << "none was too long";
  EXPECT_EQ(a.count(Kind::done), 0U) << "there are no completions";
}

TEST_P(Rma, WhatIsNotMappedIsRefused) {
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  shared_vector<std::byte> memory(4096);
  std::vector<std::byte> not_shared(64), data(64, std::byte{1});
  const Target target(a, b, memory, MemoryKind::shared);
  const Target other(a, b, not_shared, MemoryKind::host);
  ASSERT_TRUE(!GetParam().maps || is_mapped(a, 1, target));
  core::Endpoint& endpoint = a.endpoint(1);
  if (endpoint.capabilities().early_put) GTEST_SKIP() << "what it does not reach is found out later";
  std::uint64_t before = 99;
  EXPECT_FALSE(endpoint.put(data, other.at(0), {}));
  EXPECT_FALSE(endpoint.get(data, other.at(0)));
  EXPECT_FALSE(endpoint.atomic(Op::fetch_add, other.at(0), 1, 0, before));
  EXPECT_FALSE(endpoint.put(data, {target.address, 1000}, {})) << "a handle that was never given";
  const std::size_t outside = std::size_t{1} << 40;
  EXPECT_FALSE(endpoint.put(data, target.at(outside), {}));
  EXPECT_FALSE(endpoint.get(data, target.at(0 - outside)));
  EXPECT_FALSE(endpoint.atomic(Op::fetch_add, target.at(12), 1, 0, before)) << "misaligned";
  EXPECT_EQ(before, 99U);
  EXPECT_EQ(not_shared, std::vector<std::byte>(64));
}

TEST_P(Rma, NotificationsAtOnceKeepTheirPlace) {
  if (!GetParam().maps) GTEST_SKIP() << "nothing is mapped";
  Node a(GetParam(), 0), b(GetParam(), 1);
  connect(a, b);
  shared_vector<std::uint32_t> memory(1);
  const Target target(a, b, std::as_writable_bytes(std::span(memory)), MemoryKind::shared);
  ASSERT_TRUE(is_mapped(a, 1, target));
  constexpr std::uint32_t count = 3000;
  std::uint32_t next = 0;
  std::size_t refused = 0;
  const auto check = [&] {
    b.poll();
    for (; !b.received.empty(); b.received.pop_front(), ++next) {
      const Received& arrived = b.received.front();
      ASSERT_EQ(arrived.kind, next % 3 == 1 ? Kind::message : Kind::notify);
      ASSERT_EQ(arrived.kind == Kind::message ? static_cast<std::uint32_t>(arrived.header.tag) : arrived.imm, next);
      ASSERT_GE(std::atomic_ref(memory[0]).load(), next - next % 3);
    }
  };
  for (std::uint32_t i = 0; i < count && !HasFatalFailure(); ++i) {
    const core::WireHeader header = send_request({}, i).header;
    const auto try_it = [&] {
      return i % 3 == 1 ? a.endpoint(1).send(header, {})
                        : a.endpoint(1).put(std::as_bytes(std::span(&i, 1)), target.at(0), i);
    };
    bool accepted = false;
    ASSERT_TRUE(until(
        [&] {
          accepted = try_it();
          if (accepted) return;
          ++refused;
          check();
        },
        [&] { return accepted || HasFatalFailure(); }));
  }
  ASSERT_TRUE(until(check, [&] { return next == count || HasFatalFailure(); }));
  EXPECT_TRUE(refused > 0 || GetParam().name != "shm_small_ring");
}

INSTANTIATE_TEST_SUITE_P(Over, Rma, ::testing::ValuesIn(transport_cases()), case_name);

}  // namespace
}  // namespace godwit::conformance
