// Communicator: an ordered group of ranks whose messages never meet those of another communicator.
#pragma once

#include <godwit/buffer.hpp>
#include <godwit/collective.hpp>
#include <godwit/request.hpp>
#include <godwit/window.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace godwit {

namespace detail {
struct CommunicatorState;
}

/// A message that a matched probe took out of the queue; only this handle can receive it now.
/// Destroying it without receiving discards the message.
class MatchedMessage {
 public:
  MatchedMessage() noexcept = default;
  MatchedMessage(core::Worker* worker, core::Operation* operation, MessageInfo info) noexcept
      : worker_(worker), operation_(operation), info_(info) {}
  MatchedMessage(MatchedMessage&& other) noexcept;
  MatchedMessage& operator=(MatchedMessage&& other) noexcept;
  ~MatchedMessage();

  const MessageInfo& info() const noexcept { return info_; }
  Request irecv_bytes(void* data, std::size_t bytes);
  template <RecvBuffer B>
  MessageInfo recv(B&& data) {
    auto bytes = detail::writable_bytes_of(data);
    return irecv_bytes(bytes.data(), bytes.size()).wait();
  }

 private:
  core::Worker* worker_ = nullptr;
  core::Operation* operation_ = nullptr;
  MessageInfo info_;
};

/// An active message as its handler sees it. The payload is valid during the call only. A handler may
/// send, put and complete things; it may not wait, so the buffers of what it starts and does not see completed must
/// outlive the handler.
struct ActiveMessage {
  Rank source;
  std::span<const std::byte> payload;
};
using ActiveMessageHandler = std::function<void(const ActiveMessage&)>;

/// A copyable handle; copies name the same communicator. Every call may throw Error: invalid_argument
/// for wrong ranks, tags and buffers (nothing was sent then), peer_failed, aborted, truncated, mismatch.
class Communicator {
 public:
  Communicator() = default;
  explicit Communicator(std::shared_ptr<detail::CommunicatorState> state) : state_(std::move(state)) {}

  Rank rank() const;
  int size() const;

  // --- tagged messages ---------------------------------------------------------------------------
  template <SendBuffer B>
  void send(const B& data, Rank to, Tag tag = 0) {
    auto bytes = detail::bytes_of(data);
    send_bytes(bytes.data(), bytes.size(), to, tag);
  }
  template <SendBuffer B>
  Request isend(const B& data, Rank to, Tag tag = 0) {
    auto bytes = detail::bytes_of(data);
    return isend_bytes(bytes.data(), bytes.size(), to, tag);
  }
  template <RecvBuffer B>
  MessageInfo recv(B&& data, Rank from = any_source, Tag tag = any_tag) {
    auto bytes = detail::writable_bytes_of(data);
    return recv_bytes(bytes.data(), bytes.size(), from, tag);
  }
  template <RecvBuffer B>
  Request irecv(B&& data, Rank from = any_source, Tag tag = any_tag) {
    auto bytes = detail::writable_bytes_of(data);
    return irecv_bytes(bytes.data(), bytes.size(), from, tag);
  }
  template <SendBuffer S, RecvBuffer R>
  MessageInfo sendrecv(const S& out, Rank to, R&& in, Rank from, Tag tag = 0) {
    auto send = detail::bytes_of(out);
    auto recv = detail::writable_bytes_of(in);
    Request incoming = irecv_bytes(recv.data(), recv.size(), from, tag);
    send_bytes(send.data(), send.size(), to, tag);
    return incoming.wait();
  }

  void send_bytes(const void* data, std::size_t bytes, Rank to, Tag tag = 0);
  Request isend_bytes(const void* data, std::size_t bytes, Rank to, Tag tag = 0);
  /// Synchronous mode (MPI_Ssend): completes only when the receiver has matched the message.
  Request issend_bytes(const void* data, std::size_t bytes, Rank to, Tag tag = 0);
  MessageInfo recv_bytes(void* data, std::size_t bytes, Rank from = any_source, Tag tag = any_tag);
  Request irecv_bytes(void* data, std::size_t bytes, Rank from = any_source, Tag tag = any_tag);

