#include "scenario.hpp"

#include <algorithm>
#include <cstring>
#include <ostream>

namespace godwit::engine_test {

const std::vector<Variant>& variants() {
  using core::Capabilities;
  static const std::vector<Variant> all = {
      {"full", [](Capabilities&) {}},
      {"messages_only",
       [](Capabilities& c) {
         c.rma = c.private_rma = c.put_notify = false;
         c.atomics = core::AtomicsDomain::none;
       }},
      {"local_puts",
       [](Capabilities& c) {
         c.put_done = core::PutDone::local;
         c.put_notify = false;
       }},
      {"no_inline", [](Capabilities& c) { c.max_inline = 0; }},
      {"small",
       [](Capabilities& c) {
         c.max_message = core::smallest_max_message;
         c.max_inline = 32;
         c.max_rdma = 1000;
       }},
      {"small_messages_only",
       [](Capabilities& c) {
         c.max_message = core::smallest_max_message;
         c.max_inline = 100;
         c.rma = c.private_rma = c.put_notify = false;
         c.atomics = core::AtomicsDomain::none;
       }},
      {"shared_memory_only", [](Capabilities& c) { c.private_rma = false; }},
      {"mapped", [](Capabilities&) {}, true},
      {"mapped_small", [](Capabilities& c) { c.max_rdma = 1000; }, true},
  };
  return all;
}

std::ostream& operator<<(std::ostream& out, const Variant& variant) { return out << variant.name; }

Exposed::Exposed(Cluster& cluster, Rank owner, std::size_t bytes)
    : memory(bytes), owner_(cluster.worker(owner)), entry_(&owner_.regions().add(memory, owner_.transports())) {
  remote = core::decode_key(core::encode_key(*entry_, owner));
}

Exposed::~Exposed() { owner_.regions().remove(*entry_); }

// --- posting -----------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t window_bytes = 20'000;
constexpr std::size_t put_at = 4000, put_size = 5000;
constexpr std::size_t get_at = 10'000, get_size = 7000;
constexpr std::size_t add_at = 64, swap_at = 72, add32_at = 84;
constexpr std::uint16_t small_handler = 3, large_handler = 4;

Bytes slice(const Bytes& bytes, std::size_t offset, std::size_t size) {
  const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace

Scenario::Scenario(Cluster& cluster) : cluster_(cluster), window_(std::make_unique<Exposed>(cluster, 1, window_bytes)) {
  for (const std::uint16_t id : {small_handler, large_handler})
    cluster_.worker(1).set_handler(cluster_.world(1), id, [active = active_](const ActiveMessage& message) {
      active->emplace_back(message.payload.begin(), message.payload.end());
    });
  std::ranges::copy(pattern(get_size, 50), window_->memory.begin() + get_at);
}

void Scenario::on_complete(Operation& operation, void* owner) noexcept {
  auto& tracked = *static_cast<Tracked*>(owner);
  ++tracked.calls;
  tracked.status = operation.status;
  tracked.operation = nullptr;
  tracked.worker->release(operation);
}

void Scenario::track(Tracked& tracked, Operation* operation) {
  tracked.operation = operation;
  tracked.at_once = operation == nullptr;
}

void Scenario::tracked_send(std::string name, Rank from, Rank to, Bytes data, Tag tag) {
  Tracked& tracked = tracked_.emplace_back(Tracked{std::move(name), &cluster_.worker(from), std::move(data)});
  core::SendArguments arguments;
  arguments.group = &cluster_.world(from);
  arguments.data = tracked.buffer;
  arguments.to = to;
  arguments.tag = tag;
  arguments.then = {&on_complete, &tracked};
  track(tracked, tracked.worker->post_send(arguments));
}

void Scenario::tracked_recv(std::string name, Rank at, Rank from, std::size_t capacity, Tag tag) {
  Tracked& tracked = tracked_.emplace_back(Tracked{std::move(name), &cluster_.worker(at), Bytes(capacity)});
  core::RecvArguments arguments;
  arguments.group = &cluster_.world(at);
  arguments.data = tracked.buffer;
  arguments.from = from;
  arguments.tag = tag;
  arguments.then = {&on_complete, &tracked};
  track(tracked, tracked.worker->post_recv(arguments));
}

void Scenario::add(std::string name, Pending pending, Bytes expected) {
  const Rank rank = pending.rank();
  named_.push_back({std::move(name), rank, std::move(pending), std::move(expected)});
}

void Scenario::post_two_sided() {
  tracked_recv("tracked receive of eager", 1, 0, 500, 1);
  add("receive of rendezvous", cluster_.recv(1, 0, 30'000, 2), pattern(30'000, 2));
  tracked_send("tracked eager", 0, 1, pattern(500, 1), 1);
  add("rendezvous", cluster_.send(0, 1, pattern(30'000, 2), 2));
  tracked_send("tracked unexpected rendezvous", 0, 1, pattern(25'000, 3), 3);
  add("unexpected eager", cluster_.send(0, 1, pattern(700, 4), 4));
  add("synchronous", cluster_.send(0, 1, pattern(10, 5), 5, true));
  add("empty", cluster_.send(0, 1, {}, 6));
  add("answer", cluster_.send(1, 0, pattern(12'000, 7), 7));
  add("receive of answer", cluster_.recv(0, any_source, 12'000, 7), pattern(12'000, 7));
  tracked_recv("tracked receive of unexpected rendezvous", 1, 0, 25'000, 3);
  add("receive of unexpected eager", cluster_.recv(1, any_source, 700, 4), pattern(700, 4));
  add("receive of synchronous", cluster_.recv(1, 0, 10, 5), pattern(10, 5));
  add("receive of empty", cluster_.recv(1, 0, 0, 6));
  add("active", cluster_.message(0, 1, pattern(90, 8), small_handler));
  add("large active", cluster_.message(0, 1, pattern(40'000, 9), large_handler));
}

void Scenario::post_one_sided() {
  core::Worker& origin = cluster_.worker(0);
  core::RemoteRegion& target = window_->remote;
  const auto owned = [&](Bytes bytes) { return std::make_unique<Bytes>(std::move(bytes)); };
  auto data = owned(pattern(put_size, 10));
  Operation* put = origin.post_put(target, *data, put_at, std::uint16_t{2});
  add("put", std::move(Pending(origin, put).owning(std::move(data))));
  auto result = owned(Bytes(get_size));
  Operation* get = origin.post_get(target, *result, get_at);
  add("get", std::move(Pending(origin, get).owning(std::move(result))), pattern(get_size, 50));
  using Kind = Operation::Kind;
  add("fetch_add", {origin, origin.post_atomic(Kind::fetch_add, target, add_at, 8, 5, 0, &before_add_)});
  add("compare_swap", {origin, origin.post_atomic(Kind::compare_swap, target, swap_at, 8, 7, 0, &before_swap_)});
  add("fetch_add 32", {origin, origin.post_atomic(Kind::fetch_add, target, add32_at, 4, 9, 0, &before_add32_)});
}

void Scenario::post() {
  post_two_sided();
  post_one_sided();
}

// --- outcome -----------------------------------------------------------------------------------------------------

std::string Scenario::undone(Rank of) const {
  std::string names;
  for (const Tracked& tracked : tracked_)
    if (!tracked.done() && (of == any_source || of == tracked.worker->rank())) names += tracked.name + "; ";
  for (const Named& named : named_)
    if (!named.pending.done() && (of == any_source || of == named.rank)) names += named.name + "; ";
  return names;
}

std::vector<ErrorCode> Scenario::outcomes() const {
  std::vector<ErrorCode> codes;
  for (const Tracked& tracked : tracked_) codes.push_back(tracked.status);
  for (const Named& named : named_) codes.push_back(named.pending.status());
  return codes;
}

void Scenario::expect_consistent(Rank of) {
  ASSERT_EQ(undone(of), "");
  for (const Tracked& tracked : tracked_) {
    if (of != any_source && of != tracked.worker->rank()) continue;
    EXPECT_EQ(tracked.calls + (tracked.at_once ? 1 : 0), 1) << tracked.name;
    if (tracked.status == ErrorCode::ok && tracked.name == "tracked receive of eager") {
      EXPECT_EQ(tracked.buffer, pattern(500, 1));
    }
    if (tracked.status == ErrorCode::ok && tracked.name == "tracked receive of unexpected rendezvous") {
      EXPECT_EQ(tracked.buffer, pattern(25'000, 3));
    }
  }
  for (Named& named : named_) {
    if (of != any_source && of != named.rank) continue;
    if (named.pending.status() == ErrorCode::ok && !named.expected.empty()) {
      EXPECT_TRUE(named.pending.buffer() == named.expected) << named.name;
    }
    if (named.pending.status() != ErrorCode::ok) {
      EXPECT_NE(named.pending.detail(), "") << named.name << " failed without words";
    }
  }
  for (const Bytes& message : *active_) EXPECT_TRUE(message == pattern(90, 8) || message == pattern(40'000, 9));
  EXPECT_LE(active_->size(), 2U);
}

void Scenario::expect_success() {
  ASSERT_EQ(undone(), "");
  for (const Tracked& tracked : tracked_) EXPECT_EQ(tracked.status, ErrorCode::ok) << tracked.name;
  for (const Named& named : named_)
    EXPECT_EQ(named.pending.status(), ErrorCode::ok) << named.name << named.pending.detail();
  expect_consistent();
  EXPECT_EQ(active_->size(), 2U);
  EXPECT_EQ(slice(window_->memory, put_at, put_size), pattern(put_size, 10));
  EXPECT_EQ(window_->counter(2), 1U);
  std::uint64_t added = 0, swapped = 0;
  std::uint32_t added32 = 0;
  std::memcpy(&added, window_->memory.data() + add_at, sizeof added);
  std::memcpy(&swapped, window_->memory.data() + swap_at, sizeof swapped);
  std::memcpy(&added32, window_->memory.data() + add32_at, sizeof added32);
  EXPECT_EQ(added, 5U);
  EXPECT_EQ(swapped, 7U);
  EXPECT_EQ(added32, 9U);
  EXPECT_EQ(before_add_, 0U);
  EXPECT_EQ(before_swap_, 0U);
  EXPECT_EQ(before_add32_, 0U);
}

void Scenario::clear(Rank dead) {
  for (const Tracked& tracked : tracked_)
    if (tracked.operation != nullptr && tracked.worker->rank() != dead)
      ADD_FAILURE() << tracked.name << " is still pending";
  named_.clear();
  window_.reset();
}

}  // namespace godwit::engine_test
