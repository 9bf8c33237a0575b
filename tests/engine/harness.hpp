// N ranks of one process over a fake fabric, driven by hand. Threads: one, except where a test makes workers with
// ThreadMode::multiple.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/core_options.hpp"
#include "core/worker.hpp"
#include "fake/fake_transport.hpp"

namespace godwit::engine_test {

using core::Operation;

using Bytes = std::vector<std::byte>;
/// Bytes that differ from position to position and from seed to seed.
Bytes pattern(std::size_t size, std::uint64_t seed);

/// A file in the test's temporary folder, removed at the end.
class TemporaryFile {
 public:
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const noexcept { return path_; }
  std::string text() const;

 private:
  std::string path_;
};

/// An operation in flight; released or abandoned by the destructor. nullptr: done.
class Pending {
 public:
  Pending() = default;
  Pending(core::Worker& worker, Operation* operation) : worker_(&worker), operation_(operation) {}
  Pending(Pending&& other) noexcept
      : worker_(other.worker_),
        operation_(std::exchange(other.operation_, nullptr)),
        buffer_(std::move(other.buffer_)) {}
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  bool done() const { return operation_ == nullptr || operation_->done(); }
  ErrorCode status() const { return operation_ == nullptr ? ErrorCode::ok : operation_->status; }
  std::string detail() const { return operation_ == nullptr ? "" : operation_->detail; }
  MessageInfo info() const { return operation_->info; }
  Operation* operation() const noexcept { return operation_; }
  Rank rank() const noexcept { return worker_->rank(); }
  /// What a receive writes to (or a send reads): kept here so that it lives as long.
  Bytes& buffer() { return *buffer_; }
  Pending& owning(std::unique_ptr<Bytes> buffer) {
    buffer_ = std::move(buffer);
    return *this;
  }

 private:
  core::Worker* worker_ = nullptr;
  Operation* operation_ = nullptr;
  std::unique_ptr<Bytes> buffer_;
};

struct ClusterSettings {
  int ranks = 2;
  fake::Settings fabric{};
  std::map<std::string, std::string> options{};  // "EAGER_LIMIT" -> "1K"
  ThreadMode mode = ThreadMode::single;
  std::vector<Rank> without_worker{};  // ranks that the test plays itself, see Rogue
  bool self = false;                   // also the self transport
  std::vector<int> node_of{};          // of each rank, for their cards; empty: all run on one node
};

class Cluster {
 public:
  explicit Cluster(ClusterSettings settings = {});
  ~Cluster();

  core::Worker& worker(Rank rank) { return *nodes_[static_cast<std::size_t>(rank)]->worker; }
  core::Group& world(Rank rank) { return *nodes_[static_cast<std::size_t>(rank)]->world; }
  fake::Fabric& fabric() { return *fabric_; }
  core::Clock& clock() { return clock_; }
  std::string log() const { return log_file_.text(); }
  const core::Card& card(Rank rank) const { return directory_.cards[static_cast<std::size_t>(rank)]; }
  core::Transport& transport(Rank rank) { return *worker(rank).transports().back(); }
  int size() const noexcept { return settings_.ranks; }
  /// From now on this rank makes no progress.
  void kill(Rank rank);
  void stop(Rank rank) { nodes_[static_cast<std::size_t>(rank)]->stopped = true; }
  void resume(Rank rank) { nodes_[static_cast<std::size_t>(rank)]->stopped = false; }

  // --- operations: buffers live in the returned value ---------------------------------------------------------
  /// `group`: nullptr is the world.
  Pending send(Rank from, Rank to, Bytes data, Tag tag = 0, bool synchronous = false, core::Group* group = nullptr);
  Pending recv(Rank at, Rank from, std::size_t capacity, Tag tag = any_tag, core::Group* group = nullptr);
  Pending message(Rank from, Rank to, Bytes data, std::uint16_t handler);

  // --- movement -----------------------------------------------------------------------------------------------
  /// One pass of every rank. How many events.
  std::size_t pass();
  /// Delivers and progresses until nothing moves any more.
  void settle();
  /// As settle(), with random choices.
  void settle(std::mt19937_64& random);
  /// Connects all pairs, by an empty message each way where needed.
  void connect_all();
  /// No operation, message or registration is left anywhere; no contract was broken.
  void expect_clean();

 private:
  struct Directory : core::PeerDirectory {
    const core::Card& card(Rank rank) override { return cards[static_cast<std::size_t>(rank)]; }
    int size() const noexcept override { return static_cast<int>(cards.size()); }
    std::vector<core::Card> cards;
  };
  struct Node {
    std::unique_ptr<core::Worker> worker;
    core::Group* world = nullptr;
    bool stopped = false;
  };

  ClusterSettings settings_;
  TemporaryFile log_file_;
  core::OptionSet options_;
  core::Clock clock_;
  core::Log log_;
  core::ServiceThread service_;
  core::Services services_;
  std::shared_ptr<fake::Fabric> fabric_;
  Directory directory_;
  std::vector<std::unique_ptr<Node>> nodes_;

 public:
  /// Transports of the ranks without a worker.
  std::map<Rank, std::unique_ptr<core::Transport>> bare;
};

/// A rank that the test plays on the wire: it may send whatever it likes.
class Rogue {
 public:
  Rogue(Cluster& cluster, Rank itself, Rank victim);
  /// Sends a message with the next sequence number (or `sequence`), delivers it and lets the victim progress.
  void send(core::WireHeader header, std::span<const std::byte> payload = {});
  template <class T>
  void send(core::MessageKind kind, const T& payload, std::uint32_t context = 0, Tag tag = 0) {
    core::WireHeader header;
    header.kind = kind;
    header.context = context;
    header.tag = tag;
    send(header, core::wire_bytes(payload));
  }
  /// The header and payload of the next message from the victim that the test has not taken yet.
  struct Received {
    core::WireHeader header;
    Bytes payload;
    template <class T>
    T as() const {
      std::span<const std::byte> bytes(payload);
      return core::read_wire<T>(bytes).value();
    }
  };
  std::optional<Received> receive();
  std::uint32_t next_sequence = 0;

 private:
  void poll();

  Cluster& cluster_;
  Rank victim_;
  core::Transport& transport_;
  std::unique_ptr<core::Endpoint> endpoint_;
  std::deque<Received> received_;
};

}  // namespace godwit::engine_test