  /// Waits for (looks once for) a message without receiving it.
  MessageInfo probe(Rank from = any_source, Tag tag = any_tag);
  std::optional<MessageInfo> iprobe(Rank from = any_source, Tag tag = any_tag);
  /// As probe, and takes the message out of the queue.
  MatchedMessage mprobe(Rank from = any_source, Tag tag = any_tag);
  std::optional<MatchedMessage> improbe(Rank from = any_source, Tag tag = any_tag);

  // --- active messages ----------------------------------------------------------------------------
  /// Registers the handler of messages with this id (0..65535) in this communicator; an empty function
  /// removes it. Messages that come before their handler is registered wait for it.
  void on_message(std::uint16_t id, ActiveMessageHandler handler);
  /// Runs the handler `id` at `to` with a copy of the data; done when the buffer may be reused.
  template <SendBuffer B>
  Request message(const B& data, Rank to, std::uint16_t id) {
    auto bytes = detail::bytes_of(data);
    return message_bytes(bytes.data(), bytes.size(), to, id);
  }
  Request message_bytes(const void* data, std::size_t bytes, Rank to, std::uint16_t id);

  // --- one-sided ----------------------------------------------------------------------------------
  /// Local: registers memory and makes its key.
  Region region_bytes(void* data, std::size_t bytes, RegionOptions options = {});
  template <RecvBuffer B>
  Region region(B&& data, RegionOptions options = {}) {
    auto bytes = detail::writable_bytes_of(data);
    return region_bytes(bytes.data(), bytes.size(), options);
  }
  /// Puts to (gets from) a region by its key; offsets in bytes. Out of bounds is an error at the call.
  Request put_bytes(const void* data, std::size_t bytes, const RemoteKey& key, std::size_t offset,
                    PutOptions options = {});
  Request get_bytes(void* data, std::size_t bytes, const RemoteKey& key, std::size_t offset);
  /// Waits until all puts and atomics issued to `to` are visible there, by key or through windows.
  void flush(Rank to);
  /// Collective: every rank exposes its range.
  template <ContiguousData B>
  Window<std::ranges::range_value_t<B>> window(B&& data, RegionOptions options = {}) {
    auto bytes = detail::writable_bytes_of(data);
    return Window<std::ranges::range_value_t<B>>(window_bytes(bytes.data(), bytes.size(), options));
  }
  ByteWindow window_bytes(void* data, std::size_t bytes, RegionOptions options = {});

  // --- collectives: every rank calls them in the same order ----------------------------------------
  void barrier() { collective({.collective = Collective::barrier}); }
  template <RecvBuffer B>
  void broadcast(B&& data, Rank root) {
    collective(broadcast_call(data, root));
  }
  template <RecvBuffer B>
  void allreduce(B&& data, ReduceOp op) {
    collective(vector_call(Collective::allreduce, data, data, op));
  }
  template <SendBuffer S, RecvBuffer R>
  void allreduce(const S& in, R&& out, ReduceOp op) {
    collective(vector_call(Collective::allreduce, in, out, op));
  }
  template <SendBuffer S, RecvBuffer R>
  void reduce(const S& in, R&& out, ReduceOp op, Rank root) {
    collective(reduce_call(in, out, op, root));
  }
  template <SendBuffer S, RecvBuffer R>
  void allgather(const S& in, R&& out) {
    collective(allgather_call(in, out));
  }
  template <SendBuffer S, RecvBuffer R>
  void reduce_scatter(const S& in, R&& out, ReduceOp op) {
    collective(reduce_scatter_call(in, out, op));
  }
  template <SendBuffer S, RecvBuffer R>
  void gather(const S& in, R&& out, Rank root) {
    collective(gather_call(in, out, root));
  }
  template <SendBuffer S, RecvBuffer R>
  void scatter(const S& in, R&& out, Rank root) {
    collective(scatter_call(in, out, root));
  }
  template <SendBuffer S, RecvBuffer R>
  void alltoall(const S& in, R&& out) {
    collective(alltoall_call(in, out));
  }

