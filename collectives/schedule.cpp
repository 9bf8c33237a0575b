#include "collectives/schedule.hpp"

#include <fmt/format.h>

namespace godwit::collectives {

Place canonical(const Problem& problem, Rank rank, Place place) noexcept {
  if (!problem.in_place || place.buffer == Buffer::scratch) return place;
  switch (without_v(problem.collective)) {
    case Collective::allgather:
    case Collective::gather:
      return place.buffer == Buffer::input ? Place{Buffer::output, place.offset + problem.output_block(rank).begin}
                                           : place;
    case Collective::reduce_scatter:
    case Collective::scatter:
      return place.buffer == Buffer::output ? Place{Buffer::input, place.offset + problem.input_block(rank).begin}
                                            : place;
    default: return {Buffer::output, place.offset};
  }
}

namespace {

std::string text(Place place, std::uint64_t count) {
  constexpr const char* names[] = {"input", "output", "scratch"};
  return fmt::format("{}[{}..{})", names[static_cast<int>(place.buffer)], place.offset, place.offset + count);
}

}  // namespace

std::string to_string(const Step& step) {
  switch (step.kind) {
    case StepKind::send: return fmt::format("send {} to rank {}", text(step.left, step.count), step.peer);
    case StepKind::recv: return fmt::format("receive {} from rank {}", text(step.target, step.count), step.peer);
    case StepKind::reduce:
      return fmt::format("reduce {} with {} into {}", text(step.left, step.count), text(step.right, step.count),
                         text(step.target, step.count));
    case StepKind::copy:
      return fmt::format("copy {} to {}", text(step.left, step.count), text(step.target, step.count));
    case StepKind::scale: return fmt::format("scale {}", text(step.target, step.count));
  }
  return "unknown step";
}

}  // namespace godwit::collectives
