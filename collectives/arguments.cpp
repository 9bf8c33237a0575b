#include "collectives/arguments.hpp"

#include "collectives/schedule.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <functional>

namespace godwit::collectives {

namespace {

[[noreturn]] void fail(const CollectiveCall& call, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", godwit::to_string(call.collective), what));
}

void check_enums(const CollectiveCall& call) {
  if (static_cast<std::size_t>(call.collective) >= collective_count)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no collective with number {}", static_cast<int>(call.collective)));
  if (call.collective != Collective::barrier && size_of(call.type) == 0)
    fail(call, fmt::format("there is no element type with number {}", static_cast<int>(call.type)));
}

void check_length(const CollectiveCall& call, const Problem& problem) {
  const bool per_rank = problem.collective == Collective::allgather || problem.collective == Collective::gather ||
                        problem.collective == Collective::reduce_scatter || problem.collective == Collective::scatter ||
                        problem.collective == Collective::alltoall;
  const std::uint64_t blocks = per_rank ? static_cast<std::uint64_t>(problem.size) : 1;
  const std::uint64_t most = static_cast<std::uint64_t>(PTRDIFF_MAX) / problem.element_size() / blocks;
  if (problem.count > most)
    fail(call, fmt::format("{} elements of {} bytes{} cannot be: is the count a negative number?", problem.count,
                           problem.element_size(), per_rank ? fmt::format(" on {} ranks", problem.size) : ""));
}

struct Span {
  const std::byte* begin;
  const std::byte* end;
};

Span span_of(const void* data, std::uint64_t count, const Problem& problem) {
  const auto* begin = static_cast<const std::byte*>(data);
  return {begin, begin + count * problem.element_size()};
}

/// The buffers lie as they do in place.
bool is_in_place(const CollectiveCall& call, const Problem& problem, Rank rank) {
  Problem in_place = problem;
  in_place.in_place = true;
  const auto base = [&](const void* data, Buffer buffer) {
    return reinterpret_cast<std::uintptr_t>(data) -
           canonical(in_place, rank, {buffer, 0}).offset * problem.element_size();
  };
  return base(call.send, Buffer::input) == base(call.recv, Buffer::output);
}

bool check_buffers(const CollectiveCall& call, const Problem& problem, Rank rank) {
  const std::uint64_t sent = problem.input_count(rank), received = problem.output_count(rank);
  if (sent != 0 && call.send == nullptr) fail(call, fmt::format("the send buffer of {} elements is null", sent));
  if (received != 0 && call.recv == nullptr)
    fail(call, fmt::format("the receive buffer of {} elements is null", received));
  if (sent == 0 || received == 0) return false;
  if (is_in_place(call, problem, rank)) return true;
  const Span in = span_of(call.send, sent, problem), out = span_of(call.recv, received, problem);
  const std::less<> before;
  if (before(in.begin, out.end) && before(out.begin, in.end))
    fail(call, "the send and receive buffers overlap, but not as those of an in-place call do");
  return false;
}

}  // namespace

Problem check_arguments(const CollectiveCall& call, Rank rank, int size, NodeShape shape) {
  check_enums(call);
  Problem problem{.collective = call.collective, .size = size, .shape = shape};
  if (call.collective == Collective::barrier) return problem;
  problem.count = call.count;
  problem.type = call.type;
  if (problem.reduces()) {
    if (call.op > ReduceOp::avg)
      fail(call, fmt::format("there is no reduction with number {}", static_cast<int>(call.op)));
    if (call.op == ReduceOp::avg && !has_average(call.collective))
      fail(call, "avg is of all ranks, which this is not; use sum, and divide by the number of ranks that went in");
    problem.op = call.op;
  }
  if (problem.rooted()) {
    if (call.root < 0 || call.root >= size)
      fail(call, fmt::format("root {} is none of the ranks 0..{} of this communicator", call.root, size - 1));
    problem.root = call.root;
  }
  check_length(call, problem);
  problem.in_place = check_buffers(call, problem, rank);
  return problem;
}

}  // namespace godwit::collectives