  /// Of ranks 0 to this one, in their order.
  template <SendBuffer S, RecvBuffer R>
  void scan(const S& in, R&& out, ReduceOp op) {
    collective(vector_call(Collective::scan, in, out, op));
  }
  /// Of the ranks before this one; rank 0's `out` stays as it is.
  template <SendBuffer S, RecvBuffer R>
  void exscan(const S& in, R&& out, ReduceOp op) {
    collective(vector_call(Collective::exscan, in, out, op));
  }

  // Blocks of different lengths, in elements by rank: see UnevenCall.
  template <SendBuffer S, RecvBuffer R>
  void allgatherv(const S& in, R&& out, const BlockLengths& blocks) {
    iallgatherv(in, out, blocks).wait();
  }
  template <SendBuffer S, RecvBuffer R>
  void reduce_scatterv(const S& in, const BlockLengths& blocks, R&& out, ReduceOp op) {
    ireduce_scatterv(in, blocks, out, op).wait();
  }
  template <SendBuffer S, RecvBuffer R>
  void gatherv(const S& in, R&& out, const BlockLengths& blocks, Rank root) {
    igatherv(in, out, blocks, root).wait();
  }
  template <SendBuffer S, RecvBuffer R>
  void scatterv(const S& in, const BlockLengths& blocks, R&& out, Rank root) {
    iscatterv(in, blocks, out, root).wait();
  }
  template <SendBuffer S, RecvBuffer R>
  void alltoallv(const S& in, const BlockLengths& send_blocks, R&& out, const BlockLengths& recv_blocks) {
    ialltoallv(in, send_blocks, out, recv_blocks).wait();
  }

  Request ibarrier() { return icollective({.collective = Collective::barrier}); }
  template <RecvBuffer B>
  Request ibroadcast(B&& data, Rank root) {
    return icollective(broadcast_call(data, root));
  }
  template <RecvBuffer B>
  Request iallreduce(B&& data, ReduceOp op) {
    return icollective(vector_call(Collective::allreduce, data, data, op));
  }
  template <SendBuffer S, RecvBuffer R>
  Request iallreduce(const S& in, R&& out, ReduceOp op) {
    return icollective(vector_call(Collective::allreduce, in, out, op));
  }
  template <SendBuffer S, RecvBuffer R>
  Request ireduce(const S& in, R&& out, ReduceOp op, Rank root) {
    return icollective(reduce_call(in, out, op, root));
  }
  template <SendBuffer S, RecvBuffer R>
  Request iallgather(const S& in, R&& out) {
    return icollective(allgather_call(in, out));
  }
  template <SendBuffer S, RecvBuffer R>
  Request ireduce_scatter(const S& in, R&& out, ReduceOp op) {
    return icollective(reduce_scatter_call(in, out, op));
  }
  template <SendBuffer S, RecvBuffer R>
  Request igather(const S& in, R&& out, Rank root) {
    return icollective(gather_call(in, out, root));
  }
  template <SendBuffer S, RecvBuffer R>
  Request iscatter(const S& in, R&& out, Rank root) {
    return icollective(scatter_call(in, out, root));
  }
  template <SendBuffer S, RecvBuffer R>
  Request ialltoall(const S& in, R&& out) {
    return icollective(alltoall_call(in, out));
  }
  template <SendBuffer S, RecvBuffer R>
  Request iscan(const S& in, R&& out, ReduceOp op) {
    return icollective(vector_call(Collective::scan, in, out, op));
  }
  template <SendBuffer S, RecvBuffer R>
  Request iexscan(const S& in, R&& out, ReduceOp op) {
    return icollective(vector_call(Collective::exscan, in, out, op));
  }

