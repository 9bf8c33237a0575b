// ScheduleBuilder: algorithms state steps in program order; dependencies follow from the elements they touch, as in
// an out-of-order processor. So an algorithm reads like the textbook and still runs with all the overlap it allows.
#pragma once

#include "collectives/interval_map.hpp"
#include "collectives/schedule.hpp"

#include <array>
#include <initializer_list>
#include <vector>

namespace godwit::collectives {

/// Where the own operand of a reduction goes.
enum class Order : std::uint8_t { mine_first, mine_last };

class ScheduleBuilder {
 public:
  ScheduleBuilder(const Problem& problem, Rank rank);

  const Problem& problem() const noexcept { return problem_; }
  Rank rank() const noexcept { return rank_; }
  int size() const noexcept { return problem_.size; }
  std::uint64_t count() const noexcept { return problem_.count; }
  /// Elements in `blocks` blocks of count() elements: where block number `blocks` begins.
  std::uint64_t blocks(int blocks) const noexcept { return static_cast<std::uint64_t>(blocks) * problem_.count; }
  Place input(std::uint64_t offset = 0) const noexcept { return {Buffer::input, offset}; }
  Place output(std::uint64_t offset = 0) const noexcept { return {Buffer::output, offset}; }
  /// Reserves `count` elements of scratch memory.
  Place scratch(std::uint64_t count) noexcept;

  /// Each states one step. `after` adds dependencies that do not follow from data. Empty messages are sent, too:
  /// both sides count them, and they carry the signature of the call.
  StepIndex send(Rank to, Place from, std::uint64_t count, std::initializer_list<StepIndex> after = {});
  StepIndex recv(Rank from, Place into, std::uint64_t count, std::initializer_list<StepIndex> after = {});
  void reduce(Place left, Place right, Place target, std::uint64_t count);
  /// Nothing when both are the same elements (in place).
  void copy(Place from, Place to, std::uint64_t count);
  /// Ends a reduction: divides by the number of ranks if the operation is avg. Once per element.
  void finish(Place place, std::uint64_t count);

  /// As send and recv, in pieces of at most problem().chunk() elements, so that what follows can overlap.
  void send_chunks(Rank to, Place from, std::uint64_t count);
  void recv_chunks(Rank from, Place into, std::uint64_t count);
  /// target = mine op received (or the other way round): meets send_chunks. Received pieces go through a few
  /// scratch slots that stay in the cache.
  void recv_reduce(Rank from, Place mine, Place target, std::uint64_t count, Order order);

  Schedule take() && { return std::move(schedule_); }

 private:
  struct Access {
    std::int64_t writer = -1;
    std::vector<StepIndex> readers;  // since that write
  };
  StepIndex add(Step step, std::initializer_list<StepIndex> after);
  void note_read(Place place, std::uint64_t count, StepIndex step);
  void note_write(Place place, std::uint64_t count, StepIndex step);
  IntervalMap<Access>& accesses(Place place) noexcept { return accesses_[static_cast<std::size_t>(place.buffer)]; }
  Place next_slot();

  const Problem& problem_;
  Rank rank_;
  Schedule schedule_;
  std::array<IntervalMap<Access>, 3> accesses_;
  std::vector<StepIndex> found_;  // dependencies of the step in the making
  std::vector<Place> slots_;
  std::size_t slots_used_ = 0;
};

/// Calls visit(offset, count) for the pieces of `count` elements; once with (0, 0) when there are none.
template <class F>
void for_each_chunk(const Problem& problem, std::uint64_t count, F&& visit) {
  const std::uint64_t chunk = problem.chunk();
  std::uint64_t offset = 0;
  do {
    visit(offset, std::min(chunk, count - offset));
    offset += chunk;
  } while (offset < count);
}

}  // namespace godwit::collectives
