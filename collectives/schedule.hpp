// Schedule: what one rank does in a collective, as a graph of steps on symbolic buffers. A value, no pointers to
// user memory: the executor runs it, the verifier proves it, the simulator prices it.
//
// Rules that all of them rely on:
//   * A step's dependencies are earlier in the list. It may start when they are complete.
//   * Messages carry no step number: the i-th send to q in p's list meets the i-th receive from p in q's list.
//     Therefore sends to one peer are started, and receives from one peer posted, in list order.
//   * Steps that touch the same elements, one of them writing, have a path of dependencies between them.
#pragma once

#include "collectives/problem.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace godwit::collectives {

enum class Buffer : std::uint8_t { input, output, scratch };

/// Where elements begin. Offsets are in elements.
struct Place {
  Buffer buffer = Buffer::input;
  std::uint64_t offset = 0;
  Place operator+(std::uint64_t elements) const noexcept { return {buffer, offset + elements}; }
  friend bool operator==(const Place&, const Place&) = default;
};

enum class StepKind : std::uint8_t {
  send,    // left -> peer
  recv,    // peer -> target
  reduce,  // target = left op right, where target may be left or right
  copy,    // target = left
  scale,   // target = left / number of ranks, the end of an average; target is left
};

using StepIndex = std::uint32_t;

struct Step {
  StepKind kind = StepKind::copy;
  Rank peer = -1;
  std::uint64_t count = 0;  // elements
  Place left{}, right{}, target{};
  StepIndex first_dependency = 0;  // in Schedule::dependencies
  StepIndex dependency_count = 0;

  bool reads_left() const noexcept { return kind != StepKind::recv; }
  bool reads_right() const noexcept { return kind == StepKind::reduce; }
  bool writes() const noexcept { return kind != StepKind::send; }
};

struct Schedule {
  std::vector<Step> steps;
  std::vector<StepIndex> dependencies;
  std::uint64_t scratch_count = 0;  // elements

  std::span<const StepIndex> dependencies_of(const Step& step) const noexcept {
    return std::span(dependencies).subspan(step.first_dependency, step.dependency_count);
  }
};

/// One name for each element. In place, input and output overlap: the shorter one is then named in terms of the
/// longer one.
Place canonical(const Problem& problem, Rank rank, Place place) noexcept;

/// "send output[0..10) to rank 3".
std::string to_string(const Step& step);

}  // namespace godwit::collectives
