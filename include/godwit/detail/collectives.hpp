// Typed collectives: check lengths, fill in a CollectiveCall.
#pragma once

#include <godwit/communicator.hpp>
#include <godwit/error.hpp>

namespace godwit {
namespace detail {

template <class B>
struct element {
  using type = std::remove_cvref_t<B>;
};
template <ContiguousData B>
struct element<B> {
  using type = std::ranges::range_value_t<B>;
};
template <class B>
using element_t = typename element<std::remove_cvref_t<B>>::type;

template <class B>
std::size_t length_of(const B& buffer) noexcept {
  return bytes_of(buffer).size() / sizeof(element_t<B>);
}

/// Movement only: any trivially copyable element travels as bytes when it has no DataType of its own.
template <class T>
struct moved {
  static constexpr DataType type = DataType::uint8;
  static constexpr std::size_t units = sizeof(T);
};
template <class T>
requires requires { data_type_of<T>::value; }
struct moved<T> {
  static constexpr DataType type = data_type_of<T>::value;
  static constexpr std::size_t units = 1;
};

/// Throws Error(invalid_argument): "allgather: receive buffer holds 12 elements, 4 ranks x 4 elements need 16".
void check_length(Collective collective, std::string_view which, std::size_t have, std::size_t ranks,
                  std::size_t per_rank);

/// Throws Error(invalid_argument) when the last block ends behind the buffer.
void check_blocks(Collective collective, std::string_view which, std::size_t have, const BlockLengths& blocks);

/// Throws Error(invalid_argument) when the elements cannot be cut into one equal block per rank.
void check_divides(Collective collective, std::size_t elements, std::size_t ranks);

}  // namespace detail

template <RecvBuffer B>
CollectiveCall Communicator::broadcast_call(B&& data, Rank root) const {
  using T = detail::element_t<B>;
  auto bytes = detail::writable_bytes_of(data);
  return {.collective = Collective::broadcast,
          .send = bytes.data(),
          .recv = bytes.data(),
          .count = detail::length_of(data) * detail::moved<T>::units,
          .type = detail::moved<T>::type,
          .root = root};
}

template <SendBuffer S, RecvBuffer R>
CollectiveCall Communicator::vector_call(Collective collective, const S& in, R&& out, ReduceOp op) const {
  using T = detail::element_t<S>;
  static_assert(std::is_same_v<T, detail::element_t<R>>, "reductions: element types of in and out differ");
  detail::check_length(collective, "receive", detail::length_of(out), 1, detail::length_of(in));
  return {.collective = collective,
          .send = detail::bytes_of(in).data(),
          .recv = detail::writable_bytes_of(out).data(),
          .count = detail::length_of(in),
          .type = data_type_of<T>::value,
          .op = op};
}

template <SendBuffer S, RecvBuffer R>
CollectiveCall Communicator::reduce_call(const S& in, R&& out, ReduceOp op, Rank root) const {
  using T = detail::element_t<S>;
  static_assert(std::is_same_v<T, detail::element_t<R>>, "reduce: element types of in and out differ");
  if (rank() == root)
    detail::check_length(Collective::reduce, "receive", detail::length_of(out), 1, detail::length_of(in));
  return {.collective = Collective::reduce,
          .send = detail::bytes_of(in).data(),
          .recv = detail::writable_bytes_of(out).data(),
          .count = detail::length_of(in),
          .type = data_type_of<T>::value,
          .op = op,
          .root = root};
}

template <SendBuffer S, RecvBuffer R>
CollectiveCall Communicator::allgather_call(const S& in, R&& out) const {
  using T = detail::element_t<S>;
  static_assert(std::is_same_v<T, detail::element_t<R>>, "allgather: element types of in and out differ");
  detail::check_length(Collective::allgather, "receive", detail::length_of(out), size(), detail::length_of(in));
  return {.collective = Collective::allgather,
          .send = detail::bytes_of(in).data(),
          .recv = detail::writable_bytes_of(out).data(),
          .count = detail::length_of(in) * detail::moved<T>::units,
          .type = detail::moved<T>::type};
}

template <SendBuffer S, RecvBuffer R>
CollectiveCall Communicator::reduce_scatter_call(const S& in, R&& out, ReduceOp op) const {
  using T = detail::element_t<S>;
  static_assert(std::is_same_v<T, detail::element_t<R>>, "reduce_scatter: element types of in and out differ");
  detail::check_length(Collective::reduce_scatter, "send", detail::length_of(in), size(), detail::length_of(out));
  return {.collective = Collective::reduce_scatter,
          .send = detail::bytes_of(in).data(),
          .recv = detail::writable_bytes_of(out).data(),
          .count = detail::length_of(out),
          .type = data_type_of<T>::value,
          .op = op};
}

template <SendBuffer S, RecvBuffer R>
CollectiveCall Communicator::gather_call(const S& in, R&& out, Rank root) const {
  using T = detail::element_t<S>;
  static_assert(std::is_same_v<T, detail::element_t<R>>, "gather: element types of in and out differ");
  if (rank() == root)
    detail::check_length(Collective::gather, "receive", detail::length_of(out), size(), detail::length_of(in));
  return {.collective = Collective::gather,
          .send = detail::bytes_of(in).data(),
          .recv = detail::writable_bytes_of(out).data(),
          .count = detail::length_of(in) * detail::moved<T>::units,
          .type = detail::moved<T>::type,
          .root = root};
}

template <SendBuffer S, RecvBuffer R>
CollectiveCall Communicator::scatter_call(const S& in, R&& out, Rank root) const {
  using T = detail::element_t<S>;
  static_assert(std::is_same_v<T, detail::element_t<R>>, "scatter: element types of in and out differ");
  if (rank() == root)
    detail::check_length(Collective::scatter, "send", detail::length_of(in), size(), detail::length_of(out));
  return {.collective = Collective::scatter,
          .send = detail::bytes_of(in).data(),
          .recv = detail::writable_bytes_of(out).data(),
          .count = detail::length_of(out) * detail::moved<T>::units,
          .type = detail::moved<T>::type,
          .root = root};
}

template <SendBuffer S, RecvBuffer R>
CollectiveCall Communicator::alltoall_call(const S& in, R&& out) const {
  using T = detail::element_t<S>;
  static_assert(std::is_same_v<T, detail::element_t<R>>, "alltoall: element types of in and out differ");
  const std::size_t block = detail::length_of(in) / static_cast<std::size_t>(size());
  detail::check_divides(Collective::alltoall, detail::length_of(in), static_cast<std::size_t>(size()));
  detail::check_length(Collective::alltoall, "send", detail::length_of(in), size(), block);
  detail::check_length(Collective::alltoall, "receive", detail::length_of(out), size(), block);
  return {.collective = Collective::alltoall,
          .send = detail::bytes_of(in).data(),
          .recv = detail::writable_bytes_of(out).data(),
          .count = block * detail::moved<T>::units,
          .type = detail::moved<T>::type};
}

template <SendBuffer S, RecvBuffer R>
UnevenCall Communicator::uneven_call(Collective collective, const S& in, const BlockLengths& send_blocks, R&& out,
                                     const BlockLengths& recv_blocks) const {
  using T = detail::element_t<S>;
  static_assert(std::is_same_v<T, detail::element_t<R>>, "collectives with a v: element types of in and out differ");
  detail::check_blocks(collective, "send", detail::length_of(in), send_blocks);
  detail::check_blocks(collective, "receive", detail::length_of(out), recv_blocks);
  using Unit = detail::moved<T>;
  // What is no buffer of blocks is the own one.
  const bool block_is_sent = collective == Collective::allgatherv || collective == Collective::gatherv;
  UnevenCall call;
  call.collective = collective;
  call.send = detail::bytes_of(in).data();
  call.recv = detail::writable_bytes_of(out).data();
  if (collective != Collective::alltoallv)
    call.count = (block_is_sent ? detail::length_of(in) : detail::length_of(out)) * Unit::units;
  call.type = Unit::type;
  call.send_blocks = send_blocks;
  call.recv_blocks = recv_blocks;
  call.unit = Unit::units;
  return call;
}

template <SendBuffer S, RecvBuffer R>
Request Communicator::ireduce_scatterv(const S& in, const BlockLengths& blocks, R&& out, ReduceOp op) {
  UnevenCall call = uneven_call(Collective::reduce_scatterv, in, blocks, out, {});
  call.type = data_type_of<detail::element_t<S>>::value;  // not for elements that only move
  call.op = op;
  return icollective(call);
}

}  // namespace godwit
