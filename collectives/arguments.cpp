#include "collectives/arguments.hpp"

#include "collectives/schedule.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

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

/// What does not need the buffers.
Problem check_words(const CollectiveCall& call, int size, NodeShape shape) {
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
  return problem;
}

void read_table(const UnevenCall& call, const char* name, const BlockLengths& lengths, const Problem& problem,
                BlockTable& table) {
  const auto size = static_cast<std::size_t>(problem.size);
  if (lengths.counts.size() != size)
    fail(call, fmt::format("{} has {} counts, but there are {} ranks", name, lengths.counts.size(), size));
  if (!lengths.offsets.empty() && lengths.offsets.size() != size)
    fail(call, fmt::format("{} has {} offsets, but there are {} ranks", name, lengths.offsets.size(), size));
  const std::uint64_t most = static_cast<std::uint64_t>(PTRDIFF_MAX) / problem.element_size() / call.unit / 2;
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t count = lengths.counts[i], offset = lengths.offsets.empty() ? next : lengths.offsets[i];
    if (count > most || offset > most)
      fail(call, fmt::format("{}: block {} of {} elements at {} cannot be: is one a negative number?", name, i, count,
                             offset));
    table.counts.push_back(count * call.unit);
    table.offsets.push_back(offset * call.unit);
    next = offset + count;
  }
}

void check_overlap(const CollectiveCall& call, const BlockTable& table) {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(table.counts.size()); ++i)
    if (table.block(i).size() != 0) order.push_back(i);
  std::ranges::sort(order, {}, [&](int i) { return table.block(i).begin; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (table.block(order[i]).begin < table.block(order[i - 1]).end)
      fail(call, fmt::format("recv_blocks: the blocks of ranks {} and {} overlap", order[i - 1], order[i]));
}

void check_own_block(const CollectiveCall& call, const char* name, const BlockTable& table, Rank rank) {
  if (const std::uint64_t listed = table.block(rank).size(); listed != call.count)
    fail(call, fmt::format("count is {}, but {} has {} elements for this rank {}", call.count, name, listed, rank));
}

}  // namespace

Problem check_arguments(const CollectiveCall& call, Rank rank, int size, NodeShape shape) {
  Problem problem = check_words(call, size, shape);
  if (is_uneven(call.collective)) fail(call, "the lengths of the blocks are missing: this takes an UnevenCall");
  if (call.collective == Collective::barrier) return problem;
  check_length(call, problem);
  problem.in_place = check_buffers(call, problem, rank);
  return problem;
}

Problem check_arguments(const UnevenCall& call, Rank rank, int size, NodeShape shape, BlockTable& sends,
                        BlockTable& receives) {
  Problem problem = check_words(call, size, shape);
  if (!is_uneven(call.collective)) fail(call, "all blocks have one length: this takes a CollectiveCall");
  if (call.unit == 0) fail(call, "a unit of no elements");
  check_length(call, problem);
  const Collective kind = without_v(call.collective);
  const bool is_root = rank == call.root, everywhere = kind == Collective::alltoall;
  if (everywhere || kind == Collective::reduce_scatter || (kind == Collective::scatter && is_root)) {
    read_table(call, "send_blocks", call.send_blocks, problem, sends);
    problem.sends = {&sends};
    if (!everywhere) check_own_block(call, "send_blocks", sends, rank);
  }
  if (everywhere || kind == Collective::allgather || (kind == Collective::gather && is_root)) {
    read_table(call, "recv_blocks", call.recv_blocks, problem, receives);
    problem.receives = {&receives};
    check_overlap(call, receives);
    if (!everywhere) check_own_block(call, "recv_blocks", receives, rank);
  }
  if (everywhere && sends.block(rank).size() != receives.block(rank).size())
    fail(call, fmt::format("this rank {} has {} elements for itself in send_blocks, but {} in recv_blocks", rank,
                           sends.block(rank).size(), receives.block(rank).size()));
  problem.in_place = check_buffers(call, problem, rank);
  if (everywhere && problem.in_place) fail(call, "it cannot be done in place");
  return problem;
}

}  // namespace godwit::collectives
