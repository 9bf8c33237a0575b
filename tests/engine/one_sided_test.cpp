// put, get, notifications, atomics, flush, fence: the wire messages, and the words of failures.
#include <array>
#include <cstring>
#include <thread>

#include "scenario.hpp"

namespace godwit::engine_test {
namespace {

using Script = std::vector<std::string>;
using Kind = Operation::Kind;

// Two ranks on a variant, and a window of rank 1.
struct Pair {
  explicit Pair(const Variant& variant, bool manual = false) : cluster({.fabric = variant.settings(manual)}) {
    cluster.connect_all();
    window = std::make_unique<Exposed>(cluster, 1, 20'000);
  }
  core::Worker& origin() { return cluster.worker(0); }
  Pending put(const Bytes& data, std::uint64_t offset, std::optional<std::uint16_t> notify = {}) {
    return {origin(), origin().post_put(window->remote, data, offset, notify)};
  }
  Pending get(Bytes& data, std::uint64_t offset) { return {origin(), origin().post_get(window->remote, data, offset)}; }
  Pending atomic(Kind kind, std::uint64_t offset, std::uint32_t width, std::uint64_t operand, std::uint64_t compare,
                 std::uint64_t* result) {
    return {origin(), origin().post_atomic(kind, window->remote, offset, width, operand, compare, result)};
  }
  Bytes at(std::size_t offset, std::size_t size) const {
    const auto first = window->memory.begin() + static_cast<std::ptrdiff_t>(offset);
    return {first, first + static_cast<std::ptrdiff_t>(size)};
  }
  template <class Word>
  Word word(std::size_t offset) const {
    Word value;
    std::memcpy(&value, window->memory.data() + offset, sizeof value);
    return value;
  }
  Cluster cluster;
  std::unique_ptr<Exposed> window;
};

const Variant& variant_called(std::string_view name) {
  for (const Variant& variant : variants())
    if (variant.name == name) return variant;
  throw std::invalid_argument("no such variant");
}

Script script_of_put(std::string_view variant, std::size_t size, bool notify) {
  Pair pair(variant_called(variant));
  const Bytes data = pattern(size, 1);
  const Pending put = pair.put(data, 5, notify ? std::optional<std::uint16_t>(7) : std::nullopt);
  pair.cluster.settle();
  EXPECT_TRUE(put.done());
  EXPECT_EQ(put.status(), ErrorCode::ok);
  EXPECT_EQ(pair.at(5, size), data);
  EXPECT_EQ(pair.window->counter(7), notify ? 1U : 0U);
  const bool taken = pair.cluster.worker(1).regions().find(pair.window->slot())->take(7, 1);
  EXPECT_EQ(taken, notify);
  return pair.cluster.fabric().script();
}

TEST(OneSided, PutScripts) {
  EXPECT_EQ(script_of_put("full", 5000, false), Script{"0>1 put 5000"});
  EXPECT_EQ(script_of_put("full", 5000, true), Script{"0>1 put 5000 notify"});
  EXPECT_EQ(script_of_put("full", 0, true), Script{"0>1 put 0 notify"});
  EXPECT_EQ(script_of_put("small", 2500, true), (Script{"0>1 put 1000", "0>1 put 1000", "0>1 put 500 notify"}));
  EXPECT_EQ(script_of_put("local_puts", 5000, true), (Script{"0>1 put 5000", "0>1 notify"}));
  EXPECT_EQ(script_of_put("messages_only", 10'000, true),
            (Script{"0>1 put_data 8192", "0>1 put_data 1808", "0>1 put_end", "1>0 put_ack"}));
  EXPECT_EQ(script_of_put("messages_only", 0, true), (Script{"0>1 put_end", "1>0 put_ack"}));
}

Script script_of_get(std::string_view variant, std::size_t size) {
  Pair pair(variant_called(variant));
  std::ranges::copy(pattern(size, 2), pair.window->memory.begin() + 9);
  Bytes data(size);
  const Pending get = pair.get(data, 9);
  pair.cluster.settle();
  EXPECT_TRUE(get.done());
  EXPECT_EQ(get.status(), ErrorCode::ok);
  EXPECT_EQ(data, pattern(size, 2));
  return pair.cluster.fabric().script();
}

TEST(OneSided, GetScripts) {
  EXPECT_EQ(script_of_get("full", 5000), Script{"0>1 get 5000"});
  EXPECT_EQ(script_of_get("full", 0), Script{});
  EXPECT_EQ(script_of_get("small", 2500), (Script{"0>1 get 1000", "0>1 get 1000", "0>1 get 500"}));
  EXPECT_EQ(script_of_get("messages_only", 10'000), (Script{"0>1 get_request", "1>0 data 8192", "1>0 data 1808"}));
  EXPECT_EQ(script_of_get("shared_memory_only", 100), (Script{"0>1 get_request", "1>0 data 100"}));
}

Script script_of_atomic(std::string_view variant, Kind kind, std::uint32_t width) {
  Pair pair(variant_called(variant));
  std::uint64_t before = 1;
  const Pending first = pair.atomic(kind, 16, width, 5, 0, &before);
  pair.cluster.settle();
  EXPECT_TRUE(first.done());
  EXPECT_EQ(before, 0U);
  Script script = pair.cluster.fabric().script();
  const Pending second = pair.atomic(kind, 16, width, ~std::uint64_t{0}, 4, &before);  // adds -1; or fails to swap
  pair.cluster.settle();
  EXPECT_EQ(before, 5U);
  const std::uint64_t expected = kind == Kind::fetch_add ? 4 : 5;
  EXPECT_EQ(width == 8 ? pair.word<std::uint64_t>(16) : pair.word<std::uint32_t>(16), expected);
  EXPECT_EQ(pair.word<std::uint32_t>(20), 0U) << "nothing beside the word changes";
  return script;
}

TEST(OneSided, AtomicScripts) {
  const Script emulated{"0>1 atomic_request", "1>0 atomic_reply"};
  EXPECT_EQ(script_of_atomic("full", Kind::fetch_add, 8), Script{"0>1 fetch_add"});
  EXPECT_EQ(script_of_atomic("full", Kind::compare_swap, 8), Script{"0>1 compare_swap"});
  EXPECT_EQ(script_of_atomic("full", Kind::fetch_add, 4), emulated);
  EXPECT_EQ(script_of_atomic("full", Kind::compare_swap, 4), emulated);
  EXPECT_EQ(script_of_atomic("messages_only", Kind::fetch_add, 8), emulated);
  EXPECT_EQ(script_of_atomic("messages_only", Kind::compare_swap, 8), emulated);
}

TEST(OneSided, AnUnwantedValueMayBeThrownAway) {
  for (const char* name : {"full", "messages_only"}) {
    Pair pair(variant_called(name));
    const Pending add = pair.atomic(Kind::fetch_add, 0, 8, 5, 0, nullptr);
    pair.cluster.settle();
    EXPECT_TRUE(add.done());
    EXPECT_EQ(pair.word<std::uint64_t>(0), 5U);
  }
}

// --- regions that are gone, or shorter than the origin thinks --------------------------------------------------------

class OneSidedOver : public ::testing::TestWithParam<Variant> {};

TEST_P(OneSidedOver, AWithdrawnRegionFailsItsOperations) {
  Pair pair(GetParam());
  core::RemoteRegion stale = pair.window->remote;
  pair.window.reset();
  const Bytes data = pattern(3000, 1);
  Bytes result(3000);
  std::uint64_t before = 0;
  core::Worker& origin = pair.origin();
  const Pending put(origin, origin.post_put(stale, data, 0, std::uint16_t{1})),
      get(origin, origin.post_get(stale, result, 0));
  const Pending add(origin, origin.post_atomic(Kind::fetch_add, stale, 0, 8, 1, 0, &before));
  const Pending add32(origin, origin.post_atomic(Kind::fetch_add, stale, 0, 4, 1, 0, &before));
  pair.cluster.settle();
  for (const Pending* failed : {&put, &get, &add, &add32}) {
    ASSERT_TRUE(failed->done());
    EXPECT_NE(failed->status(), ErrorCode::ok);
    EXPECT_NE(failed->detail(), "");
  }
  EXPECT_TRUE(origin.flush(1).ok()) << "nothing is outstanding";
  const Pending in = pair.cluster.recv(1, 0, 10), out = pair.cluster.send(0, 1, pattern(10, 1));
  pair.cluster.settle();
  EXPECT_TRUE(in.done()) << "the pair is usable";
}

TEST_P(OneSidedOver, AccessBeyondTheRegionFails) {
  Pair pair(GetParam());
  Exposed shorter(pair.cluster, 1, 100);
  core::RemoteRegion lying = shorter.remote;
  lying.size = 20'000;
  const Bytes data = pattern(3000, 1);
  Bytes result(3000);
  core::Worker& origin = pair.origin();
  const Pending put(origin, origin.post_put(lying, data, 0, {})), get(origin, origin.post_get(lying, result, 0));
  const Pending add32(origin, origin.post_atomic(Kind::fetch_add, lying, 100, 4, 1, 0, nullptr));
  pair.cluster.settle();
  EXPECT_TRUE(put.done() && get.done() && add32.done());
  // A put that is done when its buffer is free may fail later: then the flush says so.
  EXPECT_TRUE(put.status() != ErrorCode::ok || !origin.flush(1).ok());
  EXPECT_NE(get.status(), ErrorCode::ok);
  EXPECT_NE(add32.status(), ErrorCode::ok);
}

// One thread per rank, because flush() and fence() wait while the target works for them.
TEST_P(OneSidedOver, FlushAndFenceMakeItVisible) {
  Pair pair(GetParam());
  std::atomic<bool> stop{false};
  core::Worker& target = pair.cluster.worker(1);
  EXPECT_TRUE(pair.origin().flush(1).ok());
  {
    std::jthread other([&] {
      while (!stop.load()) target.progress();
    });
    for (std::uint64_t round = 0; round < 50; ++round) {
      const Bytes data = pattern(3000, round);
      const Pending put = pair.put(data, 64);
      const Pending add = pair.atomic(Kind::fetch_add, 8, 8, 1, 0, nullptr),
                    add32 = pair.atomic(Kind::fetch_add, 16, 4, 1, 0, nullptr);
      EXPECT_TRUE(pair.origin().fence(1).ok());
      EXPECT_TRUE(pair.origin().flush(1).ok());
      Bytes result(3000);
      const Pending get = pair.get(result, 64);
      if (get.operation() != nullptr) pair.origin().wait(*get.operation());
      EXPECT_TRUE(put.done());
      EXPECT_EQ(result, data);
      const Pending again = pair.get(result, 64);
      EXPECT_TRUE(pair.origin().fence(1).ok());
      EXPECT_TRUE(again.done()) << "a put behind the fence could change what it reads";
    }
    stop = true;
  }
  EXPECT_EQ(pair.word<std::uint64_t>(8), 50U);
  EXPECT_EQ(pair.word<std::uint32_t>(16), 50U);
}

INSTANTIATE_TEST_SUITE_P(On, OneSidedOver, ::testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param.name; });

TEST(OneSided, FlushOfLocallyCompletedPutsAsksTheWire) {
  Pair pair(variant_called("local_puts"));
  const Bytes data = pattern(10, 1);
  const Pending put = pair.put(data, 0);
  EXPECT_TRUE(pair.origin().flush(1).ok());
  EXPECT_EQ(pair.cluster.fabric().script(), (Script{"0>1 put 10", "0>1 flush"}));
}

// The message that notifies may not overtake the payload, and each notification counts once.
TEST(OneSided, NotificationsComeAfterTheirPayload) {
  for (const Variant& variant : variants()) {
    Pair pair(variant, true);
    std::vector<Bytes> data;
    std::vector<Pending> puts;
    for (std::size_t i = 0; i < 20; ++i) data.push_back(pattern(900, i));
    for (std::size_t i = 0; i < 20; ++i) puts.push_back(pair.put(data[i], i * 1000, std::uint16_t{4}));
    for (int idle = 0; idle < 5; ++idle) {
      if (pair.cluster.fabric().step()) idle = -1;
      if (pair.cluster.pass() > 0) idle = -1;
      const std::size_t notified = pair.window->counter(4);
      for (std::size_t i = 0; i < notified; ++i) ASSERT_EQ(pair.at(i * 1000, 900), data[i]) << variant;
    }
    EXPECT_EQ(pair.window->counter(4), 20U);
    EXPECT_FALSE(pair.cluster.worker(1).regions().find(pair.window->slot())->take(4, 21));
    EXPECT_TRUE(pair.cluster.worker(1).regions().find(pair.window->slot())->take(4, 20));
    EXPECT_FALSE(pair.cluster.worker(1).regions().find(pair.window->slot())->take(4, 1));
  }
}

TEST(OneSided, AFailedRegistrationOfAWindowLeavesNothing) {
  Cluster cluster({.self = true});
  cluster.fabric().refuse_registration(true);
  Bytes memory(100);
  core::Worker& worker = cluster.worker(0);
  EXPECT_THROW(worker.regions().add(memory, worker.transports()), Error);
  cluster.fabric().refuse_registration(false);
  core::RegionEntry& entry = worker.regions().add(memory, worker.transports());
  EXPECT_EQ(entry.slot, 0);
  EXPECT_EQ(entry.registrations.size(), 2U);
  EXPECT_EQ(core::decode_key(core::encode_key(entry, 0)).keys.size(), 2U);
  worker.regions().remove(entry);
  EXPECT_EQ(cluster.fabric().registrations(), 0U);
}

TEST(OneSided, GarbageIsNoKey) {
  RemoteKey key;
  EXPECT_THROW(core::decode_key(key), Error);
  key.bytes.fill(std::byte{0xff});
  EXPECT_THROW(core::decode_key(key), Error);
}

TEST(OneSided, AKeySaysWhoExecutesAtomics) {
  Cluster cluster({.self = true});
  core::Worker& worker = cluster.worker(0);
  Bytes memory(8);
  core::RegionEntry& entry = worker.regions().add(memory, worker.transports(), core::AtomicsDomain::adapter);
  EXPECT_EQ(entry.domain(), core::AtomicsDomain::cpu) << "no transport here has an adapter";
  entry.registrations[1].second.atomics = true;
  for (const std::uint8_t place : std::array<std::uint8_t, 3>{0, 2, 3}) {
    entry.adapter_key = place;  // as if registered there
    const RemoteKey key = core::encode_key(entry, 0);
    if (place > entry.registrations.size()) {
      EXPECT_THROW(core::decode_key(key), Error);
      continue;
    }
    EXPECT_EQ(core::decode_key(key).adapter_key, place);
    EXPECT_EQ(core::decode_key(key).domain(), entry.domain());
  }
  worker.regions().remove(entry);
  EXPECT_EQ(worker.regions().add(memory, worker.transports()).domain(), core::AtomicsDomain::cpu) << "slots are reused";
  worker.regions().remove(entry);
}

}  // namespace
}  // namespace godwit::engine_test
