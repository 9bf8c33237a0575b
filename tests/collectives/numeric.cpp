#include "numeric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace godwit::collectives_test {

namespace {

constexpr std::size_t guard = 64;
constexpr std::byte guard_byte{0xa5};

template <class T>
void store(std::byte* to, double value) {
  T element{};
  if constexpr (std::is_integral_v<T>)
    element = static_cast<T>(static_cast<std::int64_t>(value));
  else if constexpr (sizeof(T) == 2)
    element = T(static_cast<float>(value));
  else
    element = static_cast<T>(value);
  std::memcpy(to, &element, sizeof element);
}

void store(DataType type, std::byte* to, double value) {
  switch (type) {
    case DataType::int8: return store<std::int8_t>(to, value);
    case DataType::uint8: return store<std::uint8_t>(to, value);
    case DataType::int16: return store<std::int16_t>(to, value);
    case DataType::uint16: return store<std::uint16_t>(to, value);
    case DataType::int32: return store<std::int32_t>(to, value);
    case DataType::uint32: return store<std::uint32_t>(to, value);
    case DataType::int64: return store<std::int64_t>(to, value);
    case DataType::uint64: return store<std::uint64_t>(to, value);
    case DataType::float16: return store<half>(to, value);
    case DataType::bfloat16: return store<bfloat16>(to, value);
    case DataType::float32: return store<float>(to, value);
    case DataType::float64: return store<double>(to, value);
  }
}

}  // namespace

RankData::RankData(const CollectiveCall& call, Rank rank, int size, bool in_place, std::size_t offset)
    : problem_{.collective = call.collective,
               .size = size,
               .count = call.count,
               .type = call.type,
               .op = call.op,
               .root = call.root,
               .in_place = in_place},
      call_(call),
      rank_(rank),
      element_(size_of(call.type)),
      sent_(problem_.input_count(rank)),
      received_(problem_.output_count(rank)) {
  problem_.in_place = in_place = in_place && sent_ != 0 && received_ != 0;
  const std::size_t start = guard + offset * element_;
  const auto memory = [&](std::uint64_t count) {
    return std::vector<std::byte>(start + count * element_ + guard, guard_byte);
  };
  send_at_ = recv_at_ = start;
  send_ = memory(in_place ? std::max(sent_, received_) : sent_);
  recv_ = memory(in_place ? 0 : received_);
  if (in_place) {
    const std::uint64_t block = static_cast<std::uint64_t>(rank) * call.count * element_;
    if (sent_ < received_) send_at_ += block;
    if (received_ < sent_) recv_at_ += block;
  }
  for (std::uint64_t i = 0; i < sent_; ++i) put(send_.data() + send_at_, i, input(rank, i));
  before_ = send_;
  call_.send = sent_ == 0 ? nullptr : send_.data() + send_at_;
  call_.recv = received_ == 0 ? nullptr : (in_place ? send_ : recv_).data() + recv_at_;
}

double RankData::input(Rank rank, std::uint64_t index) const {
  const std::uint64_t mixed = (static_cast<std::uint64_t>(rank) + 3) * (index + 7) * 2654435761U >> 7;
  if (!problem_.reduces()) return static_cast<double>(mixed % 101);
  return static_cast<double>(problem_.op == ReduceOp::prod ? 1 + mixed % 2 : mixed % 5);
}

double RankData::reduced(std::uint64_t index) const { return reduced(index, problem_.size); }

double RankData::reduced(std::uint64_t index, int ranks) const {
  double result = input(0, index);
  for (Rank rank = 1; rank < ranks; ++rank) {
    const double next = input(rank, index);
    switch (problem_.op) {
      case ReduceOp::sum:
      case ReduceOp::avg: result += next; break;
      case ReduceOp::prod: result *= next; break;
      case ReduceOp::min: result = std::min(result, next); break;
      case ReduceOp::max: result = std::max(result, next); break;
    }
  }
  return problem_.op == ReduceOp::avg ? result / problem_.size : result;
}

double RankData::expected(std::uint64_t index) const {
  const std::uint64_t count = problem_.count, mine = static_cast<std::uint64_t>(rank_) * count;
  const auto block = static_cast<Rank>(index / count);
  switch (problem_.collective) {
    case Collective::broadcast: return input(problem_.root, index);
    case Collective::scatter: return input(problem_.root, mine + index);
    case Collective::gather:
    case Collective::allgather: return input(block, index % count);
    case Collective::alltoall: return input(block, mine + index % count);
    case Collective::reduce_scatter: return reduced(mine + index);
    case Collective::reduce:
    case Collective::allreduce: return reduced(index);
    case Collective::scan: return reduced(index, rank_ + 1);
    case Collective::exscan: return reduced(index, rank_);
    default: break;  // a barrier has no output
  }
  return 0;
}

void RankData::put(std::byte* base, std::uint64_t index, double value) const {
  store(problem_.type, base + index * element_, value);
}

std::string RankData::check() const {
  const bool in_place = problem_.in_place;
  // What memory must look like now: as before, with the expected output in its place.
  std::vector<std::byte> want_send = before_, want_recv(recv_.size(), guard_byte);
  std::byte* output = (in_place ? want_send : want_recv).data() + recv_at_;
  for (std::uint64_t i = 0; i < received_; ++i) put(output, i, expected(i));
  const auto differs = [&](const char* name, const std::vector<std::byte>& have, const std::vector<std::byte>& want) {
    const auto [h, w] = std::mismatch(have.begin(), have.end(), want.begin());
    return h == have.end() ? std::string()
                           : fmt::format("{} rank {}: byte {} of the {} memory (data from {}) is {:#x}, not {:#x}",
                                         to_string(problem_), rank_, h - have.begin(), name, send_at_,
                                         static_cast<int>(*h), static_cast<int>(*w));
  };
  const std::string wrong = differs("send", send_, want_send);
  return wrong.empty() ? differs("receive", recv_, want_recv) : wrong;
}

}  // namespace godwit::collectives_test
