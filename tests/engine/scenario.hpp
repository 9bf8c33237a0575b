// One of everything between two ranks: what the tests of faults, full queues and odd transports run.
#pragma once

#include <functional>

#include "harness.hpp"

namespace godwit::engine_test {

/// A transport of some kind.
struct Variant {
  std::string name;
  std::function<void(core::Capabilities&)> change;
  bool at_once = false;  // one-sided operations, where the endpoint may
  fake::Settings settings(bool manual = false) const {
    fake::Settings made;
    made.manual = manual;
    made.at_once = at_once;
    change(made.capabilities);
    return made;
  }
};
const std::vector<Variant>& variants();
std::ostream& operator<<(std::ostream& out, const Variant& variant);

/// Registered memory of a rank.
class Exposed {
 public:
  Exposed(Cluster& cluster, Rank owner, std::size_t bytes);
  ~Exposed();
  Exposed(const Exposed&) = delete;
  Exposed& operator=(const Exposed&) = delete;
  std::uint64_t counter(std::uint16_t id) const { return id < entry_->counters.size() ? entry_->counters[id] : 0; }
  std::uint16_t slot() const { return entry_->slot; }

  std::vector<std::byte> memory;
  core::RemoteRegion remote;  // as the others see it

 private:
  core::Worker& owner_;
  core::RegionEntry* entry_;
};

class Scenario {
 public:
  explicit Scenario(Cluster& cluster);
  /// Posts everything; may be interrupted by nothing.
  void post();
  /// Names of what is not done.
  std::string undone(Rank of = any_source) const;
  /// All succeeded, with the right bytes, and callbacks came once.
  void expect_success();
  /// All operations (of one rank) have ended once; those that ended well have the right bytes, the others words.
  void expect_consistent(Rank of = any_source);
  std::vector<ErrorCode> outcomes() const;
  /// Lets go of all operations and regions. Those of a dead rank may be pending.
  void clear(Rank dead = any_source);

 private:
  // With a continuation.
  struct Tracked {
    std::string name;
    core::Worker* worker = nullptr;
    Bytes buffer;
    Operation* operation = nullptr;
    int calls = 0;
    bool at_once = false;
    ErrorCode status = ErrorCode::ok;
    bool done() const noexcept { return at_once || calls > 0; }
  };
  struct Named {
    std::string name;
    Rank rank = 0;
    Pending pending;
    Bytes expected;  // for receives and gets
  };
  void tracked_send(std::string name, Rank from, Rank to, Bytes data, Tag tag);
  void tracked_recv(std::string name, Rank at, Rank from, std::size_t capacity, Tag tag);
  void track(Tracked& tracked, Operation* operation);
  static void on_complete(Operation& operation, void* owner) noexcept;
  void add(std::string name, Pending pending, Bytes expected = {});
  void post_two_sided();
  void post_one_sided();

  Cluster& cluster_;
  std::unique_ptr<Exposed> window_;
  std::deque<Tracked> tracked_;
  std::deque<Named> named_;
  std::uint64_t before_add_ = 99, before_swap_ = 99, before_add32_ = 99;
  std::shared_ptr<std::vector<Bytes>> active_ = std::make_shared<std::vector<Bytes>>();
};

}  // namespace godwit::engine_test
