// FlagSetup: how the ranks of a communicator come to a shared page, or agree to do without. Rank 0 makes the page and
// broadcasts its key, all map it, all agree that all have; both by schedules. Thread rule: the worker's.
#pragma once

#include <godwit/window.hpp>

#include "collectives/flag_page.hpp"
#include "core/worker.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace godwit::collectives {

/// Runs a call by a schedule.
class Schedules {
 public:
  /// nullptr: done, successfully. `sequence`: taken before, else now.
  virtual core::Operation* run(const CollectiveCall& call, std::optional<std::uint64_t> sequence) = 0;
  /// Nothing is left to do for the flags. May destroy their owner.
  virtual void flags_idle() noexcept = 0;

 protected:
  ~Schedules() = default;
};

class FlagSetup {
 public:
  FlagSetup(core::Worker& worker, core::Group& group, Schedules& schedules);
  ~FlagSetup();
  FlagSetup(const FlagSetup&) = delete;
  FlagSetup& operator=(const FlagSetup&) = delete;

  /// Takes two sequence numbers: all ranks call it after the same collective.
  void start();
  /// True: over. Else look again after a pass of progress.
  bool advance();
  /// Over: the page, if all ranks have it.
  bool agreed() const noexcept { return stage_ == Stage::over && votes_[0] != 0; }
  FlagPage page() const noexcept { return {page_, group_.size()}; }
  /// Over: is there a rank that cannot be made to fence?
  bool needs_fences() const noexcept { return votes_[1] == 0; }

 private:
  enum class Stage : std::uint8_t { idle, key, mapping, agreement, over };

  void make_page();
  bool take_step();
  bool map();
  void agree();

  core::Worker& worker_;
  core::Group& group_;
  Schedules& schedules_;
  Stage stage_ = Stage::idle;
  core::Operation* step_ = nullptr;  // broadcast, then allreduce
  std::uint64_t agreement_ = 0;      // its sequence number
  core::RegionEntry* region_ = nullptr;
  RemoteKey key_{};
  std::optional<core::RemoteRegion> target_;
  std::shared_ptr<std::byte> page_;
  std::array<std::uint8_t, 2> votes_{};  // 1: this rank (all ranks) have mapped it; obey membarrier(2)
};

}  // namespace godwit::collectives
