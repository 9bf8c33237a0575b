// Execution: one collective in flight on host memory. Posts the steps that may start, is called back when messages are
// done, reduces and copies by itself. Thread rule: the worker's (under its lock; callbacks come from progress()).
// Errors: the first step that fails aborts the communicator. The collective is done when no message is under way any
// more, so that nobody touches the user's buffers after that.
#pragma once

#include "collectives/plan_cache.hpp"
#include "core/worker.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace godwit::collectives {

class Execution {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// The execution has ended and can be used again. May destroy it.
    virtual void recycle(Execution& execution) noexcept = 0;
  };

  Execution(core::Worker& worker, core::Group& group, Owner& owner) : worker_(worker), group_(group), owner_(owner) {}
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Makes room for a plan: start() allocates nothing more. Throws std::bad_alloc.
  void prepare(PlanCache::Entry& entry);
  /// Runs `call`, whose sequence number has been taken, by the plan prepared. nullptr: done, successfully; else the
  /// collective's operation.
  core::Operation* start(const CollectiveCall& call, std::uint64_t sequence, std::uint32_t signature);

 private:
  /// What a message's operation is called back with.
  struct Ticket {
    Execution* execution;
    StepIndex step;
  };

  static void on_complete(core::Operation& operation, void* ticket) noexcept;
  void finished(StepIndex step, core::Operation& operation);
  bool advance();
  void perform(StepIndex index);
  void fail(StepIndex step, ErrorCode code, const std::string& detail);
  core::Operation& make_operation();
  void end();
  std::byte* at(Place place) const noexcept {
    return buffers_[static_cast<std::size_t>(place.buffer)] + place.offset * element_size_;
  }

  core::Worker& worker_;
  core::Group& group_;
  Owner& owner_;
  PlanCache::Entry* entry_ = nullptr;
  core::Operation* operation_ = nullptr;  // the collective's own; none while start() runs
  Frontier frontier_;
  std::vector<Ticket> tickets_;  // by step
  std::array<std::byte*, 3> buffers_{};
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_capacity_ = 0;
  std::size_t element_size_ = 1;
  Tag sequence_ = 0;
  std::uint32_t signature_ = 0;
  bool busy_ = false;  // somebody up the stack goes on when a step is complete
  ErrorCode status_ = ErrorCode::ok;
  std::string detail_;
};

}  // namespace godwit::collectives
