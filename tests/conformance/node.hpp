// One rank of a test: services, a transport, and what it has received. Several may live in one process.
// Threads: one at a time, except where the transport says otherwise.
#pragma once

#include "cases.hpp"
#include "core/card.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace godwit::conformance {

/// A completion that outlives the poll.
struct Received {
  core::Completion::Kind kind;
  ErrorCode status;
  Rank peer;
  std::uint64_t cookie;
  std::uint32_t imm;
  core::WireHeader header;
  std::vector<std::byte> payload;
  std::string detail;
};

using Kind = core::Completion::Kind;

class Node {
 public:
  Node(const TransportCase& transport_case, Rank its_rank, std::string_view job = "conformance");
  ~Node();

  core::Card card() const;
  core::Endpoint& open(Rank peer, const core::Card& card);
  core::Endpoint& endpoint(Rank peer) { return *endpoints_.at(peer); }
  void close_endpoint(Rank peer) { endpoints_.erase(peer); }
  core::Reach reaches(Rank peer, const core::Card& card) const;

  /// One poll; what it found is added to `received`. Returns how much.
  std::size_t poll(std::size_t most = 32);
  /// Takes the first received completion of that kind (and peer, unless negative).
  bool take(Kind kind, Received& out, Rank peer = -1);
  std::size_t count(Kind kind, Rank peer = -1) const;

  const Rank rank;
  std::deque<Received> received;

 private:
  core::OptionSet options_;
  core::Log log_;
  core::Clock clock_;
  core::ServiceThread service_;
  core::Services services_;

 public:
  std::unique_ptr<core::Transport> transport;

 private:
  std::map<Rank, std::unique_ptr<core::Endpoint>> endpoints_;
};

inline constexpr auto patience = std::chrono::seconds(60);

/// Calls `step` until `done()`; false when that took too long.
template <class Step, class Done>
bool until(Step&& step, Done&& done) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    step();
    std::this_thread::yield();
  }
  return true;
}

/// Opens endpoints in both directions and waits for both.
void connect(Node& a, Node& b);
/// Posts all, polling the given nodes whenever the queue is full: the sender too, which may learn only so of room.
void post_all(core::Endpoint& endpoint, std::span<const core::WorkRequest> requests, std::vector<Node*> polled);
/// Posts one signalled request, waits for its completion and returns that.
Received execute(Node& node, Rank peer, core::WorkRequest request, std::vector<Node*> also_polled = {});

core::WorkRequest send_request(std::span<std::byte> payload, std::int64_t tag = 0, bool signalled = false);
/// Bytes that depend on their place and on `seed`.
std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed);

/// Fixture: one transport.
class Conformance : public ::testing::TestWithParam<TransportCase> {};
inline std::string case_name(const ::testing::TestParamInfo<TransportCase>& info) { return info.param.name; }

}  // namespace godwit::conformance
