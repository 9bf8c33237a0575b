// Ranks of one process with their workers and all their transports, on hosts with adapters in memory.
// Threads: run() makes one per rank; all else by the test's, while none of them runs.
#pragma once

#include <gtest/gtest.h>

#include <godwit/memory.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/core_options.hpp"
#include "core/worker.hpp"
#include "fake_verbs/fabric.hpp"

namespace godwit::atomics_test {

using core::AtomicsDomain;
using core::Operation;

enum class Device : std::uint8_t { full, without_atomics, none };

struct Seat {
  int host = 0;
  Device device = Device::full;
};

class Job {
 public:
  explicit Job(std::vector<Seat> seats, std::map<std::string, std::string> options = {});
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  core::Worker& worker(Rank rank);
  fake_verbs::Process& process(Rank rank);
  Rank size() const noexcept { return static_cast<Rank>(ranks_.size()); }
  std::string log() const;

  /// One pass of every rank.
  void pass();
  /// Passes until `done()`; false when that takes a minute.
  bool until(const std::function<bool()>& done);
  /// `work` of each rank in a thread of its own; ranks that are through go on with progress until all are.
  void run(const std::function<void(Rank)>& work);

  fake_verbs::Fabric fabric;

 private:
  struct Directory final : core::PeerDirectory {
    const core::Card& card(Rank rank) override { return cards[static_cast<std::size_t>(rank)]; }
    int size() const noexcept override { return static_cast<int>(cards.size()); }
    std::vector<core::Card> cards;
  };
  struct Member;

  std::string log_path_;
  Directory directory_;
  std::vector<std::unique_ptr<Member>> ranks_;
};

/// Words of one rank, registered, and the others' way to them.
class Words {
 public:
  Words(Job& job, Rank owner, std::size_t count, AtomicsDomain wish = AtomicsDomain::adapter);
  ~Words();
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  AtomicsDomain domain() const noexcept { return entry_->domain(); }
  core::RemoteRegion& seen_by(Rank rank) { return regions_[static_cast<std::size_t>(rank)]; }
  std::uint64_t& operator[](std::size_t i) { return words_[i]; }

  /// Started, not waited for; nullptr: done.
  Operation* start_add(Rank by, std::uint64_t operand, std::uint64_t* before, std::size_t index = 0,
                       std::uint32_t width = 8);
  /// By the calling thread, which is the rank's. Fails the test if it fails.
  std::uint64_t add(Rank by, std::uint64_t operand, std::size_t index = 0, std::uint32_t width = 8);
  std::uint64_t swap(Rank by, std::uint64_t expected, std::uint64_t desired, std::size_t index = 0);
  void put(Rank by, std::uint64_t value, std::size_t index);
  std::uint64_t get(Rank by, std::size_t index);

 private:
  void finish(Rank by, Operation* operation);

  Job& job_;
  const Rank owner_;
  shared_vector<std::uint64_t> words_;  // ranks of the host reach it, too
  core::RegionEntry* entry_;
  std::vector<core::RemoteRegion> regions_;
};

}  // namespace godwit::atomics_test