  template <SendBuffer S, RecvBuffer R>
  Request iallgatherv(const S& in, R&& out, const BlockLengths& blocks) {
    return icollective(uneven_call(Collective::allgatherv, in, {}, out, blocks));
  }
  template <SendBuffer S, RecvBuffer R>
  Request ireduce_scatterv(const S& in, const BlockLengths& blocks, R&& out, ReduceOp op);
  /// `blocks` mean something on root only; elsewhere they and `out` may be empty.
  template <SendBuffer S, RecvBuffer R>
  Request igatherv(const S& in, R&& out, const BlockLengths& blocks, Rank root) {
    UnevenCall call = uneven_call(Collective::gatherv, in, {}, out, rank() == root ? blocks : BlockLengths{});
    call.root = root;
    return icollective(call);
  }
  template <SendBuffer S, RecvBuffer R>
  Request iscatterv(const S& in, const BlockLengths& blocks, R&& out, Rank root) {
    UnevenCall call = uneven_call(Collective::scatterv, in, rank() == root ? blocks : BlockLengths{}, out, {});
    call.root = root;
    return icollective(call);
  }
  template <SendBuffer S, RecvBuffer R>
  Request ialltoallv(const S& in, const BlockLengths& send_blocks, R&& out, const BlockLengths& recv_blocks) {
    return icollective(uneven_call(Collective::alltoallv, in, send_blocks, out, recv_blocks));
  }

  void collective(const CollectiveCall& call);
  Request icollective(const CollectiveCall& call);
  Request icollective(const UnevenCall& call);

  // --- groups ---------------------------------------------------------------------------------------
  /// Collective. Same ranks, separate messages.
  Communicator dup();
  /// Collective. One communicator per colour, ranked by (key, rank); a negative colour gets an empty handle.
  Communicator split(int color, int key = 0);
  /// Collective over the listed ranks only, which all pass the same list; works when other ranks have failed.
  Communicator from_ranks(std::span<const Rank> ranks);
  /// Ranks of this communicator that are known to have failed.
  std::vector<Rank> failed() const;
  /// Makes every pending and later operation of this communicator fail with `aborted` on every member.
  /// Needs nobody's help and returns at once.
  void abort(std::string_view reason);
  /// False for a default-constructed handle and for those whom split() left out.
  explicit operator bool() const noexcept { return state_ != nullptr; }

  detail::CommunicatorState* state() const noexcept { return state_.get(); }

 private:
  // Check lengths.
  template <RecvBuffer B>
  CollectiveCall broadcast_call(B&& data, Rank root) const;
  template <SendBuffer S, RecvBuffer R>
  CollectiveCall vector_call(Collective collective, const S& in, R&& out, ReduceOp op) const;
  template <SendBuffer S, RecvBuffer R>
  CollectiveCall reduce_call(const S& in, R&& out, ReduceOp op, Rank root) const;
  template <SendBuffer S, RecvBuffer R>
  CollectiveCall allgather_call(const S& in, R&& out) const;
  template <SendBuffer S, RecvBuffer R>
  CollectiveCall reduce_scatter_call(const S& in, R&& out, ReduceOp op) const;
  template <SendBuffer S, RecvBuffer R>
  CollectiveCall gather_call(const S& in, R&& out, Rank root) const;
  template <SendBuffer S, RecvBuffer R>
  CollectiveCall scatter_call(const S& in, R&& out, Rank root) const;
  template <SendBuffer S, RecvBuffer R>
  CollectiveCall alltoall_call(const S& in, R&& out) const;
  template <SendBuffer S, RecvBuffer R>
  UnevenCall uneven_call(Collective collective, const S& in, const BlockLengths& send_blocks, R&& out,
                         const BlockLengths& recv_blocks) const;

  std::shared_ptr<detail::CommunicatorState> state_;
};

}  // namespace godwit

#include <godwit/detail/collectives.hpp>
